"""`forkflux serve`: prepare the database and turn into the server."""

import errno
import importlib.util
import os
import socket
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.checks import CheckMessage, Error
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, connections

from core import env
from forkflux_site.checks import hosting_problems
from forkflux_site.installing import (
    install,
    make_folder,
    require_current_tables,
    sqlite_file,
)
from forkflux_site.locks import LockHeld, lock_server

_WORKERS_ON_POSTGRESQL = 2
_ROOT = Path(__file__).resolve().parents[3]


class Command(BaseCommand):
    """Migrates, binds the address, then runs gunicorn in this very process (daphne where there is none)."""

    help = "Run the server: HTTP API, browsable pages and the sweep, after applying migrations."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host",
            default=settings.FORKFLUX_HOST,
            help="address to listen on (default: FORKFLUX_HOST, else 127.0.0.1)",
        )
        parser.add_argument(
            "--port", type=int, default=8000, help="port to listen on; 0 takes any free one (default: 8000)"
        )
        parser.add_argument(
            "--workers",
            type=int,
            help="number of processes (PostgreSQL: 2 if not given; SQLite: always 1)",
        )
        parser.add_argument(
            "--no-migrate",
            action="store_true",
            help="do not apply migrations; refuse to start when some are missing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        gunicorn = _use_gunicorn()
        workers = _number_of_workers(options["workers"], gunicorn=gunicorn)
        if not 0 <= options["port"] <= 65_535:
            raise CommandError(f"--port is {options['port']}; allowed is 0 to 65535.", returncode=2)
        if connection.vendor == "sqlite":
            _become_the_only_server(sqlite_file())
        listener = _bind(options["host"], options["port"])
        self._report(
            hosting_problems(
                host=options["host"],
                allowed_hosts=settings.ALLOWED_HOSTS,
                trusted_origins=settings.CSRF_TRUSTED_ORIGINS,
                debug=settings.DEBUG,
            )
        )
        if options["no_migrate"]:
            require_current_tables()
        else:
            install()
        self._welcome()
        _leave_database()
        if gunicorn:
            _listen(listener, options["host"])
            _turn_into_gunicorn(listener, options["host"], workers)
        self._run_daphne(listener, options["host"])

    def _welcome(self) -> None:
        """Tell a newcomer at a terminal how to get into the admin. A log would be told the same at each start."""
        if self.stdout.isatty() and not User.objects.filter(is_active=True, is_staff=True).exists():
            self.stderr.write(
                "Nobody can sign in to /admin/ yet; in another terminal: forkflux createsuperuser",
                lambda line: line,
            )

    def _run_daphne(self, listener: socket.socket, host: str) -> None:
        from forkflux_site.daphne_app import run

        address, port = listener.getsockname()[:2]
        url = _url(host, listener)
        listener.close()

        def ready() -> None:
            self.stdout.write(f"ForkFlux listens on {url}")
            self.stdout.flush()

        run(host=address, port=port, ready=ready)

    def _report(self, problems: list[CheckMessage]) -> None:
        for problem in problems:
            if isinstance(problem, Error):
                raise CommandError(f"{problem.msg} {problem.hint} ({problem.id})")
            self.stderr.write(f"Warning: {problem.msg} {problem.hint} ({problem.id})", self.style.WARNING)


def _number_of_workers(asked: int | None, *, gunicorn: bool) -> int:
    if asked is not None and asked < 1:
        raise CommandError(f"--workers is {asked}; allowed is 1 or more.", returncode=2)
    if connection.vendor != "sqlite" and not gunicorn:
        if asked is not None and asked > 1:
            raise CommandError(f"--workers is {asked}; daphne has one process.", returncode=2)
        return 1
    if connection.vendor != "sqlite":
        return asked or _WORKERS_ON_POSTGRESQL
    if asked is not None and asked > 1:
        raise CommandError(
            f"--workers is {asked}; with SQLite it is always 1, since a second process would wait for the "
            "first one's writes. For more, use PostgreSQL (DATABASE_URL=postgresql://…).",
            returncode=2,
        )
    return 1


def _become_the_only_server(file: Path) -> None:
    make_folder(file.parent)
    try:
        # Never closed: it goes over to gunicorn and its workers, and holds until the last of them has ended.
        lock_server(file.with_name(f"{file.name}.serve.lock"))
    except LockHeld as held:
        who = "another process" if held.pid is None else f"process {held.pid}"
        raise CommandError(
            f"{file} is already served by {who}. Stop that one first, or use another database (DATABASE_URL)."
        ) from None


def _bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: a port that is taken is known before anything is changed."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise CommandError(
            f"--host is {host!r}, which is no address of this machine: {error.strerror}."
        ) from None
    listener = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # there it would let two servers share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        raise _cannot_listen(error, host, port) from None
    return listener


def _listen(listener: socket.socket, host: str) -> None:
    try:
        listener.listen(1_024)
    except OSError as error:
        raise _cannot_listen(error, host, listener.getsockname()[1]) from None


def _cannot_listen(error: OSError, host: str, port: int) -> CommandError:
    if error.errno == errno.EADDRINUSE:
        return CommandError(
            f"Port {port} on {host} is in use. Stop what uses it, or choose another with --port (0: any)."
        )
    return CommandError(f"Cannot listen on {host}, port {port}: {error.strerror}.")


def _url(host: str, listener: socket.socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def _leave_database() -> None:
    # The server's processes make their own connections: one that is shared by exec or fork speaks for two.
    connections.close_all()
    if connection.vendor == "postgresql":
        close_pool = getattr(connection, "close_pool", None)
        if close_pool is not None:
            close_pool()


def _use_gunicorn() -> bool:
    available = sys.platform != "win32" and importlib.util.find_spec("gunicorn") is not None
    server = env.choice("FORKFLUX_SERVER", "gunicorn" if available else "daphne", ("gunicorn", "daphne"))
    if server == "gunicorn" and not available:
        raise CommandError("FORKFLUX_SERVER is gunicorn, which is not available here; use daphne.")
    return server == "gunicorn"


def _turn_into_gunicorn(listener: socket.socket, host: str, workers: int) -> None:
    """Replace this process by gunicorn, which inherits the listener and the lock; does not return."""
    reader, writer = os.pipe()
    os.write(writer, b"1")
    os.close(writer)
    for descriptor in (listener.fileno(), reader):
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - the standard library takes it by position only
    environment = {
        **os.environ,
        "FORKFLUX_SERVE_URL": _url(host, listener),
        "FORKFLUX_SERVE_ANNOUNCE_FD": str(reader),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])),
        # Keeps the working directory out of Python's search path (forkflux_site.gunicorn_app says why).
        "PYTHONSAFEPATH": "1",
    }
    if connection.vendor == "sqlite":
        # What it was found to be here, whatever file appears elsewhere in the meantime.
        environment["DATABASE_URL"] = f"sqlite:///{sqlite_file()}"
    sys.stdout.flush()
    sys.stderr.flush()
    program = [sys.executable, "-m", "forkflux_site.gunicorn_app", str(listener.fileno()), str(workers)]
    os.execve(sys.executable, program, environment)  # noqa: S606 - a list, no shell: that is the point
