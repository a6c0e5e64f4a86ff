"""Work in hand: status changes, heartbeats, giving back, holding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.openapi import IDEMPOTENCY_KEY, JOB_WRITE_REFUSALS, SESSION
from core.errors import ScopeMissing
from jobs.api.answers import HeartbeatAnswer, MovedAnswer
from jobs.api.base import JobViewSet
from jobs.inputs import HeartbeatInput, ReasonInput, StatusInput
from jobs.lifecycle import Status
from jobs.models import Job
from jobs.payloads import lease
from jobs.selectors import get_job
from jobs.services.changing import change_status
from jobs.services.holding import hold, unhold
from jobs.services.leasing import heartbeat
from jobs.services.returning import release, requeue

# What the source of a job may do to it without ever claiming.
_OF_SOURCES = frozenset({Status.CANCELLED, Status.UNBLOCKED, Status.PUBLISHED})

_MOVES = extend_schema(
    request=ReasonInput,
    parameters=[IDEMPOTENCY_KEY, SESSION],
    responses={200: MovedAnswer, **JOB_WRITE_REFUSALS},
)


class WorkViewSet(JobViewSet):
    """What a holder does with its job, and what its source may do about it."""

    scopes = {
        "change_status": ("claim", "publish"),
        "heartbeat": "claim",
        "release": "claim",
        "requeue": "publish",
        "hold": "publish",
        "unhold": "publish",
    }
    inputs = {
        "change_status": StatusInput,
        "heartbeat": HeartbeatInput,
        "release": ReasonInput,
        "requeue": ReasonInput,
        "hold": ReasonInput,
        "unhold": ReasonInput,
    }

    @extend_schema(
        summary="Change a job's status",
        request=StatusInput,
        parameters=[IDEMPOTENCY_KEY, SESSION],
        responses={200: MovedAnswer, **JOB_WRITE_REFUSALS},
    )
    def change_status(self, request: Request, job_id: str) -> Response:
        number = self.path_id(job_id)
        fields = self.body(StatusInput)
        if fields.status not in _OF_SOURCES and "claim" not in self.actor.scopes:
            raise ScopeMissing(scope="claim")
        ignored = StatusInput.ignored(self.parsed) + fields.unused_fields()
        return self.moved(
            lambda: change_status(job_id=number, actor=self.actor, **fields.as_arguments()), ignored=ignored
        )

    @extend_schema(
        summary="Keep a lease alive, and tell of progress",
        request=HeartbeatInput,
        parameters=[IDEMPOTENCY_KEY, SESSION],
        responses={200: HeartbeatAnswer, **JOB_WRITE_REFUSALS},
    )
    def heartbeat(self, request: Request, job_id: str) -> Response:
        number = self.path_id(job_id)
        fields = self.body(HeartbeatInput, optional=True)
        done = self.once(
            lambda: heartbeat(job_id=number, actor=self.actor, **fields.as_arguments()),
            identify=lambda job: {"job_id": job.pk},
            again=lambda result: get_job(result["job_id"]),
        )
        self.alive()
        payload = {"lease": lease(done.value)}
        return self.answer(payload, replayed=done.replayed, ignored=HeartbeatInput.ignored(self.parsed))

    @_MOVES
    @extend_schema(summary="Give a held job back to the board")
    def release(self, request: Request, job_id: str) -> Response:
        return self._with_reason(job_id, release, fenced=True)

    @_MOVES
    @extend_schema(summary="Put a failed job of yours back on the board")
    def requeue(self, request: Request, job_id: str) -> Response:
        return self._with_reason(job_id, requeue)

    @_MOVES
    @extend_schema(summary="Keep a published job of yours from being handed out")
    def hold(self, request: Request, job_id: str) -> Response:
        return self._with_reason(job_id, hold)

    @_MOVES
    @extend_schema(summary="Hand a held-back job out again")
    def unhold(self, request: Request, job_id: str) -> Response:
        return self._with_reason(job_id, unhold)

    def _with_reason(self, job_id: str, verb: Callable[..., Job], *, fenced: bool = False) -> Response:
        number = self.path_id(job_id)
        fields = self.body(ReasonInput, optional=True)
        arguments: dict[str, Any] = {"reason": fields.reason}
        ignored = ReasonInput.ignored(self.parsed)
        if fenced:
            arguments["lease_generation"] = fields.lease_generation
        elif fields.lease_generation is not None:
            ignored = sorted([*ignored, "lease_generation"])
        return self.moved(lambda: verb(job_id=number, actor=self.actor, **arguments), ignored=ignored)
