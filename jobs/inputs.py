"""The fields of a job's requests and their bounds, as every door reads them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, StrictBool, model_validator
from pydantic_core import PydanticCustomError

from core.inputs import (
    ContextPayload,
    Id,
    Input,
    Metadata,
    Moment,
    NeededReason,
    Note,
    Reason,
    Result,
    not_blank,
)
from core.limits import LIMITS
from jobs.lifecycle import Priority, Status

Summary = Annotated[str, Field(min_length=1, max_length=LIMITS.summary_max), AfterValidator(not_blank)]
Constraint = Annotated[
    str, Field(min_length=1, max_length=LIMITS.constraint_max_length), AfterValidator(not_blank)
]
Constraints = Annotated[list[Constraint], Field(max_length=LIMITS.constraints_max)]
Label = Annotated[
    str,
    Field(min_length=1, max_length=LIMITS.label_max_length),
    AfterValidator(not_blank),
    AfterValidator(str.strip),
]
Labels = Annotated[
    list[Label],
    Field(max_length=LIMITS.labels_max),
    AfterValidator(lambda labels: list(dict.fromkeys(labels))),
]
LeaseSeconds = Annotated[int, Field(ge=LIMITS.lease_seconds_min, le=LIMITS.lease_seconds_max)]
Generation = Annotated[int, Field(ge=0)]
StuckMinutes = Annotated[int, Field(ge=1, le=366 * 24 * 60)]


class ArtifactInput(Input):
    """A reference: all four keys, as the reference asks for."""

    type: Annotated[str, Field(min_length=1, max_length=LIMITS.name_max)]
    uri: Annotated[str, Field(min_length=1, max_length=LIMITS.uri_max)]
    checksum: Annotated[str, Field(max_length=LIMITS.name_max)] | None
    metadata_json: Metadata


Artifacts = Annotated[list[ArtifactInput], Field(max_length=LIMITS.artifacts_max)]


class PublishInput(Input):
    """A new job. What the reference requires is required; our additions have defaults."""

    example: ClassVar[dict[str, Any]] = {
        "parent_job_id": None,
        "summary": "Review the login form",
        "context_payload": {"repository": "shop", "branch": "login-form"},
        "target_role_key": "qa",
        "constraints": ["Every field has a label", "A wrong password says so"],
        "artifacts": [
            {"type": "git_branch", "uri": "git://shop/login-form", "checksum": None, "metadata_json": {}}
        ],
        "priority": 20,
    }

    parent_job_id: Id | None
    summary: Summary
    context_payload: ContextPayload
    target_role_key: str
    constraints: Constraints
    artifacts: Artifacts
    priority: Priority
    blocked_by: Annotated[list[Id], Field(max_length=LIMITS.blockers_max)] = []
    routing_rules: Annotated[list[dict[str, Any]], Field(max_length=LIMITS.routing_rules_max)] | None = None
    max_retries: Annotated[int, Field(ge=0, le=LIMITS.max_retries_max)] = 3
    labels: Labels = []
    on_hold: StrictBool = False
    not_before: Moment | None = None
    expires_at: Moment | None = None

    @model_validator(mode="after")
    def _expires_after_it_is_due(self) -> Self:
        if self.not_before and self.expires_at and self.expires_at <= self.not_before:
            raise PydanticCustomError("value_error", "Value error, expires_at must be later than not_before")
        return self


class ClaimInput(Input):
    example: ClassVar[dict[str, Any]] = {"lease_seconds": 1800}

    lease_seconds: LeaseSeconds | None = None


class ClaimNextInput(Input):
    """One role or several, and optionally labels that the job must have, all of them."""

    example: ClassVar[dict[str, Any]] = {"target_role_key": "qa"}

    target_role_key: str | None = None
    target_role_keys: Annotated[list[str], Field(min_length=1, max_length=50)] | None = None
    labels: Labels = []
    lease_seconds: LeaseSeconds | None = None

    @model_validator(mode="after")
    def _names_a_role(self) -> Self:
        if self.target_role_key is None and self.target_role_keys is None:
            raise PydanticCustomError(
                "value_error", "Value error, target_role_key or target_role_keys must be provided"
            )
        return self

    @property
    def role_keys(self) -> list[str]:
        first = [self.target_role_key] if self.target_role_key is not None else []
        return first + (self.target_role_keys or [])


class StatusInput(Input):
    """A change of status with what it carries; `lease_generation` fences a holder's write."""

    example: ClassVar[dict[str, Any]] = {
        "status": "completed",
        "result_summary": "All fields are labelled; one message was unclear and is mended",
        "result": {"commits": ["4f1c2a9"]},
    }

    status: Status
    failure_reason: Reason | None = None
    blocked_reason: Reason | None = None
    unblock_reason: Reason | None = None
    reason: Reason | None = None
    result_summary: Annotated[str, Field(max_length=LIMITS.result_summary_max)] | None = None
    result: Result = None
    lease_generation: Generation | None = None

    @model_validator(mode="after")
    def _unblocks_with_a_reason(self) -> Self:
        if self.status is Status.UNBLOCKED and not (self.unblock_reason or "").strip():
            raise PydanticCustomError(
                "value_error", "Value error, unblock_reason must be provided with the status unblocked"
            )
        return self

    def unused_fields(self) -> list[str]:
        """Fields that were sent although they say nothing about the wanted status."""
        used = _USED_WITH.get(self.status, frozenset())
        sent = {name for name in _CARRIED if getattr(self, name) is not None}
        return sorted(sent - used)


_CARRIED = frozenset(
    {"failure_reason", "blocked_reason", "unblock_reason", "reason", "result_summary", "result"}
)
_USED_WITH = {
    Status.COMPLETED: frozenset({"result_summary", "result"}),
    Status.FAILED: frozenset({"failure_reason"}),
    Status.BLOCKED: frozenset({"blocked_reason"}),
    Status.UNBLOCKED: frozenset({"unblock_reason"}),
    Status.CANCELLED: frozenset({"reason"}),
    Status.PUBLISHED: frozenset({"reason"}),
}


class ReasonInput(Input):
    """release, requeue, hold, unhold."""

    example: ClassVar[dict[str, Any]] = {"reason": "Needs a machine with a screen"}

    reason: Reason | None = None
    lease_generation: Generation | None = None


class PersonReasonInput(Input):
    """Why a person cancels, requeues, holds or unholds a job."""

    example: ClassVar[dict[str, Any]] = {"reason": "Its holder has been offline since yesterday"}

    reason: Reason | None = None


class UnblockInput(Input):
    """The answer to what a blocked job waits for."""

    example: ClassVar[dict[str, Any]] = {
        "unblock_reason": "Use the staging database; the key is in the vault"
    }

    unblock_reason: Annotated[NeededReason, AfterValidator(str.strip)]


class HeartbeatInput(Input):
    example: ClassVar[dict[str, Any]] = {"progress_percent": 40, "note": "Half of the fields checked"}

    lease_generation: Generation | None = None
    progress_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    note: Note | None = None


class UpdateInput(Input):
    """Each value replaces the whole field."""

    example: ClassVar[dict[str, Any]] = {"constraints": ["Every field has a label"]}

    context_payload: ContextPayload | None = None
    constraints: Constraints | None = None
    lease_generation: Generation | None = None
    expected_version: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.context_payload is None and self.constraints is None:
            raise PydanticCustomError(
                "value_error", "Value error, At least one of context_payload or constraints must be provided"
            )
        return self


class EditInput(Input):
    """What a person may change of an open job; each value replaces the whole field, what is left out stays.

    null clears `not_before` and `expires_at`; the other fields cannot be null.
    """

    example: ClassVar[dict[str, Any]] = {"priority": 30, "labels": ["release"]}

    summary: Summary = ""
    context_payload: ContextPayload = {}
    constraints: Constraints = []
    priority: Priority = Priority.NORMAL
    target_role_key: str = ""
    labels: Labels = []
    not_before: Moment | None = None
    expires_at: Moment | None = None
    expected_version: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set - {"expected_version"}:
            raise PydanticCustomError(
                "value_error", "Value error, At least one field that can be changed must be provided"
            )
        return self

    def as_changes(self) -> dict[str, Any]:
        """Only what was given, for `update`."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class ReassignInput(Input):
    """To which agent a job goes, and why."""

    example: ClassVar[dict[str, Any]] = {"agent_name": "reviewer", "reason": "It knows this module"}

    agent_name: str
    reason: Reason | None = None
    lease_seconds: LeaseSeconds | None = None


class ListOrder(StrEnum):
    CREATED_AT_ASC = "created_at_asc"
    CREATED_AT_DESC = "created_at_desc"
    PRIORITY_ASC = "priority_asc"
    PRIORITY_DESC = "priority_desc"


class PageInput(Input):
    """Which page of a list of jobs."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    offset: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    cursor: str | None = None

    @model_validator(mode="after")
    def _one_way_of_paging(self) -> Self:
        if self.cursor is not None and self.offset is not None:
            raise PydanticCustomError(
                "value_error", "Value error, cursor and offset exclude each other: send one of them"
            )
        return self


class JobsInput(PageInput):
    """Which jobs, in which order, and which page."""

    status: list[Status] = []
    order: list[ListOrder] = [ListOrder.CREATED_AT_ASC]
    target_role_key: str | None = None
    # More than a job has cannot match, and each is a condition of its own.
    label: Annotated[list[Label], Field(max_length=LIMITS.labels_max)] = []


class ListInput(JobsInput):
    """As an agent lists jobs: of its own roles unless it says otherwise, and counted only if it asks."""

    my_roles_only: bool = True
    count: bool = False


class PersonListInput(JobsInput):
    """As a person lists jobs: also by their holder (its address), and those that are stuck, or are not."""

    assignee: str | None = None
    stuck: bool | None = None


class StuckInput(PageInput):
    """Which page of the stuck jobs; `stuck_minutes` stands in for what each role says."""

    stuck_minutes: StuckMinutes | None = None


class StatsInput(Input):
    """Over how many hours to count, and after how many minutes a job is stuck (else as each role says)."""

    window_hours: Annotated[int, Field(ge=1, le=10 * 366 * 24)] = 24
    stuck_minutes: StuckMinutes | None = None


class TrailInput(Input):
    """Which part of a trail: `after` is the sequence number of the last event seen."""

    limit: Annotated[int, Field(ge=1, le=500)] = 200
    after: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0


class NewestInput(Input):
    """Which part of a trail, newest event first: `before` is the sequence number of the last event seen."""

    limit: Annotated[int, Field(ge=1, le=500)] = 200
    before: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
