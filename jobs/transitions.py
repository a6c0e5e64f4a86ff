"""The one writer: locks a job, moves it along the life table, and records the event, in one transaction.

Nothing else assigns a job's status. Every function here must run inside `write_transaction`.
"""

from __future__ import annotations

import functools
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from core.actors import Actor
from core.clock import Moment, iso
from core.fields import JSONTextField
from core.rows import RowWriter
from events.record import Head, Link, keep_head, link, write
from jobs.errors import JobNotFound
from jobs.lifecycle import HELD, LEASED, Status, Verb, arrow_from
from jobs.locking import locked
from jobs.models import Job

# What each state tells while it lasts: cleared by every change of status, then set for the new state.
_TOLD = {
    "failed_at": None,
    "failure_reason": None,
    "blocked_at": None,
    "blocked_reason": None,
    "unblocked_at": None,
    "unblock_reason": None,
    "cancelled_at": None,
    "cancel_reason": None,
}
_TIME_OF = {
    Status.IN_PROGRESS: "started_at",
    Status.COMPLETED: "completed_at",
    Status.FAILED: "failed_at",
    Status.BLOCKED: "blocked_at",
    Status.UNBLOCKED: "unblocked_at",
    Status.CANCELLED: "cancelled_at",
}
_REASON_OF = {
    Status.FAILED: "failure_reason",
    Status.BLOCKED: "blocked_reason",
    Status.UNBLOCKED: "unblock_reason",
    Status.CANCELLED: "cancel_reason",
}
_NO_LEASE: dict[str, Any] = {"lease_expires_at": None}
_LEASE_CLOSED = _NO_LEASE | {"lease_seconds": None, "lease_heartbeat_at": None, "lease_session": None}

_ROWS = RowWriter(Job)
_JSON = frozenset(field.attname for field in Job._meta.concrete_fields if isinstance(field, JSONTextField))
_HEAD = ("event_sequence", "event_hash", "event_feed_tx")


def lock(job_id: int) -> Job:
    """The job, locked until the transaction ends, with everything as it is under the lock; JobNotFound."""
    for job in locked("j.id = %s", [job_id], skip_locked=True):
        return job
    # Not there, or somebody else has it locked. A statement that waited for its lock shows the clock and the
    # role of before the wait: a claim would not see that its role was paused meanwhile. So wait, then look.
    if locked("j.id = %s", [job_id]):
        for job in locked("j.id = %s", [job_id]):
            return job
    raise JobNotFound


def moment_of(job: Job) -> Moment:
    return Moment(job.db_now, job.db_transaction)


def lease_columns(*, now: datetime, seconds: int, session: str | None) -> dict[str, Any]:
    """A lease that starts now. `session` binds it to the client's process when that named itself."""
    return {
        "lease_seconds": seconds,
        "lease_expires_at": now + timedelta(seconds=seconds),
        "lease_heartbeat_at": now,
        "lease_session": session,
    }


def publish(job: Job, *, moment: Moment, actor: Actor, payload: dict[str, Any]) -> None:
    """Insert a new job as published, with its first event. The caller has given it its id."""
    job.status = Status.PUBLISHED
    job.published_at = job.status_changed_at = moment.now
    event = _link(job, moment, actor, "task_published", payload, previous_status=None)
    write(event)
    names = {name: getattr(job, name) for name in _ROWS.names}
    with connection.cursor() as cursor:
        cursor.execute(_insert_sql(), _ROWS.values(names))


def move(
    job: Job,
    verb: Verb,
    *,
    actor: Actor,
    event_type: str,
    payload: dict[str, Any] | None = None,
    reason: str | None = None,
    target: Status | None = None,
    **columns: Any,
) -> None:
    """Follow the verb's arrow from where the locked job is, and tell so.

    Assignee, lease and generation follow from the states: what leaves the held states loses its holder
    and its lease, and every loss raises the generation, so that the former holder's writes are refused.
    `columns` adds what only the verb knows. `target` overrides the arrow's end (an expiry that fails).
    """
    previous = job.state
    arrow = arrow_from(verb, previous)
    if arrow is None or arrow.target is None:
        raise AssertionError(f"{verb} does not move a job that is {previous}")
    status = target or arrow.target
    now = job.db_now
    changes: dict[str, Any] = dict(_TOLD)
    changes["status"] = str(status)
    changes["status_changed_at"] = now
    if status in _TIME_OF:
        changes[_TIME_OF[status]] = now
    if status in _REASON_OF:
        changes[_REASON_OF[status]] = reason
    if status is Status.PUBLISHED:
        changes |= {"assignee_agent_id": None, "lease_generation": job.lease_generation + 1} | _LEASE_CLOSED
    elif status is Status.CANCELLED and previous in HELD:
        changes |= {"lease_generation": job.lease_generation + 1} | _LEASE_CLOSED
    elif status is Status.BLOCKED:
        changes |= _NO_LEASE
    elif status not in LEASED:
        changes |= _LEASE_CLOSED
    if status not in HELD and previous in HELD and actor.agent_id != job.assignee_agent_id:
        changes["lost_session"] = job.lease_session
    changes |= columns
    told = {"timestamp": iso(now)} | (payload or {})
    _write(job, changes, actor=actor, event_type=event_type, payload=told)


def renew(job: Job, *, lease_expires_at: datetime) -> None:
    """Extend the locked job's lease. Not an event: a sign of life is not a fact about the work."""
    _update(job, {"lease_expires_at": lease_expires_at}, job.status, job.lease_generation, None)
    job.lease_expires_at = lease_expires_at


def amend(
    job: Job, *, actor: Actor, event_type: str | None, payload: dict[str, Any] | None = None, **columns: Any
) -> None:
    """Change columns of the locked job other than its status, with an event unless the change is untold."""
    if "status" in columns:
        raise AssertionError("a status moves along an arrow")
    told = {"timestamp": iso(job.db_now)} | (payload or {})
    _write(job, columns, actor=actor, event_type=event_type, payload=told)


def delete(job: Job, *, actor: Actor) -> None:
    """Delete the locked job with its labels and artifacts. Its trail ends with that, and keeps its head."""
    payload = {"timestamp": iso(job.db_now), "summary": job.summary}
    event = _link(job, moment_of(job), actor, "task_deleted", payload, previous_status=job.status)
    write(event)
    keep_head(job.stream, event.head)
    job.delete()


def _write(
    job: Job, changes: dict[str, Any], *, actor: Actor, event_type: str | None, payload: dict[str, Any]
) -> None:
    previous, generation = job.status, job.lease_generation
    job.previous_status = previous
    # JSON is written whole: to Python, true and 1 are equal.
    changes = {name: value for name, value in changes.items() if name in _JSON or getattr(job, name) != value}
    for name, value in changes.items():
        setattr(job, name, value)
    event = None
    if event_type is not None:
        job.updated_at = job.db_now
        event = _link(job, moment_of(job), actor, event_type, payload, previous_status=previous)
        changes["updated_at"] = job.db_now
        changes |= {name: getattr(job, name) for name in _HEAD}
    if changes:
        _update(job, changes, previous, generation, event)


def _link(
    job: Job,
    moment: Moment,
    actor: Actor,
    event_type: str,
    payload: dict[str, Any],
    *,
    previous_status: str | None,
) -> Link:
    """The next event of the job's stream; the job's row, once written, is its head."""
    event = link(
        stream=job.stream,
        head=Head(job.event_sequence, job.event_hash, job.event_feed_tx),
        moment=moment,
        actor=actor,
        event_type=event_type,
        payload=payload,
        job_id=job.pk,
        previous_status=previous_status,
        current_status=str(job.status),
    )
    job.event_sequence, job.event_hash, job.event_feed_tx = (
        event.head.sequence,
        event.head.hash,
        event.head.feed_tx,
    )
    return event


@functools.lru_cache(maxsize=256)
def _update_sql(names: tuple[str, ...]) -> str:
    assignments = ", ".join(f"{_ROWS.column(name)} = %s" for name in names)
    return (
        f"UPDATE {_ROWS.table} SET {assignments} "  # noqa: S608 - names of our own columns
        "WHERE id = %s AND status = %s AND lease_generation = %s"
    )


@functools.lru_cache(maxsize=1)
def _insert_sql() -> str:
    return _ROWS.insert_sql(_ROWS.names)


def _update(job: Job, changes: dict[str, Any], previous: str, generation: int, event: Link | None) -> None:
    """Write the columns, and the event if there is one: on PostgreSQL in one statement."""
    sql, values = _update_sql(tuple(changes)), [*_ROWS.values(changes), job.pk, previous, generation]
    if event is not None:
        if connection.vendor == "postgresql":
            sql, values = f"WITH event AS ({event.insert_sql}) {sql}", event.values + values
        else:
            write(event)
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        # The row is locked, so this matches; on a database that silently dropped the lock, a change that
        # slipped in turns into an error here instead of being overwritten.
        if cursor.rowcount != 1:
            raise AssertionError(f"job {job.pk} changed while it was locked")
