"""Ending work: complete, fail, restart, cancel."""

from __future__ import annotations

from typing import Any

from core.actors import Actor
from core.transactions import write_transaction
from jobs import transitions
from jobs.authority import require, state_of
from jobs.errors import RetryBudgetUsed
from jobs.lifecycle import Verb
from jobs.models import Job
from jobs.services.limits import lock_agent_when_limited, require_room


@write_transaction
def complete(
    *,
    job_id: int,
    actor: Actor,
    result_summary: str | None = None,
    result: Any = None,
    lease_generation: int | None = None,
) -> Job:
    """Finish a held job with what was delivered."""
    job = transitions.lock(job_id)
    require(job, Verb.COMPLETE, actor, lease_generation=lease_generation)
    payload: dict[str, Any] = {"lease_generation": job.lease_generation}
    if result_summary is not None:
        payload["result_summary"] = result_summary
    transitions.move(
        job,
        Verb.COMPLETE,
        actor=actor,
        event_type="task_completed",
        payload=payload,
        result_summary=result_summary,
        result=result,
    )
    return job


@write_transaction
def fail(
    *, job_id: int, actor: Actor, failure_reason: str | None, lease_generation: int | None = None
) -> Job:
    """Give a held job up as failed. The last holder may restart it, its source or a person requeue it."""
    job = transitions.lock(job_id)
    require(job, Verb.FAIL, actor, lease_generation=lease_generation)
    transitions.move(
        job,
        Verb.FAIL,
        actor=actor,
        event_type="task_failed",
        payload={"failure_reason": failure_reason, "lease_generation": job.lease_generation},
        reason=failure_reason,
    )
    return job


@write_transaction
def restart(*, job_id: int, actor: Actor, lease_seconds: int | None = None) -> Job:
    """Take up again a job that the caller failed: counts a retry, opens a lease of a new generation."""
    lock_agent_when_limited(actor)
    job = transitions.lock(job_id)
    require(job, Verb.RESTART, actor)
    if job.retry_count >= job.max_retries:
        raise RetryBudgetUsed(retry_count=job.retry_count, max_retries=job.max_retries, **state_of(job))
    require_room(job, actor)
    retry_count = job.retry_count + 1
    seconds = lease_seconds or job.target_role.lease_seconds
    transitions.move(
        job,
        Verb.RESTART,
        actor=actor,
        event_type="task_restarted",
        payload={"retry_count": retry_count, "lease_generation": job.lease_generation + 1},
        retry_count=retry_count,
        lease_expiry_count=0,
        lease_generation=job.lease_generation + 1,
        last_holder_id=actor.agent_id,
        **transitions.lease_columns(now=job.db_now, seconds=seconds, session=actor.session),
    )
    return job


@write_transaction
def cancel(
    *, job_id: int, actor: Actor, reason: str | None = None, lease_generation: int | None = None
) -> Job:
    """End a job for good. Whoever holds it is told by its next call."""
    job = transitions.lock(job_id)
    require(job, Verb.CANCEL, actor, lease_generation=lease_generation)
    transitions.move(
        job,
        Verb.CANCEL,
        actor=actor,
        event_type="task_cancelled",
        payload={"reason": reason},
        reason=reason,
    )
    return job
