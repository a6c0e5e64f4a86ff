"""The verbs that a person may use on a job; what each does is in `jobs.services.by_persons`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.openapi import IDEMPOTENCY_KEY, JOB_WRITE_REFUSALS, WriteAnswer
from core.inputs import Input
from jobs.api.answers import MovedAnswer
from jobs.api.base import movement
from jobs.api.people_answers import UnblockedAnswer
from jobs.api.people_base import PersonJobViewSet
from jobs.inputs import PersonReasonInput, ReassignInput, UnblockInput
from jobs.lifecycle import Verb
from jobs.services.by_persons import BY_PERSONS

F = TypeVar("F", bound=Callable[..., Any])


def _moves(fields: type[Input], answer: type[WriteAnswer] = MovedAnswer) -> Callable[[F], F]:
    return extend_schema(
        request=fields, parameters=[IDEMPOTENCY_KEY], responses={200: answer, **JOB_WRITE_REFUSALS}
    )


class PersonVerbViewSet(PersonJobViewSet):
    """Each answers as an agent's change of status does: the job, where it was, where it is."""

    permissions = {str(verb): "jobs.change_job" for verb in BY_PERSONS}
    inputs = {
        "unblock": UnblockInput,
        "requeue": PersonReasonInput,
        "reassign": ReassignInput,
        "hold": PersonReasonInput,
        "unhold": PersonReasonInput,
        "cancel": PersonReasonInput,
    }

    @_moves(UnblockInput, UnblockedAnswer)
    @extend_schema(summary="Answer what a blocked job waits for")
    def unblock(self, request: Request, job_id: str) -> Response:
        number = self.path_id(job_id)
        fields = self.body(UnblockInput)
        return self._moved(
            Verb.UNBLOCK,
            number,
            fields.unblock_reason,
            told={"unblock_reason": fields.unblock_reason},
            ignored=UnblockInput.ignored(self.parsed),
        )

    @_moves(PersonReasonInput)
    @extend_schema(summary="Put a failed or held job back on the board")
    def requeue(self, request: Request, job_id: str) -> Response:
        return self._with_reason(Verb.REQUEUE, job_id)

    @_moves(ReassignInput)
    @extend_schema(summary="Give a published or held job to an agent")
    def reassign(self, request: Request, job_id: str) -> Response:
        number = self.path_id(job_id)
        fields = self.body(ReassignInput)
        return self._moved(
            Verb.REASSIGN,
            number,
            fields.reason,
            agent_name=fields.agent_name,
            lease_seconds=fields.lease_seconds,
            ignored=ReassignInput.ignored(self.parsed),
        )

    @_moves(PersonReasonInput)
    @extend_schema(summary="Keep a published job from being handed out")
    def hold(self, request: Request, job_id: str) -> Response:
        return self._with_reason(Verb.HOLD, job_id)

    @_moves(PersonReasonInput)
    @extend_schema(summary="Hand a held-back job out again")
    def unhold(self, request: Request, job_id: str) -> Response:
        return self._with_reason(Verb.UNHOLD, job_id)

    @_moves(PersonReasonInput)
    @extend_schema(summary="End a job for good")
    def cancel(self, request: Request, job_id: str) -> Response:
        return self._with_reason(Verb.CANCEL, job_id)

    def _with_reason(self, verb: Verb, job_id: str) -> Response:
        number = self.path_id(job_id)
        fields = self.body(PersonReasonInput, optional=True)
        return self._moved(verb, number, fields.reason, ignored=PersonReasonInput.ignored(self.parsed))

    def _moved(
        self,
        verb: Verb,
        job_id: int,
        reason: str | None,
        *,
        ignored: list[str],
        told: dict[str, Any] | None = None,
        **more: Any,
    ) -> Response:
        entry = BY_PERSONS[verb]
        done = self.once(
            lambda: movement(entry.act(job_id=job_id, actor=self.actor, reason=reason, **more)),
            identify=lambda moved: moved,
            again=lambda moved: moved,
        )
        return self.answer(done.value | (told or {}), replayed=done.replayed, ignored=ignored)
