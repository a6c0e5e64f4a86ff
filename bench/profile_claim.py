"""Where the time of a claim-next goes: calls of the WSGI application in this process, timed and profiled.

`python -m bench.profile_claim` starts a PostgreSQL of its own with fsync on. FORKFLUX_* of the environment are
in force, so that `FORKFLUX_CONNECTIONS=pool python -m bench.profile_claim` compares two ways to keep connections.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import json
import os
import pstats
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.filling import Board
from bench.processes import read_cpu
from bench.sections import Sections
from bench.seeding import CLAIMED_ROLES, Seeded, seed
from testing.postgres import find_binaries, running_server

PATH = "/api/v1/mcp/jobs/claim-next"
WARM_UP = 300

# What a claim consists of, from the outside in; time inside an inner part counts there and not outside.
SECTIONS = {
    "auth": ["core.api.authentication:AgentAuthentication.authenticate"],
    "input": ["core.api.base:BusViewSet.body"],
    "pick": ["jobs.queue:pick"],
    "event text and hash": ["jobs.transitions:link"],
    # On PostgreSQL one statement writes the job and the event.
    "update": ["jobs.transitions:_update"],
    "event insert (SQLite)": ["jobs.transitions:write"],
    "commit": ["django.db.backends.base.base:BaseDatabaseWrapper._commit"],
    "connection": [
        "django.db.backends.base.base:BaseDatabaseWrapper.connect",
        "django.db.backends.base.base:BaseDatabaseWrapper._close",
    ],
    "answer's payload": ["jobs.api.claiming:claimed_job"],
    "rendering": ["rest_framework.response:Response.rendered_content"],
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; gives back the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile_claim", description=__doc__)
    parser.add_argument("--database", choices=["postgresql", "sqlite"], default="postgresql")
    parser.add_argument("--calls", type=int, default=2000, help="calls in each of the three passes")
    parser.add_argument("--top", type=int, default=30, help="functions to list")
    options = parser.parse_args(arguments)
    if options.calls < 1:
        parser.error("--calls must be 1 or more")
    with _database(options.database) as url:
        os.environ["DATABASE_URL"] = url
        os.environ.setdefault("SECRET_KEY", "only-for-measuring-and-gone-with-it-" + os.urandom(16).hex())
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forkflux_site.settings")
        import django

        django.setup()
        from django.db import connections

        try:
            _measure(url, options.calls, options.top)
        finally:
            for connection in connections.all():
                connection.close()
                getattr(connection, "close_pool", int)()
    return 0


@contextlib.contextmanager
def _database(kind: str) -> Iterator[str]:
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="forkflux-profile-") as folder:
            yield f"sqlite:///{Path(folder)}/forkflux.db"
    else:
        with (
            running_server(durable=True, binaries=find_binaries()) as server,
            server.database() as url,
        ):
            yield url


def _measure(url: str, calls: int, top: int) -> None:
    from django.core.management import call_command
    from django.db import connection

    from forkflux_site.wsgi import application

    call_command("migrate", verbosity=0)
    seeded = seed(agents=1)
    masters = {seeded.roles[key]: job for key, job in seeded.jobs.items()}
    with contextlib.closing(Board(url, masters)) as board:
        claim = _prepare(application, board, seeded, jobs=WARM_UP + 3 * calls)
        root = board.server_root()
    print(f"{connection.vendor}, {calls} calls in each pass, {json.dumps(_told_settings())}")
    for _ in range(WARM_UP):
        claim()

    before = read_cpu(server=None, database=root)
    for _ in range(calls):
        claim()
    after = read_cpu(server=None, database=root)
    each = 1e6 / calls
    print(f"\nunmeasured calls: wall {(after.at - before.at) * each:.0f} us", end="")
    print(f", CPU {(after.client - before.client) * each:.0f} us", end="")
    if after.database is not None and before.database is not None:
        print(f", the database's CPU {(after.database - before.database) * each:.0f} us", end="")
    print()

    statements = _Statements()
    sections = Sections(SECTIONS)
    with sections.watching(), connection.execute_wrapper(statements):
        for _ in range(calls):
            sections.call(claim)
    sections.report(sys.stdout)
    statements.report()

    profile = cProfile.Profile()
    profile.enable()
    for _ in range(calls):
        claim()
    profile.disable()
    for order in ("tottime", "cumulative"):
        printed = io.StringIO()
        stats = pstats.Stats(profile, stream=printed).strip_dirs().sort_stats(order)
        stats.print_stats(top)
        print(f"\nprofiled, by {'own' if order == 'tottime' else 'cumulative'} time, {calls} calls:")
        print(printed.getvalue().partition("\n\n")[2].strip())


def _prepare(
    application: Callable[..., Iterable[bytes]], board: Board, seeded: Seeded, *, jobs: int
) -> Callable[[], None]:
    """So many published jobs; gives back what claims one of them over WSGI."""
    [role, *_] = CLAIMED_ROLES
    board.add(seeded.roles[role], jobs)
    board.analyze()
    body = json.dumps({"target_role_key": role}).encode()
    [token] = seeded.claimers

    def claim() -> None:
        answered = []
        answer = application(_environ(body, token), lambda status, headers: answered.append(status))
        text = b"".join(answer)
        answer.close()  # type: ignore[attr-defined]
        if answered != ["201 Created"]:
            raise RuntimeError(f"claim-next answered {answered}: {text[:500]!r}")

    return claim


def _environ(body: bytes, token: str) -> dict[str, Any]:
    return {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": PATH,
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_HOST": "127.0.0.1:8000",
        "HTTP_AUTHORIZATION": f"Bearer {token}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }


def _told_settings() -> dict[str, Any]:
    """What decides about the cost and can be set."""
    from django.conf import settings

    database = settings.DATABASES["default"]
    names = ("pool", "prepare_threshold", "server_side_binding", "transaction_mode")
    told = {name: database["OPTIONS"][name] for name in names if name in database["OPTIONS"]}
    return told | {"CONN_MAX_AGE": database["CONN_MAX_AGE"]}


class _Statements:
    """Times what is sent to the database, as Django hands it to the driver."""

    def __init__(self) -> None:
        self.microseconds: dict[str, list[float]] = defaultdict(list)

    def __call__(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,
        context: dict[str, Any],
    ) -> Any:
        begun = time.perf_counter_ns()
        try:
            return execute(sql, params, many, context)
        finally:
            self.microseconds[sql].append((time.perf_counter_ns() - begun) / 1000)

    def report(self) -> None:
        print("\nstatements (median us of wall time, until the driver has the answer; count; text):")
        for sql, times in self.microseconds.items():
            print(f"  {statistics.median(times):7.0f}  {len(times):6}  {' '.join(sql.split())[:150]}")


if __name__ == "__main__":
    sys.exit(main())
