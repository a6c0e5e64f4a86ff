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
from events.record import Head, append
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

_FIELDS = {field.attname: field for field in Job._meta.concrete_fields}


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
    job.published_at = moment.now
    _append(job, moment, actor, "task_published", payload, previous_status=None)
    job.save(force_insert=True)


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
    _update(job, {"lease_expires_at": lease_expires_at}, job.status, job.lease_generation)
    job.lease_expires_at = lease_expires_at


def amend(
    job: Job, *, actor: Actor, event_type: str | None, payload: dict[str, Any] | None = None, **columns: Any
) -> None:
    """Change columns of the locked job other than its status, with an event unless the change is untold."""
    if "status" in columns:
        raise AssertionError("a status moves along an arrow")
    told = {"timestamp": iso(job.db_now)} | (payload or {})
    _write(job, columns, actor=actor, event_type=event_type, payload=told)


def _write(
    job: Job, changes: dict[str, Any], *, actor: Actor, event_type: str | None, payload: dict[str, Any]
) -> None:
    previous, generation = job.status, job.lease_generation
    job.previous_status = previous
    for column, value in changes.items():
        setattr(job, column, value)
    if event_type is not None:
        job.updated_at = job.db_now
        changes = changes | {"updated_at": job.db_now}
        changes |= _append(job, moment_of(job), actor, event_type, payload, previous_status=previous)
    _update(job, changes, previous, generation)


def _append(
    job: Job,
    moment: Moment,
    actor: Actor,
    event_type: str,
    payload: dict[str, Any],
    *,
    previous_status: str | None,
) -> dict[str, Any]:
    head = append(
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
    job.event_sequence, job.event_hash, job.event_feed_tx = head.sequence, head.hash, head.feed_tx
    return {"event_sequence": head.sequence, "event_hash": head.hash, "event_feed_tx": head.feed_tx}


@functools.lru_cache(maxsize=64)
def _update_sql(columns: tuple[str, ...]) -> str:
    assignments = ", ".join(f"{_FIELDS[column].column} = %s" for column in columns)
    return (
        f"UPDATE {Job._meta.db_table} SET {assignments} "  # noqa: S608 - names of our own columns
        "WHERE id = %s AND status = %s AND lease_generation = %s"
    )


def _update(job: Job, changes: dict[str, Any], previous: str, generation: int) -> None:
    # The row is locked, so this matches; on a database that silently dropped the lock, a change that
    # slipped in turns into an error here instead of being overwritten.
    columns = tuple(changes)
    values = [_FIELDS[column].get_db_prep_save(changes[column], connection) for column in columns]
    with connection.cursor() as cursor:
        cursor.execute(_update_sql(columns), [*values, job.pk, previous, generation])
        if cursor.rowcount != 1:
            raise AssertionError(f"job {job.pk} changed while it was locked")
