"""The answers of the job routes, as the OpenAPI document describes them. A test holds the routes to these."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal

from drf_spectacular.utils import extend_schema_serializer
from pydantic import RootModel

from core.api.openapi import Answer, WriteAnswer
from core.examples import Exemplified
from jobs.lifecycle import Priority, Status

AT = "2026-12-01T10:00:00.000000Z"
ARTIFACT: dict[str, Any] = {
    "type": "git_branch",
    "uri": "git://shop/login-form",
    "checksum": None,
    "metadata_json": {},
}
LEASE = {"generation": 2, "expires_at": "2026-12-01T10:30:00.000000Z", "heartbeat_seconds": 600.0}
ATTEMPT = {
    "agent": "qa-agent",
    "lease_generation": 1,
    "started_at": AT,
    "ended_at": AT,
    "outcome": "released",
    "reason": "Needs a machine with a screen",
    "last_progress": {"percent": 40, "note": "Half of the fields checked"},
}
EVENT = {
    "id": 12,
    "stream": "job:7",
    "sequence": 2,
    "event_type": "task_claimed",
    "job_id": 7,
    "actor": {"kind": "agent", "name": "qa-agent", "via": None},
    "previous_status": "published",
    "current_status": "in_progress",
    "payload_json": {"lease_generation": 1},
    "created_at": AT,
}
_BOTH = {
    "id": 7,
    "parent_job_id": None,
    "summary": "Review the login form",
    "status": "in_progress",
    "priority": 20,
    "source_agent_label": "Dev agent",
    "assignee_agent_label": "QA agent",
    "target_role_key": "qa",
    "retry_count": 0,
    "max_retries": 3,
    "routing_rules": None,
    "created_at": AT,
    "updated_at": AT,
    "labels": ["web"],
    "on_hold": False,
    "not_before": None,
}
ITEM = _BOTH | {"artifact_count": 1, "lease_expires_at": LEASE["expires_at"]}
JOB = _BOTH | {
    "context_payload": {"repository": "shop", "branch": "login-form"},
    "constraints": ["Every field has a label"],
    "artifacts": [ARTIFACT],
    "failure_reason": None,
    "blocked_reason": None,
    "unblock_reason": None,
    "cancel_reason": None,
    "published_at": AT,
    "started_at": AT,
    "completed_at": None,
    "failed_at": None,
    "blocked_at": None,
    "unblocked_at": None,
    "cancelled_at": None,
    "expires_at": None,
    "result_summary": None,
    "result": None,
    "version": 1,
    "lease_expiry_count": 0,
    "progress": None,
    "lease": LEASE,
}


class ArtifactAnswer(Answer):
    """What a job points to. The checksum is its publisher's word, not verified."""

    type: str
    uri: str
    checksum: str | None
    metadata_json: dict[str, Any]


class LeaseAnswer(Answer):
    """Send `generation` with every write; after `expires_at` the job goes back to the board."""

    generation: int
    expires_at: datetime
    heartbeat_seconds: float


class ProgressAnswer(Answer):
    """What the holder last said of its progress."""

    percent: int | None
    note: str | None
    at: datetime


class AttemptAnswer(Answer):
    """An earlier holder of the job, and how that ended."""

    agent: str
    lease_generation: int | None
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None
    reason: str | None
    last_progress: dict[str, Any] | None


class JobItem(Answer):
    """A job in a list, without its payload."""

    id: int
    parent_job_id: int | None
    summary: str
    status: Status
    priority: Priority
    source_agent_label: str
    assignee_agent_label: str | None
    target_role_key: str
    retry_count: int
    max_retries: int
    routing_rules: list[dict[str, Any]] | None
    created_at: datetime
    updated_at: datetime
    labels: list[str]
    artifact_count: int
    on_hold: bool
    not_before: datetime | None
    lease_expires_at: datetime | None


class JobAnswer(Answer):
    """The whole job."""

    example: ClassVar[Any] = JOB

    id: int
    parent_job_id: int | None
    summary: str
    context_payload: dict[str, Any]
    status: Status
    priority: Priority
    source_agent_label: str
    assignee_agent_label: str | None
    target_role_key: str
    constraints: list[str]
    retry_count: int
    max_retries: int
    routing_rules: list[dict[str, Any]] | None
    artifacts: list[ArtifactAnswer]
    failure_reason: str | None
    blocked_reason: str | None
    unblock_reason: str | None
    published_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    failed_at: datetime | None
    blocked_at: datetime | None
    unblocked_at: datetime | None
    cancelled_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    cancel_reason: str | None
    result_summary: str | None
    result: Any
    labels: list[str]
    on_hold: bool
    not_before: datetime | None
    version: int
    lease_expiry_count: int
    progress: ProgressAnswer | None
    lease: LeaseAnswer | None


class ClaimAnswer(JobAnswer, WriteAnswer):
    """Everything that the work needs: the whole job, its lease, and what earlier attempts came to."""

    example: ClassVar[Any] = JOB | {"previous_attempts": [ATTEMPT]}

    previous_attempts: list[AttemptAnswer]


class PublishedAnswer(WriteAnswer):
    """The new job's id, and where it is now."""

    example: ClassVar[Any] = {"job_id": 7, "status": "published"}

    job_id: int
    status: Status


class MovedAnswer(WriteAnswer):
    """Where the job was, and where it is now."""

    example: ClassVar[Any] = {"job_id": 7, "previous_status": "in_progress", "new_status": "completed"}

    job_id: int
    previous_status: Status
    new_status: Status


class UpdatedAnswer(WriteAnswer):
    """The job's content has a new version."""

    example: ClassVar[Any] = {"job_id": 7, "message": "job with job_id 7 updated successfully", "version": 2}

    job_id: int
    message: str
    version: int


class HeartbeatAnswer(WriteAnswer):
    """The extended lease; null while the job is blocked, when none runs."""

    example: ClassVar[Any] = {"lease": LEASE}

    lease: LeaseAnswer | None


class EventActorAnswer(Answer):
    """Who did it; `via` is the person who did it in the agent's name."""

    kind: str
    name: str
    via: str | None


class EventAnswer(Answer):
    """One fact of a trail."""

    id: int
    stream: str
    sequence: int
    event_type: str
    job_id: int | None
    actor: EventActorAnswer
    previous_status: Status | None
    current_status: Status | None
    payload_json: dict[str, Any]
    created_at: datetime


class NothingAnswer(Answer):
    """There is nothing to claim now, why, and when to ask again."""

    example: ClassVar[Any] = {
        "detail": "No published jobs available for the given target role.",
        "reason": "empty",
        "retry_after_seconds": 5,
    }

    detail: str
    reason: Literal["empty", "blocked", "on_hold", "paused", "at_capacity", "not_due"]
    retry_after_seconds: int


# The models of lists are arrays themselves: the document must not make arrays of arrays of them.
@extend_schema_serializer(many=False)
class JobList(Exemplified, RootModel[list[JobItem]]):
    """A bare array, as the reference answers it."""

    example: ClassVar[Any] = [ITEM]


class Trail(Exemplified, RootModel[list[EventAnswer]]):
    """A bare array, oldest first."""

    example: ClassVar[Any] = [EVENT]


class ArtifactList(Exemplified, RootModel[list[ArtifactAnswer]]):
    """A bare array, in the order of attachment."""

    example: ClassVar[Any] = [ARTIFACT]
