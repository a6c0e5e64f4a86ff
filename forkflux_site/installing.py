"""Makes an installation ready: folder, database, tables, secret key; each only where it is missing."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from core import env
from core.installation import settle_feed_epoch
from forkflux_site.locks import LockHeld, exclusively
from forkflux_site.original import refuse_original_file, refuse_original_tables
from forkflux_site.secret import kept_key, path_beside

_LOCK_SECONDS = 600.0
# Any number will do, as long as nothing else in the same database uses it: "ForkFlux" in ASCII.
_ADVISORY_LOCK = int.from_bytes(b"ForkFlux") >> 1


@dataclass(frozen=True)
class Installed:
    """What `install` did."""

    database: str
    database_created: bool
    migrations_applied: int
    secret_key_file: str | None
    secret_key_created: bool


def install() -> Installed:
    """Make folder, database, tables and key; whatever is there already stays as it is.

    Several processes may do it at once: one works, the others wait and find everything done. Raises
    CommandError when the database is the original's, is newer than this version, or is being worked on for
    longer than ten minutes.
    """
    if connection.vendor == "sqlite":
        return _install_sqlite(sqlite_file())
    with _alone_on_postgresql():
        refuse_original_tables(set(connection.introspection.table_names()), where=described_database())
        return Installed(described_database(), database_created=False, migrations_applied=_migrate(),
                         secret_key_file=None, secret_key_created=False)  # fmt: skip


def sqlite_file() -> Path:
    """The SQLite file; raises CommandError for a database in memory, which no second process could see."""
    file: Path | None = settings.SQLITE_FILE
    if file is None:
        raise CommandError(
            "DATABASE_URL names an SQLite database in memory; each process would have its own. "
            "Use a file: DATABASE_URL=sqlite:///forkflux.db."
        )
    return file


def described_database() -> str:
    """The database in words for messages: file, or host and name; never the password."""
    if connection.vendor == "sqlite":
        return str(settings.SQLITE_FILE or "memory")
    database = connection.settings_dict
    return f"PostgreSQL database {database['NAME']} on {database['HOST'] or 'the local socket'}"


def require_current_tables() -> None:
    """Raise CommandError unless every migration is applied."""
    missing = len(_plan(MigrationExecutor(connection)))
    if missing:
        raise CommandError(f"{missing} migrations are not applied yet; run: forkflux init")
    settle_feed_epoch()


def _install_sqlite(file: Path) -> Installed:
    refuse_original_file(file)
    make_folder(file.parent)
    try:
        with exclusively(file.with_name(f"{file.name}.migrate.lock"), timeout_seconds=_LOCK_SECONDS):
            created = not file.exists()
            if created:
                # An empty file is an empty database. SQLite would make it readable for everybody; what it puts
                # beside it has the file's own mode.
                file.touch(mode=0o600)
            applied = _migrate()
    except LockHeld:
        raise CommandError(
            f"Another process has been working on {file} for {_LOCK_SECONDS:g} s; wait for it to end."
        ) from None
    key_file = path_beside(file)
    key_missing = not key_file.exists()
    given = env.secret("SECRET_KEY") is not None
    if not given:
        kept_key(file)
    return Installed(
        database=str(file),
        database_created=created,
        migrations_applied=applied,
        secret_key_file=None if given else str(key_file),
        secret_key_created=not given and key_missing,
    )


def make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    try:
        # What agents tell each other is nobody else's business on a shared machine.
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise CommandError(f"The folder {folder} cannot be made: {error}.") from error
    if folder.name == ".forkflux":
        # It often lies in a working copy, and must not be committed with it.
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def _migrate() -> int:
    executor = MigrationExecutor(connection)
    _refuse_newer(executor)
    plan = _plan(executor)
    if plan:
        call_command("migrate", verbosity=0, interactive=False)
    settle_feed_epoch()
    return len(plan)


def _plan(executor: MigrationExecutor) -> list[object]:
    return list(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _refuse_newer(executor: MigrationExecutor) -> None:
    loader = executor.loader
    unknown = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations
        if app in loader.migrated_apps and (app, name) not in loader.disk_migrations
    )
    if unknown:
        raise CommandError(
            f"{described_database()} was made by a newer version of ForkFlux (it has {unknown[0]}); "
            "install that version, or use another database."
        )


@contextlib.contextmanager
def _alone_on_postgresql() -> Iterator[None]:
    # The bounds that keep requests short would end a long migration, and the wait for one.
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET lock_timeout = 0")
        cursor.execute("SELECT pg_advisory_lock(%s::bigint)", [_ADVISORY_LOCK])
    try:
        yield
    finally:
        # Closing would not do: it gives the session, with its lock and its settings, back to the pool.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s::bigint)", [_ADVISORY_LOCK])
            cursor.execute("RESET statement_timeout")
            cursor.execute("RESET lock_timeout")
