"""Recognises a database of the original ForkFlux, which must never be touched."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from django.core.management import CommandError

TABLES = frozenset({"alembic_version", "handoff_job"})


class ForeignDatabase(CommandError):
    """The database holds the tables of the original ForkFlux."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} is a database of the original ForkFlux; nothing in it was changed. Use another one: "
            "set DATABASE_URL, for example DATABASE_URL=sqlite:///forkflux-django.db."
        )


def refuse_original_tables(tables: set[str], *, where: str) -> None:
    """Raise ForeignDatabase if one of the tables is the original's."""
    if TABLES & tables:
        raise ForeignDatabase(where)


def refuse_original_file(path: Path) -> None:
    """Raise ForeignDatabase for an SQLite file of the original.

    Looks by itself and read-only: Django's connection would switch the file to another journal mode, which
    is a change already. What is no SQLite file at all is left for Django to complain about.
    """
    if not path.is_file():
        return
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as connection:
            tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except sqlite3.DatabaseError:
        return
    refuse_original_tables(tables, where=str(path))
