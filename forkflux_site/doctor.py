"""What `forkflux doctor` looks at. Each look is one function; none of them changes anything."""

from __future__ import annotations

import platform
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import django
from django.contrib.auth.models import User
from django.core import checks
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor

from agents.models import Agent
from core import __version__
from core.cli import sqlite_file
from core.clock import database_moment
from jobs.lifecycle import LEASED
from jobs.models import Job
from roles.models import Role

State = Literal["ok", "warning", "problem"]
# The clock decides only where people read times; leases go by the database's own.
SKEW = timedelta(seconds=5)
# The sweep runs every five seconds; what is overdue by much more was not swept.
UNSWEPT = timedelta(seconds=60)
_CONNECT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, how it is, and what to do if it is not well."""

    name: str
    state: State
    told: str
    remedy: str = ""


def findings(*, host: str, port: int) -> Iterator[Finding]:
    """Everything, in the order in which it would be mended. What needs the tables is left out without them."""
    yield versions()
    reachable = database()
    yield reachable
    if reachable.state == "problem":
        return
    tables = migrations()
    yield tables
    yield from settings_findings()
    yield from file_findings()
    if tables.state == "problem":
        return
    looks: tuple[Callable[[], Finding], ...] = (clock, sweep, people, agents_and_roles)
    for look in looks:
        yield look()
    yield listening(host, port)


def versions() -> Finding:
    told = f"ForkFlux {__version__}, Django {django.__version__}, Python {platform.python_version()}"
    return Finding("versions", "ok", told)


def database() -> Finding:
    """The database answers."""
    file = sqlite_file()
    if file is not None and not file.exists():
        # Asked of the file first: connecting would make it.
        return Finding("database", "problem", f"there is no file {file}", "Run: forkflux init")
    try:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SHOW server_version")
            else:
                cursor.execute("SELECT sqlite_version()")
            [version] = cursor.fetchone()
    except (DatabaseError, InterfaceError) as error:
        told = " ".join(str(error).split())
        return Finding("database", "problem", told, "Start it, or correct DATABASE_URL.")
    kind = "PostgreSQL" if connection.vendor == "postgresql" else f"SQLite, {file or 'in memory'}, version"
    return Finding("database", "ok", f"{kind} {version}")


def migrations() -> Finding:
    """All tables of this version are there."""
    executor = MigrationExecutor(connection)
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if missing:
        return Finding("migrations", "problem", f"{missing} are not applied", "Run: forkflux init")
    return Finding("migrations", "ok", "all applied")


def settings_findings() -> Iterator[Finding]:
    """What Django's and our own system checks say of the settings."""
    found = checks.run_checks(include_deployment_checks=False)
    for message in found:
        state: State = "problem" if message.level >= checks.ERROR else "warning"
        yield Finding(f"settings {message.id}", state, message.msg, message.hint or "")
    if not found:
        yield Finding("settings", "ok", "nothing is wrong with them")


def file_findings() -> Iterator[Finding]:
    """The file is sound, has a write-ahead log, and is nobody else's to read."""
    file = sqlite_file()
    if file is None:
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(1)")
        [said] = cursor.fetchone()
        cursor.execute("PRAGMA journal_mode")
        [journal] = cursor.fetchone()
    if said != "ok":
        yield Finding("file", "problem", str(said), "Stop the server and restore a backup of the file.")
    elif journal != "wal":
        remedy = "Run: forkflux init; a file on a network drive cannot have one: use PostgreSQL there."
        yield Finding("file", "warning", f"the journal is {journal}, not wal", remedy)
    else:
        yield Finding("file", "ok", "sound, with a write-ahead log")
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o007:
        told = f"{file} can be read by everybody on this machine (mode {mode:04o})"
        yield Finding("file mode", "warning", told, f"Run: chmod 600 {file}")


def clock() -> Finding:
    """This machine and the database agree on the time."""
    before = datetime.now(UTC)
    there = database_moment().now
    skew = there - before
    told = f"the database's differs by {abs(skew.total_seconds()):.1f} s"
    if abs(skew) > SKEW:
        return Finding("clock", "warning", told, "Let both machines take their time from the network (NTP).")
    return Finding("clock", "ok", told)


def sweep() -> Finding:
    """No lease ran out long ago without being taken back."""
    before = database_moment().now - UNSWEPT
    late = Job.objects.filter(status__in=sorted(LEASED), lease_expires_at__lt=before).count()
    if late:
        remedy = "Run `forkflux serve`, which sweeps, or: forkflux sweep"
        return Finding("sweep", "problem", f"{late} jobs are held beyond their lease", remedy)
    return Finding("sweep", "ok", "nothing is held beyond its lease")


def people() -> Finding:
    """Somebody can sign in."""
    staff = User.objects.filter(is_active=True, is_staff=True).count()
    if not staff:
        return Finding(
            "people", "warning", "nobody can sign in to /admin/ yet", "Run: forkflux createsuperuser"
        )
    return Finding("people", "ok", f"{staff} can sign in to /admin/")


def agents_and_roles() -> Finding:
    """There is something to address work to, and somebody to do it."""
    roles = Role.objects.filter(is_deleted=False).count()
    agents = Agent.objects.filter(is_active=True).count()
    if not roles:
        return Finding("roles", "warning", "there are none", "Run: forkflux role add KEY")
    if not agents:
        return Finding("agents", "warning", "there are none", "Run: forkflux agent add LABEL --role KEY")
    return Finding("agents", "ok", f"{agents} agents, {roles} roles")


def listening(host: str, port: int) -> Finding:
    """Whether something answers where `serve` would listen."""
    try:
        with socket.create_connection((host, port), timeout=_CONNECT_SECONDS):
            return Finding("port", "ok", f"something answers on {host}:{port}")
    except OSError:
        return Finding("port", "ok", f"nothing listens on {host}:{port}: `forkflux serve` can")
