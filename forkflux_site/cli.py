"""The `forkflux` command: the product's own commands, and one clear line for each error.

Exit status: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted.
"""

import difflib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line, get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandError, CommandParser, handle_default_options
from django.db import DatabaseError, InterfaceError, connections
from django.db.utils import OperationalError, ProgrammingError

from core import __version__
from core.errors import DomainError
from core.exits import FAILED, INTERRUPTED, WRONG_USAGE

# Django's own that a newcomer needs.
_OF_DJANGO = frozenset({"createsuperuser"})
_HELP_OPTIONS = frozenset({"-h", "--help"})
_HELP = _HELP_OPTIONS | {"help"}


def main(argv: Sequence[str] | None = None, *, show_django_commands: bool = False) -> int:
    """Run a command line (its first item is the program); gives back the exit status."""
    arguments = list(sys.argv if argv is None else argv)
    program = Path(arguments[0]).name if arguments else "forkflux"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forkflux_site.settings")
    try:
        status = _run(program, arguments[1:], show_django_commands=show_django_commands)
        # A reader that has gone (`| head`) is noticed here, not in a traceback while Python ends.
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except SystemExit as ended:
        if isinstance(ended.code, str):
            return _fail(ended.code)
        return ended.code or 0
    return status


def _run(program: str, arguments: list[str], *, show_django_commands: bool) -> int:
    if arguments[:1] in (["--version"], ["version"]):
        sys.stdout.write(f"forkflux {__version__}\n")
        return 0
    _use_settings_options(arguments)
    # Only in the first place: `agent add help` names an agent.
    wants_help = not arguments or arguments[0] in _HELP or not _HELP_OPTIONS.isdisjoint(arguments)
    if wants_help:
        _use_throwaway_configuration()
    try:
        return _dispatch(program, arguments, show_django_commands=show_django_commands)
    except CommandError as error:
        return _fail(str(error), status=error.returncode)
    except (DomainError, ImproperlyConfigured) as error:
        return _fail(str(error))
    except (DatabaseError, InterfaceError) as error:
        return _fail(_explain(error))
    except OSError as error:
        if error.filename is None:
            raise
        return _fail(f"{error.filename}: {error.strerror}.")


def _use_settings_options(arguments: list[str]) -> None:
    # Every command of Django's takes them; they must have their effect before settings are first read.
    parser = CommandParser(usage="", add_help=False, allow_abbrev=False)
    parser.add_argument("--settings")
    parser.add_argument("--pythonpath")
    parser.add_argument("rest", nargs="*")
    try:
        options, _ = parser.parse_known_args(arguments[1:])
    except CommandError:
        return  # the command's own parser says what is wrong
    handle_default_options(options)


def _use_throwaway_configuration() -> None:
    # A page that explains the command must not be hidden by the mistake in the settings that one came to
    # look up; and looking at it leaves no file behind.
    os.environ["DATABASE_URL"] = "sqlite://"
    os.environ.pop("SECRET_KEY_FILE", None)
    os.environ["SECRET_KEY"] = "only-for-showing-help-" + os.urandom(16).hex()


def _dispatch(program: str, arguments: list[str], *, show_django_commands: bool) -> int:
    import django
    from django.conf import settings

    settings.INSTALLED_APPS  # noqa: B018 - reads the settings now, so that their errors are not Django's to hide
    if not arguments or arguments[0] in _HELP:
        if len(arguments) > 1:
            arguments = [arguments[1], "--help"]
        else:
            django.setup()
            sys.stdout.write(_overview(program, with_django=show_django_commands))
            return 0
    if settings.SQLITE_FILE is not None:
        from forkflux_site.original import refuse_original_file

        refuse_original_file(settings.SQLITE_FILE)
    django.setup()
    return _execute(program, arguments)


def _execute(program: str, arguments: list[str]) -> int:
    name = arguments[0]
    app = get_commands().get(name)
    if app is None:
        near = difflib.get_close_matches(name, _names(with_django=False), n=1)
        guess = f" Did you mean {near[0]}?" if near else ""
        return _fail(f"There is no command {name!r}.{guess} See: {program} --help", status=WRONG_USAGE)
    command = app if isinstance(app, BaseCommand) else load_command_class(app, name)
    if type(command).run_from_argv is not BaseCommand.run_from_argv:
        # It reads the command line in a way of its own (`test` does).
        execute_from_command_line([program, *arguments])
        return 0
    # Makes wrong usage, also that of a subcommand, an exit with status 2 instead of an exception.
    vars(command)["_called_from_command_line"] = True
    parser = command.create_parser(program, name)
    options = vars(parser.parse_args(arguments[1:]))
    positional = options.pop("args", ())
    try:
        command.execute(*positional, **options)
    except (CommandError, DomainError, DatabaseError, InterfaceError):
        if options.get("traceback"):
            traceback.print_exc()
        raise
    finally:
        connections.close_all()
    return 0


def _names(*, with_django: bool) -> list[str]:
    from django.conf import settings

    return sorted(
        name
        for name, app in get_commands().items()
        if with_django or app in settings.FORKFLUX_APPS or name in _OF_DJANGO
    )


def _overview(program: str, *, with_django: bool) -> str:
    from django.conf import settings

    commands = get_commands()
    lines = [
        f"ForkFlux {__version__}: AI agents hand work to each other.",
        "",
        f"usage: {program} COMMAND [options]",
        "",
    ]
    names = _names(with_django=False)
    width = max(map(len, names)) + 2
    for name in names:
        app = commands[name]
        command = app if isinstance(app, BaseCommand) else load_command_class(app, name)
        lines.append(f"  {name:<{width}}{command.help}")
    lines += ["", f"{program} COMMAND --help explains a command; {program} --version shows the version."]
    if with_django:
        others = [name for name in _names(with_django=True) if commands[name] not in settings.FORKFLUX_APPS]
        lines += ["", f"Django's own commands: {', '.join(others)}"]
    return "\n".join(lines) + "\n"


def _explain(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if missing := re.search(r'database "[^"]*" does not exist', text):
        return f"The PostgreSQL {missing[0]}; make it (createdb), then run: forkflux init"
    if isinstance(error, OperationalError | ProgrammingError) and (
        "no such table" in text or "does not exist" in text
    ):
        return f"The database has no tables of this version yet ({text}); run: forkflux init"
    return f"The database cannot be used: {text}"


def _fail(message: str, *, status: int = FAILED) -> int:
    sys.stderr.write(f"Error: {message}\n")
    return status
