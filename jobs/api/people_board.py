"""The board as people see it: publish, list, read, edit and delete jobs, and their trails."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.openapi import (
    IDEMPOTENCY_KEY,
    JOB_REFUSALS,
    JOB_WRITE_REFUSALS,
    NEXT_PAGE,
    REFUSALS,
    WRITE_REFUSALS,
    query_parameters,
)
from core.api.paging import next_link
from core.clock import database_moment
from jobs.api.answers import PublishedAnswer, UpdatedAnswer
from jobs.api.people_answers import PersonJobAnswer, PersonPage, PersonTrail
from jobs.api.people_base import PersonJobViewSet, page_answer
from jobs.filters import list_for_person, stuck_among
from jobs.inputs import EditInput, NewestInput, PersonListInput, PublishInput
from jobs.payloads import event_rows, person_item, person_job
from jobs.selectors import get_job, newest_events
from jobs.services.publishing import publish
from jobs.services.removing import delete_job
from jobs.services.updating import update


class PersonBoardViewSet(PersonJobViewSet):
    """Jobs, as people publish, read and change them."""

    permissions = {
        "create": "jobs.add_job",
        "list": "jobs.view_job",
        "retrieve": "jobs.view_job",
        "events": "jobs.view_job",
        "partial_update": "jobs.change_job",
        "destroy": "jobs.delete_job",
    }
    inputs = {"create": PublishInput, "partial_update": EditInput}

    @extend_schema(
        summary="List jobs, without their payloads",
        parameters=[*query_parameters(PersonListInput), NEXT_PAGE],
        responses={200: PersonPage, **REFUSALS},
    )
    def list(self, request: Request) -> Response:
        query = self.query(PersonListInput)
        now = database_moment().now
        page = list_for_person(query, now)
        stuck = stuck_among([row["id"] for row in page.rows], now)
        items = [person_item(row, stuck.get(row["id"])) for row in page.rows]
        return page_answer(request, items, page, query)

    @extend_schema(
        summary="Publish a job to a role",
        request=PublishInput,
        parameters=[IDEMPOTENCY_KEY],
        responses={201: PublishedAnswer, **WRITE_REFUSALS},
    )
    def create(self, request: Request) -> Response:
        fields = self.body(PublishInput)
        done = self.once(
            lambda: publish(actor=self.actor, **fields.as_arguments()),
            identify=lambda job: {"job_id": job.pk},
            again=lambda result: get_job(result["job_id"]),
        )
        return self.answer(
            {"job_id": done.value.pk, "status": done.value.status},
            status=201,
            replayed=done.replayed,
            ignored=PublishInput.ignored(self.parsed),
        )

    @extend_schema(
        summary="Read a whole job, its trail and what may be done about it",
        responses={200: PersonJobAnswer, **JOB_REFUSALS},
    )
    def retrieve(self, request: Request, job_id: str) -> Response:
        job = get_job(self.path_id(job_id))
        return Response(person_job(job, now=database_moment().now))

    @extend_schema(
        summary="The trail of a job, newest first",
        parameters=[*query_parameters(NewestInput), NEXT_PAGE],
        responses={200: PersonTrail, **JOB_REFUSALS},
    )
    def events(self, request: Request, job_id: str) -> Response:
        query = self.query(NewestInput)
        job = get_job(self.path_id(job_id))
        found, before = newest_events(job.pk, query)
        response = Response({"items": event_rows(found), "before": before})
        if before is not None:
            response["Link"] = next_link(request, str(before), name="before")
        return response

    @extend_schema(
        summary="Change an open job",
        description="Each value replaces the whole field; what is left out stays.",
        request=EditInput,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: UpdatedAnswer, **JOB_WRITE_REFUSALS},
    )
    def partial_update(self, request: Request, job_id: str) -> Response:
        number = self.path_id(job_id)
        fields = self.body(EditInput)
        done = self.once(
            lambda: update(job_id=number, actor=self.actor, **fields.as_changes()).version,
            identify=lambda version: {"version": version},
            again=lambda result: result["version"],
        )
        return self.answer(
            {
                "job_id": number,
                "message": f"job with job_id {number} updated successfully",
                "version": done.value,
            },
            replayed=done.replayed,
            ignored=EditInput.ignored(self.parsed),
        )

    @extend_schema(
        summary="Delete a finished job",
        description="Only one that has no children. Its events stay.",
        parameters=[IDEMPOTENCY_KEY],
        responses={204: None, **JOB_WRITE_REFUSALS},
    )
    def destroy(self, request: Request, job_id: str) -> Response:
        number = self.path_id(job_id)
        self.parsed = {}
        done = self.once(
            lambda: delete_job(job_id=number, actor=self.actor),
            identify=lambda _: {},
            again=lambda _: None,
        )
        return self.nothing(replayed=done.replayed)
