"""The board: publish, list, read, update, and the trail of a job."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from artifacts.payloads import artifact_payload
from artifacts.selectors import artifacts_of
from core.api.openapi import (
    IDEMPOTENCY_KEY,
    JOB_REFUSALS,
    JOB_WRITE_REFUSALS,
    NEXT_PAGE,
    REFUSALS,
    SESSION,
    TOTAL,
    WRITE_REFUSALS,
    query_parameters,
)
from core.api.paging import next_link
from jobs.api.answers import ArtifactList, JobAnswer, JobList, PublishedAnswer, Trail, UpdatedAnswer
from jobs.api.base import JobViewSet
from jobs.inputs import ListInput, PublishInput, TrailInput, UpdateInput
from jobs.payloads import event_payload, full_job, list_item
from jobs.selectors import get_job, list_jobs, trail_page
from jobs.services.publishing import publish
from jobs.services.updating import update


class BoardViewSet(JobViewSet):
    """Jobs as they are published, read and changed."""

    scopes = {
        "create": "publish",
        "list": "read",
        "retrieve": "read",
        "partial_update": ("publish", "claim"),
        "events": "read",
        "artifacts": "read",
    }
    inputs = {"create": PublishInput, "partial_update": UpdateInput}

    @extend_schema(
        summary="Publish a job to a role",
        request=PublishInput,
        parameters=[IDEMPOTENCY_KEY, SESSION],
        responses={201: PublishedAnswer, **WRITE_REFUSALS},
    )
    def create(self, request: Request) -> Response:
        fields = self.body(PublishInput)
        done = self.once(
            lambda: publish(actor=self.actor, **fields.as_arguments()),
            identify=lambda job: {"job_id": job.pk},
            again=lambda result: get_job(result["job_id"]),
        )
        self.alive()
        return self.answer(
            {"job_id": done.value.pk, "status": done.value.status},
            status=201,
            replayed=done.replayed,
            ignored=PublishInput.ignored(self.parsed),
        )

    @extend_schema(
        summary="List jobs, without their payloads",
        parameters=[*query_parameters(ListInput), NEXT_PAGE, TOTAL],
        responses={200: JobList, **REFUSALS},
    )
    def list(self, request: Request) -> Response:
        query = self.query(ListInput)
        page = list_jobs(query, self.actor)
        response = Response([list_item(row) for row in page.rows])
        if page.next_cursor is not None:
            response["Link"] = next_link(request, page.next_cursor)
        if page.total is not None:
            response["X-Total-Count"] = str(page.total)
        return response

    @extend_schema(summary="Read a whole job", responses={200: JobAnswer, **JOB_REFUSALS})
    def retrieve(self, request: Request, job_id: str) -> Response:
        job = get_job(self.path_id(job_id))
        self.alive(job.pk)
        return Response(full_job(job, reader=self.actor))

    @extend_schema(
        summary="Replace a job's context or constraints",
        request=UpdateInput,
        parameters=[IDEMPOTENCY_KEY, SESSION],
        responses={200: UpdatedAnswer, **JOB_WRITE_REFUSALS},
    )
    def partial_update(self, request: Request, job_id: str) -> Response:
        number = self.path_id(job_id)
        fields = self.body(UpdateInput)
        done = self.once(
            lambda: update(job_id=number, actor=self.actor, **fields.as_arguments()).version,
            identify=lambda version: {"version": version},
            again=lambda result: result["version"],
        )
        self.alive(number)
        return self.answer(
            {
                "job_id": number,
                "message": f"job with job_id {number} updated successfully",
                "version": done.value,
            },
            replayed=done.replayed,
            ignored=UpdateInput.ignored(self.parsed),
        )

    @extend_schema(
        summary="The trail of a job, oldest first",
        parameters=[*query_parameters(TrailInput), NEXT_PAGE],
        responses={200: Trail, **JOB_REFUSALS},
    )
    def events(self, request: Request, job_id: str) -> Response:
        query = self.query(TrailInput)
        job = get_job(self.path_id(job_id))
        events, cursor = trail_page(job.pk, query)
        self.alive(job.pk)
        response = Response([event_payload(event) for event in events])
        if cursor is not None:
            response["Link"] = next_link(request, cursor, name="after")
        return response

    @extend_schema(summary="What a job points to", responses={200: ArtifactList, **JOB_REFUSALS})
    def artifacts(self, request: Request, job_id: str) -> Response:
        job = get_job(self.path_id(job_id))
        self.alive(job.pk)
        return Response([artifact_payload(artifact) for artifact in artifacts_of(job.pk)])
