"""A change of status named by its target: which verb that is, from where the job stands."""

from __future__ import annotations

from typing import Any

from core.actors import Actor
from core.transactions import write_transaction
from jobs.authority import advice_from, state_of
from jobs.errors import WrongStatus
from jobs.lifecycle import Status
from jobs.models import Job
from jobs.selectors import get_job
from jobs.services.blocking import block, resume, unblock
from jobs.services.closing import cancel, complete, fail, restart
from jobs.services.returning import release, requeue


@write_transaction
def change_status(
    *,
    job_id: int,
    actor: Actor,
    status: Status,
    failure_reason: str | None = None,
    blocked_reason: str | None = None,
    unblock_reason: str | None = None,
    reason: str | None = None,
    result_summary: str | None = None,
    result: Any = None,
    lease_generation: int | None = None,
) -> Job:
    """Use the verb that leads to the wanted status.

    `in_progress` is resume, or restart of a failed job; `published` is release, or requeue of a failed
    job by its source; no verb leads to `pending`.
    """
    if status is Status.COMPLETED:
        return complete(
            job_id=job_id,
            actor=actor,
            result_summary=result_summary,
            result=result,
            lease_generation=lease_generation,
        )
    if status is Status.FAILED:
        return fail(
            job_id=job_id, actor=actor, failure_reason=failure_reason, lease_generation=lease_generation
        )
    if status is Status.BLOCKED:
        return block(
            job_id=job_id, actor=actor, blocked_reason=blocked_reason, lease_generation=lease_generation
        )
    if status is Status.UNBLOCKED:
        return unblock(
            job_id=job_id, actor=actor, unblock_reason=unblock_reason or "", lease_generation=lease_generation
        )
    if status is Status.CANCELLED:
        return cancel(job_id=job_id, actor=actor, reason=reason, lease_generation=lease_generation)
    # Which verb is meant depends on where the job stands. Should that change before the verb has its
    # lock, the verb refuses: it decides again.
    job = get_job(job_id)
    if status is Status.IN_PROGRESS and job.state is Status.FAILED:
        return restart(job_id=job_id, actor=actor)
    if status is Status.IN_PROGRESS:
        return resume(job_id=job_id, actor=actor, lease_generation=lease_generation)
    if status is Status.PUBLISHED and job.state is Status.FAILED:
        return requeue(job_id=job_id, actor=actor, reason=reason)
    if status is Status.PUBLISHED:
        return release(job_id=job_id, actor=actor, reason=reason, lease_generation=lease_generation)
    raise WrongStatus(verb="a change to pending", advice=advice_from(job.state), **state_of(job))
