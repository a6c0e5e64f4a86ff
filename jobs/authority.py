"""May this actor use this verb on this job now? One answer, in the order that the contract fixes.

May the caller at all (403), then state, holder, generation (409). Called with the row locked.
"""

from __future__ import annotations

from typing import Any

from core.actors import Actor
from core.clock import iso
from core.errors import Forbidden
from events.models import Event
from jobs.errors import (
    AlreadyClaimed,
    JobCancelled,
    LeaseLost,
    NotHolder,
    NotSource,
    PersonsOnly,
    RoleNotHeld,
    WrongStatus,
)
from jobs.lifecycle import HELD, OPEN, Status, Verb, Who, allowed_from, arrow_from, arrows_of
from jobs.models import Job


def capacities(job: Job, actor: Actor) -> frozenset[Who]:
    """In which capacities an actor meets a job."""
    if not actor.is_agent:
        return frozenset({Who.PERSON if actor.is_person else Who.SYSTEM})
    found = set()
    if any(role.id == job.target_role_id for role in actor.roles.values()):
        found.add(Who.ROLE_HOLDER)
    if job.source_agent_id == actor.agent_id:
        found.add(Who.SOURCE)
    if job.assignee_agent_id == actor.agent_id:
        found.add(Who.HOLDER if job.state in HELD else Who.LAST_HOLDER)
    return frozenset(found)


def require(job: Job, verb: Verb, actor: Actor, *, lease_generation: int | None = None) -> None:
    """Return when the actor may use the verb now; raise the refusal that says why not otherwise."""
    mine = capacities(job, actor)
    may = {who for arrow in arrows_of(verb) for who in arrow.who}
    arrow = arrow_from(verb, job.state)
    acts_as_source = arrow is not None and Who.SOURCE in arrow.who and Who.SOURCE in mine
    # Whoever names a lease speaks as its holder, also where it could have acted as the source.
    if actor.is_agent and Who.HOLDER in may and (lease_generation is not None or not acts_as_source):
        _refuse_stale_holder(job, actor, lease_generation)
    _refuse_stranger(job, verb, actor, mine, may)
    if arrow is None:
        if verb is Verb.CLAIM and job.state in HELD:
            yours = job.assignee_agent_id == actor.agent_id
            raise AlreadyClaimed(
                owner="you" if yours else owner_of(job),
                advice="It is yours already: go on working." if yours else "Claim other work.",
                yours=yours,
                **state_of(job),
            )
        raise WrongStatus(verb=str(verb), advice=advice_from(job.state), **state_of(job))
    if mine & set(arrow.who):
        return
    if Who.HOLDER in arrow.who or Who.LAST_HOLDER in arrow.who:
        raise NotHolder(owner=owner_of(job), verb=str(verb), advice=advice_from(job.state), **state_of(job))
    raise WrongStatus(verb=str(verb), advice=advice_from(job.state), **state_of(job))


def require_person(actor: Actor, deed: str) -> None:
    """PersonsOnly unless a person asks; `deed` completes "may …"."""
    if not actor.is_person:
        raise PersonsOnly(deed=deed)


def _refuse_stale_holder(job: Job, actor: Actor, lease_generation: int | None) -> None:
    """A holder whose lease was lost must learn that, whatever became of the job since."""
    held_by_me = job.state in HELD and job.assignee_agent_id == actor.agent_id
    names_old_lease = lease_generation is not None and lease_generation != job.lease_generation
    if job.state is Status.CANCELLED and (
        lease_generation is not None or job.last_holder_id == actor.agent_id
    ):
        raise _cancelled(job)
    # Two processes may share a token: the one that claimed and the one that calls are told apart by session.
    other_session = bool(
        held_by_me and actor.session and job.lease_session and actor.session != job.lease_session
    )
    back_on_the_board = job.state in OPEN and job.last_holder_id == actor.agent_id
    if names_old_lease or other_session or back_on_the_board:
        raise lease_lost(job, held_by_me=held_by_me)


def lease_lost(job: Job, *, held_by_me: bool) -> LeaseLost:
    """The refusal for a claim that no longer stands, with what its former holder can do."""
    if job.state in OPEN:
        advice = "Nobody holds it: claim it by id again to go on."
    elif held_by_me:
        advice = "A later claim of yours holds it: leave it to the process that made that one."
    else:
        advice = "Claim other work."
    return LeaseLost(owner=owner_of(job), advice=advice, **state_of(job))


def _refuse_stranger(job: Job, verb: Verb, actor: Actor, mine: frozenset[Who], may: set[Who]) -> None:
    if actor.is_person:
        if Who.PERSON not in may:
            raise Forbidden()
        return
    if not actor.is_agent:
        return
    if may == {Who.PERSON}:
        raise PersonsOnly(deed=f"{verb} job {job.pk}")
    if verb is Verb.CLAIM:
        if Who.ROLE_HOLDER not in mine:
            raise RoleNotHeld(
                role=job.target_role.role_key, held=", ".join(sorted(actor.roles)) or "none", job_id=job.pk
            )
        return
    if Who.SOURCE not in may:
        return
    # Whoever held it last is no stranger: it gets the conflict, which tells what became of the job.
    knows_it = bool(mine & {Who.SOURCE, Who.HOLDER, Who.LAST_HOLDER}) or (
        Who.HOLDER in may and job.last_holder_id == actor.agent_id
    )
    if not (knows_it if Who.HOLDER in may else Who.SOURCE in mine):
        who = "the source agent or the holder" if Who.HOLDER in may else "the source agent or a person"
        raise NotSource(who=who, verb=str(verb), job_id=job.pk)


def owner_of(job: Job) -> str:
    return job.assignee_agent.name if job.assignee_agent else "nobody"


def state_of(job: Job) -> dict[str, Any]:
    """What every conflict carries: the job, where it is, who holds it, and what is possible now."""
    return {
        "job_id": job.pk,
        "current_status": str(job.status),
        "holder": job.assignee_agent.name if job.assignee_agent else None,
        "lease_generation": job.lease_generation,
        "allowed": allowed_from(job.state),
    }


def advice_from(status: Status) -> str:
    """One sentence on what is possible from a state."""
    open_now = allowed_from(status)
    if not open_now:
        return f"{status} is final."
    options = "; ".join(f"{option['verb']} by {' or '.join(option['by'] or [])}" for option in open_now)
    return f"Possible now: {options}."


def _cancelled(job: Job) -> JobCancelled:
    event = (
        Event.objects.filter(stream=job.stream, event_type__in=["task_cancelled", "task_expired"])
        .order_by("-sequence")
        .first()
    )
    return JobCancelled(
        cancelled_by=event.actor_name if event else "unknown",
        cancelled_at=iso(job.cancelled_at),
        reason=job.cancel_reason or "no reason given",
        **state_of(job),
    )
