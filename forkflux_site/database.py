"""From DATABASE_URL to Django's DATABASES: which database, where the file is, and how to talk to it."""

import os
import sys
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from core import env

SQLITE = "django.db.backends.sqlite3"
POSTGRESQL = "django.db.backends.postgresql"

# What people who come from other stacks have in DATABASE_URL, and what it means here.
_ALIASES = {
    "sqlite+aiosqlite": "sqlite",
    "postgres": "postgresql",
    "postgresql+asyncpg": "postgresql",
}
_ACCEPTED = ("sqlite", "postgresql", *_ALIASES)
_FILE_NAME = "forkflux.db"
_IN_MEMORY = ":memory:"

# Threads that a process may hold beside those that answer requests: the sweep, a command's own work,
# and callers of other doors that bring their own thread.
_CONNECTIONS_BESIDE_REQUESTS = 4


def local_file() -> Path:
    """The database file of the folder that the command runs in."""
    return Path.cwd() / ".forkflux" / _FILE_NAME


def user_file() -> Path:
    """The database file of the person who runs the command, in the platform's folder for such data."""
    home = Path.home()
    if sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return folder / "forkflux" / _FILE_NAME


def default_file() -> Path:
    """Where the database is when nobody said: the folder's file, else the person's if only that exists."""
    local, personal = local_file(), user_file()
    return personal if personal.exists() and not local.exists() else local


def database_from_environment(*, threads: int) -> dict[str, Any]:
    """Django's settings of the one database; `threads` is how many answer requests in one process.

    Raises ImproperlyConfigured for a URL that cannot be used. Neither a folder nor a file is made here:
    that belongs to `init` and `serve`.
    """
    url = env.text("DATABASE_URL")
    if not url:
        return _sqlite(str(default_file()), {})
    scheme, mark, rest = url.partition("://")
    # What the URL holds is not repeated in the messages: it may be a password.
    if not mark or scheme.lower() not in _ACCEPTED:
        raise ImproperlyConfigured(
            f"DATABASE_URL begins with {scheme[:20] if mark else 'no scheme'!r}; allowed is a URL that "
            f"begins with one of: {', '.join(name + '://' for name in _ACCEPTED)}."
        )
    kind = _ALIASES.get(scheme.lower(), scheme.lower())
    if kind == "sqlite" and rest and not rest.startswith(("/", _IN_MEMORY)):
        raise ImproperlyConfigured(
            "DATABASE_URL names an SQLite file with too few slashes; allowed is sqlite:///relative/file.db "
            "or sqlite:////absolute/file.db."
        )
    try:
        parsed: dict[str, Any] = {**dj_database_url.parse(f"{kind}://{rest}")}
    except ValueError as error:
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be read as a URL; special characters in user and password must be "
            "percent-encoded."
        ) from error
    options: dict[str, Any] = parsed.pop("OPTIONS", {})
    if kind == "sqlite":
        name = str(parsed["NAME"])
        return _sqlite(name if name == _IN_MEMORY else str(Path(name).absolute()), options)
    return _postgresql(parsed, options, threads=threads)


def _sqlite(name: str, options: dict[str, Any]) -> dict[str, Any]:
    synchronous = env.choice("FORKFLUX_SQLITE_SYNCHRONOUS", "NORMAL", ("NORMAL", "FULL"))
    return {
        "ENGINE": SQLITE,
        "NAME": name,
        # A request's thread lives as long as its process, and so does its connection.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "timeout": 20,
            # A transaction that reads before it writes would otherwise fail with "database is locked"
            # when another one wrote in between: no waiting helps it, its snapshot is old.
            "transaction_mode": "IMMEDIATE",
            "init_command": (
                "PRAGMA journal_mode=WAL;"
                f"PRAGMA synchronous={synchronous};"
                "PRAGMA foreign_keys=ON;"
                "PRAGMA cache_size=-16384;"
                "PRAGMA mmap_size=134217728;"
                "PRAGMA temp_store=MEMORY;"
                # Keeps the log file from staying as large as the largest burst that ever was.
                "PRAGMA journal_size_limit=67108864"
            ),
            **options,
        },
    }


def _postgresql(parsed: dict[str, Any], options: dict[str, Any], *, threads: int) -> dict[str, Any]:
    if "ssl" in options:  # asyncpg's word for it
        options["sslmode"] = str(options.pop("ssl"))
    limits = {
        # Above the retry of core.transactions: a lock that is not free by then becomes a 503, not a hang.
        "lock_timeout": env.seconds("FORKFLUX_LOCK_TIMEOUT_SECONDS", 5, low=0.1, high=300),
        # An abandoned open transaction keeps dead rows alive, and claims become slower by the second.
        "idle_in_transaction_session_timeout": env.seconds(
            "FORKFLUX_IDLE_TRANSACTION_SECONDS", 30, low=1, high=3_600
        ),
        "statement_timeout": env.seconds("FORKFLUX_STATEMENT_TIMEOUT_SECONDS", 30, low=1, high=3_600),
    }
    switches = " ".join(f"-c {name}={round(value * 1000)}" for name, value in limits.items())
    options["options"] = f"{switches} {options.get('options', '')}".strip()
    options.setdefault("connect_timeout", 5)
    options.setdefault("application_name", "forkflux")
    if env.boolean("FORKFLUX_PREPARED_STATEMENTS", default=True):
        # The server plans a statement once per connection instead of at each call. Only statements whose
        # values travel apart from their text can be prepared, hence the binding on the server's side.
        # A pooler between here and the server that hands a connection to another client after each
        # transaction must know about prepared statements (pgbouncer since 1.21), else switch this off.
        options["prepare_threshold"] = 5
        options["server_side_binding"] = True
    return {**parsed, "OPTIONS": options, **_connections(options, threads=threads)}


def _connections(options: dict[str, Any], *, threads: int) -> dict[str, Any]:
    """How connections last, in one place: one per lasting thread, or a pool per process.

    Measured on one statement per request: 0.07 ms of processor time with lasting connections, 0.09 ms
    with the pool. Both need as many connections as there are threads, since a request's connection is
    its own until the answer is made.
    """
    if env.choice("FORKFLUX_CONNECTIONS", "lasting", ("lasting", "pool")) == "lasting":
        # Whether a connection still works is found out by using it (core.transactions), not by asking first.
        return {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": False}
    options["pool"] = {
        "min_size": 1,
        "max_size": threads + _CONNECTIONS_BESIDE_REQUESTS,
        "timeout": 5,
        "max_lifetime": 3_600,
    }
    return {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": True}
