"""The board as the benchmark fills it: published copies of a real job, made inside the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from bench.processes import KNOWN, parent_of

TABLE = "jobs_job"

COLUMNS_SQL = {
    "postgresql": (
        "SELECT column_name FROM information_schema.columns "
        f"WHERE table_schema = current_schema() AND table_name = '{TABLE}' ORDER BY ordinal_position"
    ),
    "sqlite": f"SELECT name FROM pragma_table_info('{TABLE}') ORDER BY cid",
}
"""Answers one row for each column of the job table, its name."""

ANALYZE_SQL = {"postgresql": f"VACUUM (ANALYZE) {TABLE}", "sqlite": "ANALYZE"}

# Times of publication that grow with the id, so that the claim's order is the order in which they were made,
# as on a real board. Django's form of a time on SQLite, which has milliseconds only.
_CREATED = {
    "postgresql": "statement_timestamp() + n * interval '1 microsecond'",
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds', n / 100000.0))",
}
_NUMBERS = {
    "postgresql": "generate_series(1, {count}) AS numbers(n)",
    "sqlite": (
        "(WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {count}) "
        "SELECT n FROM counted) AS numbers"
    ),
}


def copies_sql(columns: Sequence[str], *, database: str, job_id: int, count: int) -> str:
    """The statement that inserts `count` claimable copies of a published job, each with an id of its own.

    `columns` are those of the job table, `database` is "postgresql" or "sqlite". The copies keep the head
    of the original's trail, so the next event of each is its second, as after a publication; the first
    one is not written.
    """
    overrides = {
        # Over all four of them, so that the first key of the claim's order counts.
        "priority": "10 * (1 + n % 4)",
        "created_at": _CREATED[database],
        "on_hold": "FALSE",
    }
    copied = [column for column in columns if column != "id"]
    unknown = sorted(set(overrides) - set(copied))
    if unknown:
        raise ValueError(f"{TABLE} has no column {unknown[0]}; it has: {', '.join(columns)}")
    values = ", ".join(overrides.get(column, f"job.{column}") for column in copied)
    numbers = _NUMBERS[database].format(count=int(count))
    return (
        f"INSERT INTO {TABLE} ({', '.join(copied)}) SELECT {values} FROM {TABLE} AS job, {numbers} "
        f"WHERE job.id = {int(job_id)} ORDER BY n"
    )


class Board:
    """The jobs of an installation, counted and filled up behind the server's back.

    `masters` holds, by role id, the id of a job of that role which is published but on hold, so that it is
    never claimed: copies are made of it.
    """

    def __init__(self, database_url: str, masters: dict[int, int]) -> None:
        self.masters = masters
        self._connection: Any
        if database_url.startswith("sqlite"):
            self.database = "sqlite"
            self._connection = sqlite3.connect(
                Path(urlsplit(database_url).path.removeprefix("/")), timeout=60, isolation_level=None
            )
        else:
            self.database = "postgresql"
            self._connection = psycopg.connect(database_url, autocommit=True)
        self._columns = [row[0] for row in self._rows(COLUMNS_SQL[self.database])]

    def published(self, role_id: int) -> int:
        """How many jobs of the role can be claimed."""
        [[count]] = self._rows(
            f"SELECT COUNT(*) FROM {TABLE} WHERE target_role_id = {role_id} AND status = 'published' "
            "AND NOT on_hold AND NOT is_deferred"
        )
        return int(count)

    def fill(self, role_id: int, count: int) -> None:
        """Have at least `count` jobs of the role that can be claimed."""
        missing = count - self.published(role_id)
        if missing > 0:
            self.add(role_id, missing)

    def add(self, role_id: int, count: int) -> None:
        """Publish `count` more jobs of the role."""
        self._connection.execute(
            copies_sql(self._columns, database=self.database, job_id=self.masters[role_id], count=count)
        )

    def analyze(self) -> None:
        """Let the planner know what is there."""
        self._connection.execute(ANALYZE_SQL[self.database])

    def server_root(self) -> int | None:
        """Process id of the database server, the parent of its sessions; None on SQLite, and without /proc."""
        if self.database == "sqlite" or not KNOWN:
            return None
        [[session]] = self._rows("SELECT pg_backend_pid()")
        return parent_of(session)

    def version(self) -> str:
        """Name and version of the database."""
        if self.database == "sqlite":
            return f"SQLite {sqlite3.sqlite_version}"
        [[version]] = self._rows("SHOW server_version")
        return f"PostgreSQL {version}"

    def close(self) -> None:
        """Leave the database."""
        self._connection.close()

    def _rows(self, statement: str) -> list[Any]:
        return list(self._connection.execute(statement).fetchall())
