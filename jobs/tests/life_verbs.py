"""Each verb that takes a job and perhaps a reason as one call, on the real board and on the model."""

from __future__ import annotations

from collections.abc import Callable

from core.actors import Actor
from jobs.models import Job
from jobs.services.blocking import block, resume, unblock
from jobs.services.closing import cancel, complete, fail, restart
from jobs.services.holding import hold, unhold
from jobs.services.returning import release, requeue
from jobs.tests.model import Board
from jobs.tests.model_table import TABLE, ModelJob, Refused, Who

REAL: dict[str, Callable[[int, Actor, int | None, str | None], Job]] = {
    "complete": lambda job_id, actor, generation, reason: complete(
        job_id=job_id, actor=actor, lease_generation=generation, result_summary=reason
    ),
    "fail": lambda job_id, actor, generation, reason: fail(
        job_id=job_id, actor=actor, lease_generation=generation, failure_reason=reason
    ),
    "block": lambda job_id, actor, generation, reason: block(
        job_id=job_id, actor=actor, lease_generation=generation, blocked_reason=reason
    ),
    "unblock": lambda job_id, actor, generation, reason: unblock(
        job_id=job_id, actor=actor, lease_generation=generation, unblock_reason=reason or ""
    ),
    "resume": lambda job_id, actor, generation, _: resume(
        job_id=job_id, actor=actor, lease_generation=generation
    ),
    "release": lambda job_id, actor, generation, reason: release(
        job_id=job_id, actor=actor, lease_generation=generation, reason=reason
    ),
    "cancel": lambda job_id, actor, generation, reason: cancel(
        job_id=job_id, actor=actor, lease_generation=generation, reason=reason
    ),
    "restart": lambda job_id, actor, _, __: restart(job_id=job_id, actor=actor),
    "requeue": lambda job_id, actor, _, reason: requeue(job_id=job_id, actor=actor, reason=reason),
    "hold": lambda job_id, actor, _, reason: hold(job_id=job_id, actor=actor, reason=reason),
    "unhold": lambda job_id, actor, _, reason: unhold(job_id=job_id, actor=actor, reason=reason),
}
_VERB_TO = {
    "in_progress": "resume",
    "published": "release",
    "completed": "complete",
    "failed": "fail",
    "blocked": "block",
    "unblocked": "unblock",
    "cancelled": "cancel",
}
_VERB_FROM_FAILED_TO = {"in_progress": "restart", "published": "requeue"}


def ideal(
    model: Board, verb: str | None, who: Who, job: ModelJob, *, generation: int | None, reason: str | None
) -> None:
    """The verb on the model."""
    if verb is None:
        raise Refused("wrong_status")
    if verb in ("restart", "requeue"):
        getattr(model, verb)(who, job)
    elif verb in ("hold", "unhold"):
        model.hold(who, job, on_hold=verb == "hold")
    elif verb in ("resume", "release"):
        getattr(model, verb)(who, job, generation)
    else:
        getattr(model, verb)(who, job, generation, reason)


def verb_to(status: str, job: ModelJob) -> str | None:
    """Which verb is meant by naming the state that the job should be in; None: none leads there."""
    if job.status == "failed" and status in _VERB_FROM_FAILED_TO:
        return _VERB_FROM_FAILED_TO[status]
    return _VERB_TO.get(status)


def fitting(verbs: tuple[str, ...], job: ModelJob, pick: int) -> str:
    """One of the verbs, if possible one that starts where the job is."""
    possible = [verb for verb in verbs if job.status in TABLE[verb]] or list(verbs)
    return possible[pick % len(possible)]
