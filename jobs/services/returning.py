"""Back to the board: release by the holder, requeue by the source or a person."""

from __future__ import annotations

from core.actors import Actor
from core.transactions import write_transaction
from jobs import transitions
from jobs.authority import owner_of, require
from jobs.lifecycle import HELD, Verb
from jobs.models import Job


@write_transaction
def release(
    *, job_id: int, actor: Actor, reason: str | None = None, lease_generation: int | None = None
) -> Job:
    """Give a held job back without failing it."""
    job = transitions.lock(job_id)
    require(job, Verb.RELEASE, actor, lease_generation=lease_generation)
    transitions.move(
        job,
        Verb.RELEASE,
        actor=actor,
        event_type="task_released",
        payload={"reason": reason, "lease_generation": job.lease_generation},
    )
    return job


@write_transaction
def requeue(*, job_id: int, actor: Actor, reason: str | None = None) -> Job:
    """Put a failed job, or as a person any held one, back on the board. This is how a stuck job is freed."""
    job = transitions.lock(job_id)
    require(job, Verb.REQUEUE, actor)
    put_back(job, actor=actor, reason=reason)
    return job


def put_back(job: Job, *, actor: Actor, reason: str | None) -> None:
    """Move a locked job to the board, away from whoever holds it."""
    transitions.move(
        job,
        Verb.REQUEUE,
        actor=actor,
        event_type="task_requeued",
        payload={
            "reason": reason,
            "taken_from": owner_of(job) if job.state in HELD else None,
            "lease_generation": job.lease_generation,
        },
        lease_expiry_count=0,
    )
