"""One verb on the real board and on the model, and all that both must agree on afterwards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from django.db import connection

from core.clock import as_datetime, database_moment
from core.errors import DomainError
from jobs.tests.model import Board
from jobs.tests.model_table import SYSTEMS_WORDS, Fact, ModelJob, Refused

T = TypeVar("T")

# How far a lease's end may be from the model's: the real seconds that an example takes.
TOLERANCE = timedelta(seconds=30)
TOLD = {
    "failed": ("failed_at", "failure_reason"),
    "blocked": ("blocked_at", "blocked_reason"),
    "unblocked": ("unblocked_at", "unblock_reason"),
    "cancelled": ("cancelled_at", "cancel_reason"),
}


Row = dict[str, Any]


class Agreement:
    """A model, and the rows that must look like it: all jobs of some roles, in order of publication.

    `agents` tells by which name the model knows the agent of an id. Rows are read as the database has them:
    every column, at every step.
    """

    def __init__(self, model: Board, role_ids: list[int], agents: Mapping[int, str]) -> None:
        self.model = model
        self.role_ids = role_ids
        self.agents = agents
        self.ids: list[int] = []
        self.trails: dict[int, list[Row]] = {}
        self._last_event = 0

    def play(self, real: Callable[[], T], ideal: Callable[[], object]) -> T | None:
        """Do it on both; None when both refuse it. AssertionError when they differ in anything."""
        before = self._rows()
        refusal = _refusal(ideal)
        answer: T | None = None
        error: DomainError | None = None
        try:
            answer = real()
        except DomainError as refused:
            error = refused
        if error is None:
            assert refusal is None, f"allowed what the rules refuse: {refusal}"
            self.check()
            return answer
        assert refusal is not None, f"{error.code} refuses what the rules allow: {error}"
        assert error.code in refusal.codes, f"{error.code} where the rules say {refusal}: {error}"
        if refusal.reasons:
            assert error.data["reason"] in refusal.reasons
        assert self._rows() == before, "a refused verb changed a job"
        assert not self._new_events(), "a refused verb wrote an event"
        return None

    def check(self) -> None:
        """Every job looks like its model, and its trail grew by exactly what the model tells."""
        rows = self._rows()
        self.ids = [row["id"] for row in rows]
        now = database_moment().now
        for event in self._new_events():
            self._link(event)
        assert len(rows) == len(self.model.jobs)
        for row, job in zip(rows, self.model.jobs, strict=True):
            assert _seen(row, self.agents) == _wanted(job), f"job number {job.number}"
            trail = self.trails.get(row["id"], [])
            assert [self._fact(event) for event in trail] == job.trail, f"job number {job.number}"
            assert (row["event_sequence"], row["event_hash"]) == (len(trail), trail[-1]["hash"])
            if job.lease_until is None:
                assert row["lease_expires_at"] is None
            else:
                left = timedelta(seconds=job.lease_until - self.model.clock)
                assert abs(as_datetime(row["lease_expires_at"]) - now - left) < TOLERANCE, (
                    f"job number {job.number}"
                )

    def _rows(self) -> list[Row]:
        marks = ", ".join(["%s"] * len(self.role_ids))
        return _read(f"SELECT * FROM jobs_job WHERE target_role_id IN ({marks}) ORDER BY id", self.role_ids)

    def _new_events(self) -> list[Row]:
        marks = ", ".join(["%s"] * len(self.role_ids))
        return _read(
            "SELECT e.* FROM events_event e JOIN jobs_job j ON j.id = e.job_id "
            f"WHERE e.id > %s AND j.target_role_id IN ({marks}) ORDER BY e.id",
            [self._last_event, *self.role_ids],
        )

    def _link(self, event: Row) -> None:
        """The event is chained to the one before it, and its text is what its hash is of."""
        trail = self.trails.setdefault(event["job_id"], [])
        assert event["previous_hash"] == (trail[-1]["hash"] if trail else "")
        assert event["hash"] == hashlib.sha256(event["canonical"].encode()).hexdigest()
        told = json.loads(event["canonical"])
        for name in ("sequence", "event_type", "job_id", "previous_status", "current_status"):
            assert told[name] == event[name]
        trail.append(event)
        self._last_event = event["id"]

    def _fact(self, event: Row) -> Fact:
        name = self.agents.get(event["actor_agent_id"], event["actor_name"])
        return Fact(
            event["sequence"],
            event["event_type"],
            (event["actor_kind"], name),
            event["previous_status"],
            event["current_status"],
        )


def _read(sql: str, parameters: list[int]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _refusal(ideal: Callable[[], object]) -> Refused | None:
    try:
        ideal()
    except Refused as refused:
        return refused
    return None


def _seen(row: Row, agents: Mapping[int, str]) -> Row:
    told = {
        status: row[reason] for status, (at, reason) in TOLD.items() if row[at] is not None or row[reason]
    }
    return {
        "status": row["status"],
        "assignee": agents.get(row["assignee_agent_id"]),
        "generation": row["lease_generation"],
        "retries": row["retry_count"],
        "expiries": row["lease_expiry_count"],
        "told": {status: _whose(reason) for status, reason in told.items()},
        "result_summary": row["result_summary"],
        "on_hold": bool(row["on_hold"]),
        "progress": (row["progress_percent"], row["progress_note"]),
        "version": row["version"],
        "context": json.loads(row["context_payload"])["text"],
        "constraints": tuple(json.loads(row["constraints"])),
        "session": row["lease_session"],
        "started": row["started_at"] is not None,
    }


def _wanted(job: ModelJob) -> Row:
    return {
        "status": job.status,
        "assignee": job.assignee,
        "generation": job.generation,
        "retries": job.retry_count,
        "expiries": job.expiry_count,
        "told": {job.status: job.reason} if job.status in TOLD else {},
        "result_summary": job.result_summary,
        "on_hold": job.on_hold,
        "progress": (job.percent, job.note),
        "version": job.version,
        "context": job.context,
        "constraints": job.constraints,
        "session": job.session,
        "started": any(fact.current == "in_progress" for fact in job.trail),
    }


def _whose(reason: str | None) -> str | None:
    """The system's sentences are its own business; that there is one is not."""
    return SYSTEMS_WORDS if reason and reason.startswith(("The lease expired", "Nobody claimed")) else reason
