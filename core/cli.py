"""What the product's own commands share: a database that is ready, actions, options in refusals, one way to print.

Exit status (forkflux_site.cli gives it): 0 done, 1 refused or failed, 2 wrong usage. Standard output holds the answer
and nothing else, standard error what went wrong.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import sys
from argparse import ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from core.actors import Actor, operator
from core.errors import InvalidInput
from core.exits import WRONG_USAGE
from core.inputs import INT64_MAX, Input
from core.printing import Table, printable

Options = dict[str, Any]
Action = Callable[[Options], None]
I = TypeVar("I", bound=Input)  # noqa: E741

# As wide as the columns that keep the author's name.
_NAME_LENGTH = 255
# A body with a hundred wrong items is told by its first few.
_MOST_REFUSALS = 5
_VALUE_ERROR = "Value error, "


class HelpFormatter(RawDescriptionHelpFormatter, DjangoHelpFormatter):
    """Django's order of options, and examples with the line breaks that they were written with."""


class ActionParser(CommandParser):
    """The arguments of one action. It says itself what it does not know, with its own usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, surplus = super().parse_known_args(args, namespace)
        if surplus:
            self.error(f"unrecognized arguments: {' '.join(surplus)}")
        return found, surplus


class ForkfluxCommand(BaseCommand):
    """A command that works on the installation's database and can answer as JSON."""

    example: ClassVar[str]
    needs_database: ClassVar[bool] = True
    # They start the whole project's checks, which are the server's business and would precede the answer.
    requires_system_checks = ()
    # They work, but would fill every help page with what nobody looks up there.
    suppressed_base_arguments = {
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
        "--skip-checks",
    }

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        given = {
            "formatter_class": HelpFormatter,
            "epilog": example_text(self.example),
            "allow_abbrev": False,
        } | kwargs
        parser: CommandParser = super().create_parser(prog_name, subcommand, **given)
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        _refuse_bytes(options)
        if self.needs_database:
            require_database()
        return super().execute(*args, **options)

    def answer(self, options: Options, document: Any, text: str | Table) -> None:
        """Print the document when `--json` was given, else the text."""
        if options["json"]:
            printed = json.dumps(document, indent=2 if self.stdout.isatty() else None)
        elif isinstance(text, str):
            printed = text
        elif self.stdout.isatty():
            printed = text.drawn(no_color=bool(options.get("no_color")))
        else:
            printed = text.plain()
        self.stdout.write(_encodable(printed, self.stdout))

    def reason(self, options: Options) -> str:
        """The reason that was given; asked for on a terminal, and else wrong usage: nothing changes without one."""
        given: str | None = options["reason"]
        if given is None and sys.stdin.isatty():
            given = self._ask("Reason: ")
        if given is None or not given.strip():
            why = "--reason is needed: say why, for whoever reads the trail."
            raise CommandError(why, returncode=WRONG_USAGE)
        return given.strip()

    def _ask(self, question: str) -> str | None:
        """What is typed at the terminal, asked again while it is blank; None when the terminal is closed."""
        while True:
            self.stderr.write(_encodable(question, self.stderr), lambda line: line, ending="")
            self.stderr.flush()
            line = sys.stdin.readline()
            if not line:
                return None
            if line.strip():
                return line

    def confirm(self, options: Options, question: str) -> None:
        """Go on when the person says yes, or said so with `--yes`; CommandError otherwise."""
        if options["yes"]:
            return
        if not sys.stdin.isatty():
            raise CommandError(f"{question} Repeat the command with --yes if so: nothing was changed.")
        self.stderr.write(_encodable(f"{question} [y/N] ", self.stderr), lambda line: line, ending="")
        self.stderr.flush()
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise CommandError("Nothing was changed.")

    def note(self, text: str) -> None:
        """Say something beside the answer, on standard error."""
        self.stderr.write(_encodable(text, self.stderr), lambda line: line)


class CommandWithActions(ForkfluxCommand):
    """A command such as `job`, whose first argument says what to do with the noun."""

    def add_arguments(self, parser: CommandParser) -> None:
        self._actions = parser.add_subparsers(
            dest="action", metavar="ACTION", required=True, parser_class=ActionParser
        )
        self.add_actions()

    def add_actions(self) -> None:
        """Add each action with `action`."""
        raise NotImplementedError

    def action(self, name: str, run: Action, *, says: str, example: str) -> CommandParser:
        """A parser for `COMMAND name`, to which the caller adds arguments; `run` gets them as a dict."""
        parser: CommandParser = self._actions.add_parser(
            name,
            help=says,
            description=f"{says[0].upper()}{says[1:]}.",
            epilog=example_text(example),
            formatter_class=HelpFormatter,
            # An abbreviation in a script stops working when another option begins with the same letters.
            allow_abbrev=False,
        )
        add_json_option(parser)
        parser.set_defaults(run=run)
        return parser

    def handle(self, *args: Any, **options: Any) -> None:
        options["run"](options)


def add_json_option(parser: CommandParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def add_reason_option(parser: CommandParser, why: str) -> None:
    parser.add_argument("--reason", metavar="TEXT", help=f"{why}; asked for if missing")


def add_yes_option(parser: CommandParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask before doing it")


def example_text(example: str) -> str:
    """The end of a help page."""
    lines = "\n".join(f"  {line}" for line in example.splitlines())
    return f"example:\n{lines}"


def row_id(text: str) -> int:
    """An id as an argument: the type of a positional that names a row."""
    if not re.fullmatch(r"[0-9]{1,19}", text) or not 1 <= int(text) <= INT64_MAX:
        raise ArgumentTypeError(f"{text!r} is no id; allowed is a whole number from 1 to {INT64_MAX}")
    return int(text)


def read(fields: type[I], values: Mapping[str, Any]) -> I:
    """The values of options as an input, checked like a request's body; InvalidInput."""
    return fields.checked(values)


def require_database() -> None:
    """Raise CommandError unless the database is there with all its tables. Makes nothing.

    Asked of the file first: connecting would create it.
    """
    file = sqlite_file()
    if file is not None and not file.exists():
        raise CommandError(f"There is no database {file} yet; run: forkflux init")
    executor = MigrationExecutor(connection)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if missing:
        what = "a migration" if missing == 1 else f"{missing} migrations"
        raise CommandError(f"The database lacks {what} of this version; run: forkflux init")


def sqlite_file() -> Path | None:
    """The file of the database, there or not; None for one in memory and on PostgreSQL."""
    name = str(connection.settings_dict["NAME"])
    is_file = connection.vendor == "sqlite" and name != ":memory:" and not name.startswith("file:")
    return Path(name) if is_file else None


def person_at_the_terminal() -> Actor:
    """Who runs the command, for the audit trail. A container may run under a number that has no name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):
        name = f"uid-{os.getuid()}" if hasattr(os, "getuid") else ""
    return operator(printable(name).strip()[:_NAME_LENGTH] or "operator")


@contextmanager
def naming(options: Mapping[str, str]) -> Iterator[None]:
    """Turn an InvalidInput into a CommandError that names the options in place of the fields."""
    try:
        yield
    except InvalidInput as refused:
        told = [_in_words(entry, options) for entry in refused.entries[:_MOST_REFUSALS]]
        more = len(refused.entries) - len(told)
        if more:
            told.append(f"and {more} more")
        raise CommandError("; ".join(told)) from refused


def _refuse_bytes(options: Mapping[str, Any]) -> None:
    """What is not text in the terminal's encoding arrives as lone surrogates, which no database takes."""
    for value in options.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and any("\udc80" <= character <= "\udcff" for character in text):
                raise CommandError(f"An argument has bytes that are no text in this encoding: {text!a}")


def _in_words(entry: Mapping[str, Any], options: Mapping[str, str]) -> str:
    message = str(entry["msg"])
    if message.startswith(_VALUE_ERROR):
        # Sentences of our own about several fields, which name these themselves.
        message = message.removeprefix(_VALUE_ERROR)
        for field, option in options.items():
            message = re.sub(rf"\b{field}\b", option, message)
    place = [part for part in entry["loc"] if part != "body"]
    if not place or message.startswith("--"):
        return message
    return f"{_place_in_words(place, options)}: {message}"


def _place_in_words(place: list[str | int], options: Mapping[str, str]) -> str:
    option = options.get(str(place[0]), str(place[0]))
    inner = place[1:]
    if inner and isinstance(inner[0], int):
        option = f"{option} no. {inner[0] + 1}"
        inner = inner[1:]
    return f"{option}, {'.'.join(str(part) for part in inner)}" if inner else option


def _encodable(text: str, stream: Any) -> str:
    """The text as the stream's encoding can say it; a terminal that knows no `→` must not end the command."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
