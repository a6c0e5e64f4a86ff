"""The answers of the job routes, as the OpenAPI document describes them. A test holds the routes to these."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, RootModel

from jobs.lifecycle import Priority, Status


class ArtifactAnswer(BaseModel):
    type: str
    uri: str
    checksum: str | None
    metadata_json: dict[str, Any]


class LeaseAnswer(BaseModel):
    generation: int
    expires_at: datetime
    heartbeat_seconds: float


class ProgressAnswer(BaseModel):
    percent: int | None
    note: str | None
    at: datetime


class AttemptAnswer(BaseModel):
    agent: str
    lease_generation: int | None
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None
    reason: str | None
    last_progress: dict[str, Any] | None


class JobItem(BaseModel):
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


class JobAnswer(BaseModel):
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


class ClaimAnswer(JobAnswer):
    previous_attempts: list[AttemptAnswer]


class PublishedAnswer(BaseModel):
    job_id: int
    status: Status


class MovedAnswer(BaseModel):
    job_id: int
    previous_status: Status
    new_status: Status


class UpdatedAnswer(BaseModel):
    job_id: int
    message: str
    version: int


class HeartbeatAnswer(BaseModel):
    lease: LeaseAnswer | None


class EventActorAnswer(BaseModel):
    kind: str
    name: str


class EventAnswer(BaseModel):
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


class JobList(RootModel[list[JobItem]]):
    """A bare array, as the reference answers it."""


class Trail(RootModel[list[EventAnswer]]):
    """A bare array, oldest first."""


class ArtifactList(RootModel[list[ArtifactAnswer]]):
    """A bare array, in the order of attachment."""
