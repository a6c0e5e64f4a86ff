"""Claims: by id, and the next one of a role."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.base import Done
from core.api.openapi import IDEMPOTENCY_KEY, JOB_WRITE_REFUSALS, SESSION
from jobs.api.answers import ClaimAnswer, NothingAnswer
from jobs.api.base import JobViewSet
from jobs.inputs import ClaimInput, ClaimNextInput
from jobs.models import Job
from jobs.payloads import claimed_job
from jobs.selectors import get_job, require_current_claim
from jobs.services.claiming import claim, claim_next


class ClaimViewSet(JobViewSet):
    """Taking work. The answer is the whole job, its lease and its earlier attempts."""

    scopes = {"claim": "claim", "claim_next": "claim"}
    inputs = {"claim": ClaimInput, "claim_next": ClaimNextInput}

    @extend_schema(
        summary="Claim a job by its id",
        request=ClaimInput,
        parameters=[IDEMPOTENCY_KEY, SESSION],
        responses={201: ClaimAnswer, **JOB_WRITE_REFUSALS},
    )
    def claim(self, request: Request, job_id: str) -> Response:
        number = self.path_id(job_id)
        fields = self.body(ClaimInput, optional=True)
        done = self.once(
            lambda: claim(job_id=number, actor=self.actor, lease_seconds=fields.lease_seconds),
            identify=_claim_of,
            again=self._claimed_before,
        )
        self.alive()
        return self._handed_over(done, ignored=ClaimInput.ignored(self.parsed))

    @extend_schema(
        summary="Claim the next job of one or several roles",
        description="Highest priority first, then oldest. 404 tells in `reason` why there is nothing.",
        request=ClaimNextInput,
        parameters=[IDEMPOTENCY_KEY, SESSION],
        responses={201: ClaimAnswer, **JOB_WRITE_REFUSALS, 404: NothingAnswer},
    )
    def claim_next(self, request: Request) -> Response:
        fields = self.body(ClaimNextInput)
        done = self.once(
            lambda: claim_next(
                actor=self.actor,
                role_keys=fields.role_keys,
                labels=fields.labels,
                lease_seconds=fields.lease_seconds,
            ),
            identify=_claim_of,
            again=self._claimed_before,
        )
        # No sign of life: a worker that polls must not keep alive what its dead predecessor held.
        return self._handed_over(done, ignored=ClaimNextInput.ignored(self.parsed))

    def _handed_over(self, done: Done[Job], *, ignored: list[str]) -> Response:
        payload = claimed_job(done.value, holder=self.actor)
        return self.answer(payload, status=201, replayed=done.replayed, ignored=ignored)

    def _claimed_before(self, result: dict[str, Any]) -> Job:
        job = get_job(result["job_id"])
        require_current_claim(job, self.actor, result["lease_generation"])
        return job


def _claim_of(job: Job) -> dict[str, Any]:
    return {"job_id": job.pk, "lease_generation": job.lease_generation}
