"""Figures about the flow of work, and the jobs that need a person."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.openapi import NEXT_PAGE, REFUSALS, Answer, query_parameters
from core.api.people import PersonViewSet
from core.clock import database_moment
from jobs.api.people_answers import CountsAnswer, StuckPage
from jobs.api.people_base import page_answer
from jobs.filters import stuck_page
from jobs.inputs import StatsInput, StuckInput
from jobs.lifecycle import Status
from jobs.payloads import stuck_item
from jobs.stats import counts, stats

_AT = "2026-12-01T10:00:00.000000Z"
_TIMES = {"jobs": 2, "p50_seconds": 12.5, "p90_seconds": 80.0}


class AgentFigures(Answer):
    """Agents that are let in: all, those online now, those seen in the window."""

    total: int
    online: int
    active: int


class WindowFigures(Answer):
    """How many jobs came into these states in the window and are in them still."""

    published: int
    completed: int
    failed: int
    cancelled: int


class Rates(Answer):
    """Shares of the jobs that ended in the window; null when none did."""

    completed: float | None
    failed: float | None
    cancelled: float | None


class Percentiles(Answer):
    """Of how many jobs, and their median and ninth decile in seconds."""

    jobs: int
    p50_seconds: float | None
    p90_seconds: float | None


class FailureFigure(Answer):
    """A reason of failures, its first 200 characters, and how many jobs have it."""

    reason: str | None
    jobs: int


class RoleFigures(Answer):
    """An active role: what waits for it, what is in hand, who is there."""

    role_key: str
    role_label: str
    waiting: int
    oldest_waiting_since: datetime | None
    held: int
    blocked: int
    stuck: int
    agents_online: int
    paused_at: datetime | None


class StatsAnswer(Answer):
    """What is so now, and what happened in the window."""

    example: ClassVar[Any] = {
        "window_hours": 24,
        "since": _AT,
        "until": _AT,
        "counts": {str(status): 0 for status in Status},
        "stuck": 0,
        "on_hold": 0,
        "agents": {"total": 2, "online": 1, "active": 2},
        "window": {"published": 3, "completed": 2, "failed": 0, "cancelled": 0},
        "rates": {"completed": 1.0, "failed": 0.0, "cancelled": 0.0},
        "time_to_claim": _TIMES,
        "time_to_finish": _TIMES,
        "failures": [{"reason": "The build is broken", "jobs": 1}],
        "roles": [
            {
                "role_key": "qa",
                "role_label": "QA",
                "waiting": 1,
                "oldest_waiting_since": _AT,
                "held": 0,
                "blocked": 0,
                "stuck": 0,
                "agents_online": 1,
                "paused_at": None,
            }
        ],
        "bottleneck_role": "qa",
    }

    window_hours: int
    since: datetime
    until: datetime
    counts: dict[str, int]
    stuck: int
    on_hold: int
    agents: AgentFigures
    window: WindowFigures
    rates: Rates
    time_to_claim: Percentiles
    time_to_finish: Percentiles
    failures: list[FailureFigure]
    roles: list[RoleFigures]
    bottleneck_role: str | None


class PersonStatsViewSet(PersonViewSet):
    """How the work flows, and where it does not."""

    permissions = {"counts": "jobs.view_job", "stats": "jobs.view_job", "stuck": "jobs.view_job"}

    @extend_schema(summary="How many jobs are in each state", responses={200: CountsAnswer, **REFUSALS})
    def counts(self, request: Request) -> Response:
        return Response({"counts": counts()})

    @extend_schema(
        summary="Figures about the flow of work",
        parameters=query_parameters(StatsInput),
        responses={200: StatsAnswer, **REFUSALS},
    )
    def stats(self, request: Request) -> Response:
        query = self.query(StatsInput)
        return Response(stats(database_moment().now, **query.as_arguments()))

    @extend_schema(
        summary="The jobs that need a person, longest first",
        parameters=[*query_parameters(StuckInput), NEXT_PAGE],
        responses={200: StuckPage, **REFUSALS},
    )
    def stuck(self, request: Request) -> Response:
        query = self.query(StuckInput)
        found, page = stuck_page(query, database_moment().now)
        return page_answer(request, [stuck_item(stuck) for stuck in found], page, query)
