"""The audit trail, as people check it."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.openapi import JOB_REFUSALS, Answer, query_parameters
from core.api.people import PersonViewSet
from core.inputs import Input
from events.payloads import report_document
from events.verify import verify
from jobs.selectors import stream_heads


class VerifyInput(Input):
    """Which stream to verify; all of them when none is named."""

    stream: str | None = None


class FaultAnswer(Answer):
    """The first event of a stream that is not as it was recorded; `event_id` is null for one that is gone."""

    stream: str
    sequence: int
    event_id: int | None
    what: str = Field(description="changed, removed or inserted")
    detail: str


class VerifyAnswer(Answer):
    """What was read, and the first fault of each damaged stream, of the first 100 of these."""

    example: ClassVar[Any] = {
        "intact": True,
        "streams": 12,
        "events": 80,
        "outlived_streams": 0,
        "damaged_streams": 0,
        "first_fault": None,
        "faults": [],
    }

    intact: bool
    streams: int
    events: int
    outlived_streams: int
    damaged_streams: int
    first_fault: FaultAnswer | None
    faults: list[FaultAnswer]


class PersonAuditViewSet(PersonViewSet):
    """Is the audit trail as it was recorded?"""

    permissions = {"verify": "events.view_event"}

    @extend_schema(
        summary="Recompute the audit trail, or one stream of it",
        parameters=query_parameters(VerifyInput),
        responses={200: VerifyAnswer, **JOB_REFUSALS},
    )
    def verify(self, request: Request) -> Response:
        query = self.query(VerifyInput)
        report = verify(heads_of={"job": stream_heads}, stream=query.stream)
        return Response(report_document(report))
