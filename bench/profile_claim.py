"""Where the time of a claim-next goes: calls of the WSGI application in this process, timed and profiled.

`python -m bench.profile_claim` starts a PostgreSQL of its own with fsync on (or uses TEST_DATABASE_URL's
server) and works in a database that it drops. FORKFLUX_* of the environment are in force, so that
`FORKFLUX_CONNECTIONS=lasting python -m bench.profile_claim` compares two ways to keep connections.
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
from typing import TYPE_CHECKING, Any

from bench.filling import ANALYZE_SQL, COLUMNS_SQL, copies_sql
from bench.sections import Sections
from testing.postgres import running_server

if TYPE_CHECKING:
    from core.actors import Actor

ROLE = "bench"
PATH = "/api/v1/mcp/jobs/claim-next"
WARM_UP = 300

# What a claim consists of, from the outside in; time inside an inner part counts there and not outside.
SECTIONS = {
    "auth": ["core.api.authentication:AgentAuthentication.authenticate"],
    "input": ["core.api.views:AgentViewSet.body"],
    "pick": ["jobs.services.claiming:_pick"],
    "event text and hash": ["jobs.transitions:append"],
    "event insert": ["events.record:insert"],
    "update": ["jobs.transitions:_update"],
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
            _measure(options.calls, options.top)
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
        with running_server(durable=True) as server, server.database() as url:
            yield url


def _measure(calls: int, top: int) -> None:
    from django.db import connection

    from forkflux_site.wsgi import application

    claim = _prepare(application, jobs=WARM_UP + 3 * calls)
    print(f"{connection.vendor}, {calls} calls in each pass, {json.dumps(_told_settings())}")
    for _ in range(WARM_UP):
        claim()

    backend = _database_cpu_seconds()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        claim()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    backend = None if backend is None else (_database_cpu_seconds() or 0.0) - backend
    print(f"\nunmeasured calls: wall {wall / calls * 1e6:.0f} us, CPU {cpu / calls * 1e6:.0f} us", end="")
    print("" if backend is None else f", the database's CPU {backend / calls * 1e6:.0f} us")

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


def _prepare(application: Callable[..., Iterable[bytes]], *, jobs: int) -> Callable[[], None]:
    """A role, an agent and so many published jobs; gives back what claims one of them over WSGI."""
    from django.core.management import call_command
    from django.db import connection

    from agents.services import register_agent
    from core.actors import operator
    from jobs.services.publishing import publish
    from roles.services import create_role

    call_command("migrate", verbosity=0)
    person: Actor = operator("bench")
    create_role(actor=person, role_key=ROLE, role_label="Bench")
    _, token = register_agent(actor=person, agent_label="bench", role_keys=[ROLE])
    job = publish(
        actor=person, summary="A job to measure with", context_payload={"n": 1}, target_role_key=ROLE
    )
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS_SQL[connection.vendor])
        columns = [row[0] for row in cursor.fetchall()]
        cursor.execute(copies_sql(columns, database=connection.vendor, job_id=job.pk, count=jobs))
        cursor.execute(ANALYZE_SQL[connection.vendor])
    connection.close()
    body = json.dumps({"target_role_key": ROLE}).encode()

    def claim() -> None:
        answered = []
        answer = application(_environ(body, token.secret), lambda status, headers: answered.append(status))
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


def _database_cpu_seconds() -> float | None:
    """CPU that the database's sessions have used; None on SQLite, and where its processes are elsewhere."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        pids = [row[0] for row in cursor.fetchall()]
    connection.close()
    from bench.processes import cpu_seconds

    try:
        return sum(map(cpu_seconds, pids))
    except OSError:
        return None


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
