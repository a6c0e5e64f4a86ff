"""Published but not handed out: hold and unhold."""

from __future__ import annotations

from core.actors import Actor
from core.transactions import write_transaction
from jobs import transitions
from jobs.authority import require
from jobs.lifecycle import Verb
from jobs.models import Job


@write_transaction
def hold(*, job_id: int, actor: Actor, reason: str | None = None) -> Job:
    """Keep a published job from being handed out. Holding a held-back job again changes nothing."""
    return _set(job_id, actor, Verb.HOLD, on_hold=True, reason=reason)


@write_transaction
def unhold(*, job_id: int, actor: Actor, reason: str | None = None) -> Job:
    """Hand a held-back job out again."""
    return _set(job_id, actor, Verb.UNHOLD, on_hold=False, reason=reason)


def _set(job_id: int, actor: Actor, verb: Verb, *, on_hold: bool, reason: str | None) -> Job:
    job = transitions.lock(job_id)
    require(job, verb, actor)
    job.previous_status = job.status
    if job.on_hold != on_hold:
        transitions.amend(
            job,
            actor=actor,
            event_type="task_held" if on_hold else "task_unheld",
            payload={"reason": reason},
            on_hold=on_hold,
        )
    return job
