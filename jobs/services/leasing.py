"""Keeping a lease alive: explicit heartbeats, and the signs of life that other calls give."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from core.actors import Actor
from core.clock import STAMPS
from core.transactions import write_transaction
from jobs import transitions
from jobs.authority import require
from jobs.lifecycle import LEASED, Verb
from jobs.locking import locked
from jobs.models import Job
from jobs.selectors import was_claimed_by

# Without an explicit heartbeat a lease is not extended beyond this many terms after the last one.
IMPLICIT_TERMS = 4
# A renewal is written when a third of the lease or this much has passed, whichever is less.
RENEW_AFTER_SECONDS = 20.0
# One process hardly holds more; what is beyond renews with the next heartbeat.
MOST = 1_000

_LEASED = "j.status IN ('in_progress', 'unblocked')"


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the caller's session holds, and what it lost without its doing."""

    leases: list[Job]
    lost: list[int]


@write_transaction
def heartbeat(
    *,
    job_id: int,
    actor: Actor,
    lease_generation: int | None = None,
    progress_percent: int | None = None,
    note: str | None = None,
) -> Job:
    """Extend the lease by a whole term from now; tell of progress when it changed."""
    job = transitions.lock(job_id)
    require(job, Verb.HEARTBEAT, actor, lease_generation=lease_generation)
    columns: dict[str, Any] = {}
    if job.state in LEASED:
        columns = transitions.lease_columns(
            now=job.db_now, seconds=_term(job), session=actor.session or job.lease_session
        )
    progress = {
        name: value
        for name, value in (("progress_percent", progress_percent), ("progress_note", note))
        if value is not None and value != getattr(job, name)
    }
    if progress:
        columns |= progress | {"progress_at": job.db_now}
        payload = {
            "progress_percent": columns.get("progress_percent", job.progress_percent),
            "note": columns.get("progress_note", job.progress_note),
        }
        transitions.amend(job, actor=actor, event_type="task_progress", payload=payload, **columns)
    elif columns:
        transitions.amend(job, actor=actor, event_type=None, **columns)
    return job


def agent_heartbeat(*, actor: Actor) -> Holdings:
    """Extend every lease that the caller's session holds; without a session, none (their holders are unknown)."""
    if not actor.session:
        return Holdings(leases=[], lost=[])
    _extend_session(actor=actor)
    held = Job.objects.filter(
        assignee_agent_id=actor.agent_id, lease_session=actor.session, status__in=sorted(LEASED)
    ).order_by("id")
    lost = Job.objects.filter(lost_session=actor.session).order_by("id").values_list("pk", "last_holder_id")
    # Given to somebody else, it has another last holder by now; whose session this was is in its trail.
    mine = [
        job_id
        for job_id, last_holder in lost
        if last_holder == actor.agent_id or was_claimed_by(job_id, actor.agent_id)
    ]
    return Holdings(leases=list(_slim(held)), lost=mine)


@write_transaction
def _extend_session(*, actor: Actor) -> None:
    held = locked(
        f"j.assignee_agent_id = %s AND j.lease_session = %s AND {_LEASED}",
        [actor.agent_id, actor.session],
        most=MOST,
    )
    for job in held:
        lease = transitions.lease_columns(now=job.db_now, seconds=_term(job), session=actor.session)
        transitions.amend(job, actor=actor, event_type=None, **lease)


def sign_of_life(*, actor: Actor, job_id: int | None = None) -> None:
    """After an accepted call: renew the named job's lease if the caller holds it, and its session's leases.

    Call it never for a refused call, nor for listing, claim-next and polling: a worker that was restarted
    with the same token and polls must not keep its dead predecessor's job alive.
    """
    if not actor.is_agent or (job_id is None and not actor.session):
        return
    # Looked at without a lock first: most calls have nothing to renew.
    named = Q(pk=job_id) | Q(lease_session=actor.session) if actor.session else Q(pk=job_id)
    jobs = _slim(Job.objects.filter(named, assignee_agent_id=actor.agent_id, status__in=sorted(LEASED)))
    due = [
        job.pk
        for job in jobs.annotate(**STAMPS)
        if _keeps_alive(actor, job_id, job) and _renewal(job, job.db_now) is not None
    ]
    if due:
        _renew(job_ids=sorted(due), actor=actor, named=job_id)


@write_transaction
def _renew(*, job_ids: list[int], actor: Actor, named: int | None) -> None:
    for job_id in job_ids:
        # Whoever has the row locked now is changing it: that is a verb, and it settles the lease itself.
        for job in locked(f"j.id = %s AND {_LEASED}", [job_id], skip_locked=True):
            until = _renewal(job, job.db_now)
            if until is not None and _keeps_alive(actor, named, job):
                transitions.renew(job, lease_expires_at=until)


def _keeps_alive(actor: Actor, named: int | None, job: Job) -> bool:
    """Whether this call is a sign of life of the process that holds the job."""
    if job.assignee_agent_id != actor.agent_id:
        return False
    if actor.session and job.lease_session:
        # The same token in another process is not the holder.
        return job.lease_session == actor.session
    return job.pk == named


def _renewal(job: Job, now: datetime) -> datetime | None:
    """Until when the lease should run after a sign of life now; None when that is not worth a write."""
    term = _term(job)
    if job.lease_expires_at is None or job.lease_heartbeat_at is None:
        return None
    renewed_at = job.lease_expires_at - timedelta(seconds=term)
    if now - renewed_at < timedelta(seconds=min(term / 3, RENEW_AFTER_SECONDS)):
        return None
    until = min(
        now + timedelta(seconds=term), job.lease_heartbeat_at + timedelta(seconds=IMPLICIT_TERMS * term)
    )
    return until if until > job.lease_expires_at else None


def _term(job: Job) -> int:
    return job.lease_seconds or job.target_role.lease_seconds


def _slim(jobs: QuerySet[Job]) -> QuerySet[Job]:
    return jobs.only(
        "id",
        "status",
        "lease_generation",
        "lease_seconds",
        "lease_expires_at",
        "lease_heartbeat_at",
        "lease_session",
        "assignee_agent_id",
        "target_role_id",
    )
