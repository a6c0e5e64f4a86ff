"""Figures about the flow of work. Each is counted from rows that a list can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Min, Q

from agents.models import Agent
from agents.presence import ONLINE_FOR
from core.clock import iso
from jobs.lifecycle import HELD, Status
from jobs.models import Job
from jobs.stuck import presence_by_role, stuck_jobs
from roles.models import Role

# Percentiles are those of the newest so many jobs of the window.
SAMPLE = 10_000
REASONS = 10
_REASON_LENGTH = 200
# When a job stands in a state that ends or begins something, this says since when.
_MARKS = {
    "published": "published_at",
    "completed": "completed_at",
    "failed": "failed_at",
    "cancelled": "cancelled_at",
}


def counts() -> dict[str, int]:
    """How many jobs are in each of the eight states; all keys always."""
    found = dict(Job.objects.order_by().values_list("status").annotate(Count("pk")))
    return {str(status): found.get(str(status), 0) for status in Status}


def stats(now: datetime, *, window_hours: int = 24, stuck_minutes: int | None = None) -> dict[str, Any]:
    """What is so now, and what happened in the last `window_hours`.

    `counts`, `stuck`, `on_hold`, `agents` and `roles` are of now. `window` counts jobs by their own times:
    a failed job that was requeued since is no failure any more. Rates are of the jobs that ended in the
    window, None when none did; times are seconds, of the newest 10,000 jobs.
    """
    since = now - timedelta(hours=window_hours)
    in_window = {name: Q(**{f"{column}__gte": since}) for name, column in _MARKS.items()}
    window = Job.objects.aggregate(
        **{name: Count("pk", filter=condition) for name, condition in in_window.items()}
    )
    ended = window["completed"] + window["failed"] + window["cancelled"]
    roles = [_on_the_wire(role) for role in figures_by_role(now, stuck_minutes=stuck_minutes)]
    return {
        "window_hours": window_hours,
        "since": iso(since),
        "until": iso(now),
        "counts": counts(),
        "stuck": sum(role["stuck"] for role in roles),
        "on_hold": Job.objects.filter(status=Status.PUBLISHED, on_hold=True).count(),
        "agents": {
            "total": Agent.objects.filter(is_active=True).count(),
            "online": _seen_since(now - ONLINE_FOR),
            "active": _seen_since(since),
        },
        "window": window,
        "rates": {
            name: round(window[name] / ended, 4) if ended else None
            for name in ("completed", "failed", "cancelled")
        },
        "time_to_claim": _percentiles("published_at", "started_at", since),
        "time_to_finish": _percentiles("started_at", "completed_at", since),
        "failures": failures_by_reason(since),
        "roles": roles,
        "bottleneck_role": _bottleneck(roles),
    }


def failures_by_reason(since: datetime) -> list[dict[str, Any]]:
    """Why jobs failed, most frequent first, by the first 200 characters of the reason."""
    rows = (
        Job.objects.filter(status=Status.FAILED, failed_at__gte=since)
        .values_list("failure_reason")
        .annotate(jobs=Count("pk"))
        .order_by("-jobs", "failure_reason")
    )
    found: dict[str | None, int] = {}
    for reason, jobs in rows[:SAMPLE]:
        short = reason and reason[:_REASON_LENGTH]
        found[short] = found.get(short, 0) + jobs
    ranked = sorted(found.items(), key=lambda item: -item[1])[:REASONS]
    return [{"reason": reason, "jobs": jobs} for reason, jobs in ranked]


def figures_by_role(now: datetime, *, stuck_minutes: int | None = None) -> list[dict[str, Any]]:
    """Each active role: what waits for it, what is in hand, who is there."""
    there = presence_by_role(now)
    waiting = Q(jobs__status=Status.PUBLISHED)
    stuck = dict(
        stuck_jobs(now, minutes=stuck_minutes).order_by().values_list("target_role").annotate(Count("pk"))
    )
    roles = (
        Role.objects.filter(is_deleted=False)
        .annotate(
            waiting=Count("jobs", filter=waiting),
            oldest=Min("jobs__status_changed_at", filter=waiting),
            held=Count("jobs", filter=Q(jobs__status__in=sorted(HELD))),
            blocked=Count("jobs", filter=Q(jobs__status=Status.BLOCKED)),
        )
        .order_by("role_key")
    )
    return [
        {
            "role_key": role.role_key,
            "role_label": role.role_label,
            "waiting": role.waiting,
            "oldest_waiting_since": role.oldest,
            "held": role.held,
            "blocked": role.blocked,
            "stuck": stuck.get(role.pk, 0),
            "agents_online": there[role.pk].online,
            "paused_at": role.paused_at,
        }
        for role in roles
    ]


def _on_the_wire(role: dict[str, Any]) -> dict[str, Any]:
    return {name: iso(value) if isinstance(value, datetime) else value for name, value in role.items()}


def _bottleneck(roles: Sequence[dict[str, Any]]) -> str | None:
    """The role that most jobs wait for."""
    waiting = [role for role in roles if role["waiting"]]
    return max(waiting, key=lambda role: role["waiting"])["role_key"] if waiting else None


def _seen_since(moment: datetime) -> int:
    return Agent.objects.filter(is_active=True, last_seen_at__gte=moment).count()


def _percentiles(begin: str, end: str, since: datetime) -> dict[str, Any]:
    """The median and the ninth decile of the time between two of a job's times, in seconds."""
    pairs = (
        Job.objects.filter(**{f"{end}__gte": since, f"{begin}__lte": F(end)})
        .order_by(f"-{end}")
        .values_list(begin, end)[:SAMPLE]
    )
    seconds = sorted((last - first).total_seconds() for first, last in pairs)
    return {
        "jobs": len(seconds),
        "p50_seconds": _percentile(seconds, 0.5),
        "p90_seconds": _percentile(seconds, 0.9),
    }


def _percentile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of the values do not exceed."""
    return round(ordered[max(math.ceil(len(ordered) * share) - 1, 0)], 3) if ordered else None
