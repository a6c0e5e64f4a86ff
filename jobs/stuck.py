"""Which jobs need a person: held without progress, or waiting while nobody is there who could take them.

One definition for every list, count and filter that says "stuck".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    IntegerField,
    Max,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Cast, Coalesce, Greatest

from agents.models import Agent
from agents.presence import ONLINE_FOR
from jobs.lifecycle import HELD, Status
from jobs.models import Job
from roles.models import Role

# Django multiplies on SQLite only what it knows as a plain integer.
_ALLOWED = ExpressionWrapper(
    Cast("target_role__stuck_after_minutes", IntegerField()) * Value(timedelta(minutes=1)), DurationField()
)


@dataclass(frozen=True, slots=True)
class StuckJob:
    """A stuck job, since when it is, and one sentence that says why."""

    job: Job
    since: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class RolePresence:
    """How many agents of a role are online, and when one was last seen (None: never)."""

    online: int
    last_seen_at: datetime | None


def stuck_jobs(now: datetime, *, minutes: int | None = None) -> QuerySet[Job]:
    """The stuck jobs, longest first, each with `stuck_since`; `minutes` stands in for what each role says."""
    there = presence_by_role(now)
    # Not a condition for each role: SQLite takes no more than a thousand of them.
    allowed: Any = timedelta(minutes=minutes) if minutes is not None else _ALLOWED
    quiet = Q(stuck_since__lte=ExpressionWrapper(Value(now) - allowed, DateTimeField()))
    held = Q(target_role_id__in=list(there), status__in=sorted(HELD))
    deserted = [role_id for role_id, presence in there.items() if not presence.online]
    waiting = Q(target_role_id__in=deserted, status=Status.PUBLISHED, on_hold=False)
    # `not_before` counts only where the job still waits for its first claim of this publication.
    since = Greatest(
        "status_changed_at",
        Coalesce("progress_at", "status_changed_at"),
        Coalesce("not_before", "status_changed_at"),
    )
    return Job.objects.annotate(stuck_since=since).filter(held | waiting, quiet).order_by("stuck_since", "pk")


def explained(jobs: QuerySet[Job], now: datetime) -> list[StuckJob]:
    """These of `stuck_jobs`, with the reason of each. Loads no payloads."""
    there = presence_by_role(now)
    rows = jobs.select_related("target_role", "assignee_agent", "source_agent").defer(
        "context_payload", "constraints", "result", "routing_rules"
    )
    return [
        StuckJob(job, since, _reason(job, since, there[job.target_role_id], now))
        for job, since in ((job, getattr(job, "stuck_since")) for job in rows)  # noqa: B009
    ]


def presence_by_role(now: datetime) -> dict[int, RolePresence]:
    """Who is there for each role, also for one that any agent may act in."""
    agents = Agent.objects.filter(is_active=True)
    online = Q(last_seen_at__gte=now - ONLINE_FOR)
    everybody = RolePresence(
        agents.filter(online).count(), agents.aggregate(last=Max("last_seen_at"))["last"]
    )
    counted = dict.fromkeys(Role.objects.values_list("pk", flat=True), RolePresence(0, None))
    held = agents.filter(roles__isnull=False).values_list("roles", "last_seen_at")
    for role_id, seen in held:
        before = counted[role_id]
        is_online = seen is not None and seen >= now - ONLINE_FOR
        last = max(filter(None, [before.last_seen_at, seen]), default=None)
        counted[role_id] = RolePresence(before.online + is_online, last)
    for role_id in Role.objects.filter(is_open=True).values_list("pk", flat=True):
        counted[role_id] = everybody
    return counted


def _reason(job: Job, since: datetime, there: RolePresence, now: datetime) -> str:
    waited = in_words(now - since)
    if job.state is Status.PUBLISHED:
        role = job.target_role.role_key
        if there.last_seen_at is None:
            return f"Waiting for {waited}; no agent of {role} was ever online."
        away = in_words(now - there.last_seen_at)
        return f"Waiting for {waited}; no agent of {role} is online, the last was seen {away} ago."
    holder = job.assignee_agent.name if job.assignee_agent else "nobody"
    if job.state is Status.BLOCKED:
        return (
            f"{holder} has been waiting for an answer for {waited}: {job.blocked_reason or 'no reason given'}"
        )
    if job.state is Status.UNBLOCKED:
        return f"Unblocked {waited} ago, and {holder} has not resumed it."
    return f"{holder} has told of no progress for {waited}."


def in_words(length: timedelta) -> str:
    """`45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`: the two greatest units."""
    seconds = max(int(length.total_seconds()), 0)
    if seconds < 60:
        return f"{seconds} s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if minutes < 60:
        return f"{minutes} min"
    if hours < 24:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{days} d {hours % 24} h" if hours % 24 else f"{days} d"
