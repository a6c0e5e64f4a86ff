"""Looks at a board's database past the server, and takes locks in it as other software of the same database may.

Plain drivers, so that nothing here shares a mistake with the code that it watches.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import psycopg

T = TypeVar("T")
Row = dict[str, Any]

GENESIS = ""
# How far the database's clock and ours may be apart; SQLite's own ticks in milliseconds.
CLOCK_SECONDS = 0.005
_CLAIMS = ("task_claimed", "task_restarted")
_LOSSES = ("task_released", "task_lease_expired", "task_requeued", "task_failed", "task_completed",
           "task_cancelled")  # fmt: skip
_INSERT_ARTIFACT = (
    "INSERT INTO artifacts_artifact (artifact_type, artifact_uri, metadata_json, job_id, created_at) "
    "VALUES ('link', 'test:held', '{}', %s, CURRENT_TIMESTAMP)"
)


def eventually(look: Callable[[], T], *, seconds: float, what: str) -> T:
    """The first true thing that `look` gives; fails with `what` when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.01)


class Records:
    """A connection of its own to the database behind `url`; `%s` stands for a parameter on both kinds."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_postgresql = url.startswith("postgresql")
        self._connection: Any = self._connect()

    def _connect(self) -> Any:
        if self.is_postgresql:
            return psycopg.connect(self.url, autocommit=True)
        file = Path(self.url.removeprefix("sqlite:///"))
        connection = sqlite3.connect(file, timeout=30, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    def close(self) -> None:
        self._connection.close()

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        """All rows of a query."""
        return _rows(self._run(self._connection, sql, parameters))

    def value(self, sql: str, *parameters: Any) -> Any:
        """The first column of the first row."""
        return next(iter(self.rows(sql, *parameters)[0].values()))

    def change(self, sql: str, *parameters: Any) -> int:
        """Run a writing statement in a transaction of its own; how many rows it changed."""
        return int(self._run(self._connection, sql, parameters).rowcount)

    def _run(self, connection: Any, sql: str, parameters: Sequence[Any]) -> Any:
        return connection.execute(sql if self.is_postgresql else sql.replace("%s", "?"), parameters)

    # --- What is there ---------------------------------------------------------------------------

    def job(self, job_id: int) -> Row:
        """The job's row, with its times as datetimes."""
        [row] = self.rows("SELECT * FROM jobs_job WHERE id = %s", job_id)
        times = {
            name: moment(value) for name, value in row.items() if name.endswith("_at") and value is not None
        }
        return row | times

    def trail(self, job_id: int) -> list[Row]:
        """The job's events in their order, each with its `payload`."""
        events = self.rows("SELECT * FROM events_event WHERE job_id = %s ORDER BY sequence", job_id)
        for event in events:
            event["payload"] = json.loads(event["canonical"])["payload"]
        return events

    def story(self, job_id: int) -> list[str]:
        """The job's events by their kinds."""
        return [event["event_type"] for event in self.trail(job_id)]

    def stories(self, role: str) -> dict[int, list[Row]]:
        """The trails of all jobs of a role, by job."""
        trails: dict[int, list[Row]] = {
            row["id"]: []
            for row in self.rows(
                "SELECT j.id FROM jobs_job j JOIN roles_role r ON r.id = j.target_role_id "
                "WHERE r.role_key = %s ORDER BY j.id", role)
        }  # fmt: skip
        for event in self.rows(
            "SELECT e.* FROM events_event e JOIN jobs_job j ON j.id = e.job_id "
            "JOIN roles_role r ON r.id = j.target_role_id WHERE r.role_key = %s ORDER BY e.job_id, e.sequence",
            role,
        ):
            trails[event["job_id"]].append(event)
        return trails

    def states(self, role: str) -> dict[int, str]:
        """The status of each job of a role."""
        found = self.rows(
            "SELECT j.id, j.status FROM jobs_job j JOIN roles_role r ON r.id = j.target_role_id "
            "WHERE r.role_key = %s", role)  # fmt: skip
        return {row["id"]: row["status"] for row in found}

    def dump(self, job_id: int) -> dict[str, list[Row]]:
        """Everything about the job, and how much there is of all that a refused call must not add to."""
        counted = ("jobs_job", "artifacts_artifact", "events_event", "core_idempotencyrecord")
        return {
            "job": self.rows("SELECT * FROM jobs_job WHERE id = %s", job_id),
            "events": self.rows("SELECT * FROM events_event WHERE job_id = %s ORDER BY id", job_id),
            "labels": self.rows("SELECT * FROM jobs_joblabel WHERE job_id = %s ORDER BY id", job_id),
            "artifacts": self.rows("SELECT * FROM artifacts_artifact WHERE job_id = %s ORDER BY id", job_id),
            "counts": [self.rows(f"SELECT count(*) AS {table} FROM {table}")[0] for table in counted],
        }

    # --- What time it is -------------------------------------------------------------------------

    def age(self, table: str, column: str, row_id: int, *, seconds: float) -> None:
        """Make a time of a row earlier."""
        earlier = (
            f"{column} - make_interval(secs => %s)"
            if self.is_postgresql
            else f"strftime('%Y-%m-%d %H:%M:%f', {column}, '-' || %s || ' seconds')"
        )
        changed = self.change(f"UPDATE {table} SET {column} = {earlier} WHERE id = %s", seconds, row_id)
        assert changed == 1

    def end_lease(self, job_id: int, *, in_seconds: float) -> None:
        """Have the job's lease run out so long after now, by the database's clock."""
        moment = (
            "clock_timestamp() + make_interval(secs => %s)"
            if self.is_postgresql
            else "strftime('%Y-%m-%d %H:%M:%f', 'now', %s || ' seconds')"
        )
        sql = (
            f"UPDATE jobs_job SET lease_expires_at = {moment} WHERE id = %s AND lease_expires_at IS NOT NULL"
        )
        assert self.change(sql, in_seconds, job_id) == 1

    # --- Other people's transactions -------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self, *, end: str = "ROLLBACK") -> Iterator[Callable[..., Any]]:
        """An open transaction on a connection of its own, until the end of the block: `run(sql, *parameters)`."""
        connection = self._connect()
        try:
            connection.execute("BEGIN" if self.is_postgresql else "BEGIN IMMEDIATE")
            yield lambda sql, *parameters: self._run(connection, sql, parameters)
            connection.execute(end)
        finally:
            connection.close()

    @contextlib.contextmanager
    def referencing(self, job_ids: Sequence[int]) -> Iterator[None]:
        """An insert for each job that is not committed yet; it holds a foreign-key lock on the job's row."""
        with self.transaction() as run:
            for job_id in job_ids:
                run(_INSERT_ARTIFACT, job_id)
            if self.is_postgresql:
                # Else the reference would be checked, and the row locked, at the commit that never comes.
                run("SET CONSTRAINTS ALL IMMEDIATE")
            yield

    @contextlib.contextmanager
    def locking(self, job_ids: Sequence[int]) -> Iterator[None]:
        """The jobs' rows locked as for a change that then does not come. SQLite has one lock for all rows."""
        with self.transaction() as run:
            if self.is_postgresql:
                run("SELECT id FROM jobs_job WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", list(job_ids))
            yield

    @contextlib.contextmanager
    def table_locked(self, table: str) -> Iterator[None]:
        """A table that can be read and not written (PostgreSQL)."""
        with self.transaction() as run:
            run(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
            yield

    def await_waiters(self, number: int) -> None:
        """Return when so many connections wait for somebody else's lock (PostgreSQL)."""
        waiting = (
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        eventually(
            lambda: self.value(waiting) >= number, seconds=20, what=f"{number} calls that wait for a lock"
        )

    def await_blocked_by(self, process: int) -> None:
        """Return when somebody waits for a lock of the server process (PostgreSQL's `pg_backend_pid()`)."""
        blocked = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
        eventually(lambda: self.value(blocked, process), seconds=20, what=f"a call that waits for {process}")


def check_claims(trail: Sequence[Row]) -> int:
    """Fails when two claims stand in a trail without a loss between them; answers how many claims there are."""
    holder = None
    claims = 0
    for event in trail:
        kind = event["event_type"]
        if kind in _CLAIMS:
            assert holder is None, f"claimed while {holder} had it: {[one['event_type'] for one in trail]}"
            holder = event["actor_name"]
            claims += 1
        elif kind in _LOSSES:
            holder = None
    return claims


def check_nothing_was_left(trails: Mapping[int, Sequence[Row]], emptied: Sequence[float]) -> None:
    """Fails when a job was claimed that was there all the time while somebody was told that nothing is left.

    `emptied` are the moments at which such answers arrived, as `time.time()`; nothing was published, due
    or given back after the first of these calls began.
    """
    first = min(emptied)
    for job_id, trail in trails.items():
        claimed = max(moment(event["created_at"]) for event in trail if event["event_type"] in _CLAIMS)
        assert claimed.timestamp() < first + CLOCK_SECONDS, f"job {job_id} was overlooked"


def check_chains(records: Records) -> int:
    """Recompute every link of every stream and compare the heads; answers how many events there are."""
    heads: dict[str, tuple[int, str]] = {}
    events = records.rows("SELECT * FROM events_event ORDER BY stream, sequence")
    for event in events:
        sequence, previous = heads.get(event["stream"], (0, GENESIS))
        where = f"{event['stream']}#{event['sequence']}"
        told = json.loads(event["canonical"])
        assert event["sequence"] == sequence + 1 == told["sequence"], where
        assert event["previous_hash"] == previous == told["previous_hash"], where
        assert event["hash"] == hashlib.sha256(event["canonical"].encode()).hexdigest(), where
        for column in ("stream", "event_type", "job_id", "previous_status", "current_status"):
            assert event[column] == told[column], f"{where} {column}"
        heads[event["stream"]] = (event["sequence"], event["hash"])
    for job in records.rows("SELECT id, status, event_sequence, event_hash FROM jobs_job"):
        assert heads.pop(f"job:{job['id']}") == (job["event_sequence"], job["event_hash"]), job
    for head in records.rows("SELECT stream, sequence, hash FROM events_streamhead"):
        assert heads.pop(head["stream"]) == (head["sequence"], head["hash"]), head
    assert not heads, f"streams without a head: {sorted(heads)}"
    return len(events)


def _rows(cursor: Any) -> list[Row]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def moment(value: Any) -> datetime:
    """A time as either driver or the wire gives it, aware and in UTC."""
    found: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
