"""Handing out work: claim by id, claim-next and reassign, each one atomic decision.

`docs/decisions/` tells why the locks are as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from django.db import OperationalError, transaction

from agents.selectors import acting_agent
from core.actors import Actor, HeldRole
from core.clock import iso
from core.transactions import StartAnew, is_retryable, write_transaction
from jobs import queue, transitions
from jobs.authority import owner_of, require, state_of
from jobs.errors import (
    AgentAtCapacity,
    AgentLacksRole,
    AlreadyClaimed,
    NotDue,
    OnHold,
    Overdue,
    RoleNotHeld,
    RolePaused,
)
from jobs.lifecycle import HELD, Verb
from jobs.locking import locked
from jobs.models import Job
from jobs.services.limits import lock_agent_when_limited, reached_limit, require_room
from roles.selectors import require_known

# With several roles the best few of each are looked at unlocked, then the best of them is locked; when
# others hold them all, more are looked at.
CANDIDATES = 8
LOOKS = (CANDIDATES, 32, 128, 512, 2_048)
_EVENTS = {Verb.CLAIM: "task_claimed", Verb.REASSIGN: "task_reassigned"}


@write_transaction
def claim(*, job_id: int, actor: Actor, lease_seconds: int | None = None) -> Job:
    """Take one job by its id."""
    lock_agent_when_limited(actor)
    job = transitions.lock(job_id)
    require(job, Verb.CLAIM, actor)
    _require_handed_out(job)
    require_room(job, actor)
    _take(job, actor, lease_seconds)
    return job


@write_transaction
def claim_next(
    *,
    actor: Actor,
    role_keys: Sequence[str],
    labels: Sequence[str] = (),
    lease_seconds: int | None = None,
) -> Job:
    """Take the first job in the claim's order: highest priority, then oldest, then lowest id.

    NothingToClaim is true when it is raised: no job could be claimed at that moment, not merely none
    that was free of other people's locks.
    """
    roles = _wanted_roles(actor, role_keys)
    lock_agent_when_limited(actor)
    while True:
        job = _first_free(actor, roles, labels)
        if job is not None:
            _take(job, actor, lease_seconds)
            return job
        if not queue.ripen([role.id for role in roles]):
            break
    # Nothing was free. Either nothing is there, or others hold locks on all of it: some of those will be
    # claimed, some were only being touched. Waiting for one of them tells which.
    ids = queue.candidates(actor, roles, labels, 1)
    if not ids:
        raise queue.nothing_to_claim(roles, labels)
    # Not here: the looks above may have left locks on jobs that somebody else took a moment before, and
    # waiting with those in hand would stop that agent's work, or end in a deadlock.
    raise StartAnew(lambda: _wait_for(ids[0]))


@write_transaction
def reassign(
    *,
    job_id: int,
    actor: Actor,
    agent_name: str,
    reason: str | None = None,
    lease_seconds: int | None = None,
) -> Job:
    """As a person, give a published or held job to this agent, under a new lease: requeue and claim in one step.

    What stops a claim stops this: the agent must be active, hold the role and have room; the role must not be
    paused, the job be due and not on hold. The former holder learns it by its next call.
    """
    agent = acting_agent(agent_name)
    lock_agent_when_limited(agent)
    job = transitions.lock(job_id)
    require(job, Verb.REASSIGN, actor)
    if all(role.id != job.target_role_id for role in agent.roles.values()):
        held = ", ".join(sorted(agent.roles)) or "none"
        raise AgentLacksRole(agent=agent.name, role=job.target_role.role_key, held=held, **state_of(job))
    if job.state in HELD and job.assignee_agent_id == agent.agent_id:
        advice = "Choose another agent, or leave it as it is."
        raise AlreadyClaimed(owner=agent.name, advice=advice, yours=False, **state_of(job))
    _require_handed_out(job)
    limit = reached_limit(job, agent)
    if limit is not None:
        raise AgentAtCapacity(agent=agent.name, role=job.target_role.role_key, limit=limit, **state_of(job))
    _take(
        job,
        agent,
        lease_seconds,
        verb=Verb.REASSIGN,
        by=actor,
        told={
            "assigned_to": agent.name,
            "taken_from": owner_of(job) if job.state in HELD else None,
            "reason": reason,
        },
        lease_expiry_count=0,
        lost_session=job.lease_session,
    )
    return job


def _require_handed_out(job: Job) -> None:
    """The refusal of whatever keeps a job from being handed out to anybody now."""
    if job.target_role.paused_at is not None:
        raise RolePaused(
            role=job.target_role.role_key,
            reason=job.target_role.pause_reason or "no reason given",
            **state_of(job),
        )
    if job.on_hold:
        raise OnHold(**state_of(job))
    if job.is_deferred and job.not_before is not None and job.not_before > job.db_now:
        raise NotDue(not_before=iso(job.not_before), **state_of(job))
    if queue.is_overdue(job, job.db_now):
        raise Overdue(expires_at=iso(job.expires_at), **state_of(job))


def _first_free(actor: Actor, roles: list[HeldRole], labels: Sequence[str]) -> Job | None:
    """The first claimable job that nobody else has locked, locked."""
    for look_at in LOOKS:
        job = queue.pick(actor, roles, labels, look_at=look_at)
        # Of one role the database itself looks on until it finds a free one.
        if job is not None or len(roles) == 1 or not queue.candidates(actor, roles, labels, 1):
            return job
    return None


def _wait_for(job_id: int) -> None:
    """Return when whoever has this job locked is done with it, or has not been for the lock time-out."""
    try:
        with transaction.atomic():
            locked("j.id = %s", [job_id])
            transaction.set_rollback(True)
    except OperationalError as error:
        if not is_retryable(error):
            raise


def _take(
    job: Job,
    agent: Actor,
    lease_seconds: int | None,
    *,
    verb: Verb = Verb.CLAIM,
    by: Actor | None = None,
    told: Mapping[str, Any] = MappingProxyType({}),
    **columns: Any,
) -> None:
    """Make the agent the holder, under a lease of a new generation; `by` does it in its place."""
    seconds = lease_seconds or job.target_role.lease_seconds
    generation = job.lease_generation + 1
    taken = {
        "assignee_agent_id": agent.agent_id,
        "last_holder_id": agent.agent_id,
        "lease_generation": generation,
        "lost_session": None,
        "is_deferred": False,
        "progress_percent": None,
        "progress_note": None,
        "progress_at": None,
    }
    transitions.move(
        job,
        verb,
        actor=by or agent,
        event_type=_EVENTS[verb],
        payload={
            "lease_generation": generation,
            "lease_expires_at": iso(job.db_now + timedelta(seconds=seconds)),
            "target_role_id": job.target_role_id,
            **told,
        },
        **transitions.lease_columns(now=job.db_now, seconds=seconds, session=agent.session),
        **(taken | columns),
    )


def _wanted_roles(actor: Actor, role_keys: Sequence[str]) -> list[HeldRole]:
    keys = list(dict.fromkeys(role_keys))
    held = [actor.roles[key] for key in keys if key in actor.roles]
    if len(held) < len(keys):
        unknown = require_known(keys, listed=sorted(actor.roles))
        if not held:
            raise RoleNotHeld(role=", ".join(unknown), held=", ".join(sorted(actor.roles)) or "none")
    return held
