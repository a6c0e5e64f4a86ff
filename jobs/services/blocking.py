"""Waiting for an answer: block, unblock, resume."""

from __future__ import annotations

from core.actors import Actor
from core.transactions import write_transaction
from jobs import transitions
from jobs.authority import require
from jobs.lifecycle import Status, Verb
from jobs.models import Job


@write_transaction
def block(
    *, job_id: int, actor: Actor, blocked_reason: str | None, lease_generation: int | None = None
) -> Job:
    """Say that work cannot go on without an answer. No lease runs meanwhile; the generation stays."""
    job = transitions.lock(job_id)
    require(job, Verb.BLOCK, actor, lease_generation=lease_generation)
    transitions.move(
        job,
        Verb.BLOCK,
        actor=actor,
        event_type="task_blocked",
        payload={"blocked_reason": blocked_reason, "lease_generation": job.lease_generation},
        reason=blocked_reason,
    )
    return job


@write_transaction
def unblock(*, job_id: int, actor: Actor, unblock_reason: str, lease_generation: int | None = None) -> Job:
    """Answer a blocked job. A lease opens, so that a holder who is gone loses the job."""
    job = transitions.lock(job_id)
    require(job, Verb.UNBLOCK, actor, lease_generation=lease_generation)
    transitions.move(
        job,
        Verb.UNBLOCK,
        actor=actor,
        event_type="task_unblocked",
        payload={"unblock_reason": unblock_reason},
        reason=unblock_reason,
        **transitions.lease_columns(
            now=job.db_now,
            seconds=job.lease_seconds or job.target_role.lease_seconds,
            session=job.lease_session,
        ),
    )
    return job


@write_transaction
def resume(*, job_id: int, actor: Actor, lease_generation: int | None = None) -> Job:
    """Go on with a blocked or unblocked job: a new lease term of the same generation."""
    job = transitions.lock(job_id)
    require(job, Verb.RESUME, actor, lease_generation=lease_generation)
    transitions.move(
        job,
        Verb.RESUME,
        actor=actor,
        event_type="task_started",
        payload={"lease_generation": job.lease_generation},
        target=Status.IN_PROGRESS,
        **transitions.lease_columns(
            now=job.db_now,
            seconds=job.lease_seconds or job.target_role.lease_seconds,
            session=actor.session or job.lease_session,
        ),
    )
    return job
