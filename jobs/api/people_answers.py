"""The answers of people's job routes, as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_serializer

from core.api.openapi import Answer
from jobs.api.answers import (
    AT,
    ATTEMPT,
    ITEM,
    JOB,
    AttemptAnswer,
    EventActorAnswer,
    LeaseAnswer,
    MovedAnswer,
    ProgressAnswer,
)
from jobs.lifecycle import Priority, Status

_STUCK = {"since": AT, "reason": "qa-agent has told of no progress for 1 h 12 min."}
_VERB = {
    "verb": "requeue",
    "to": "published",
    "label": "Requeue",
    "warning": "Whoever holds the job loses it, and what it writes from then on is refused.",
    "names_an_agent": False,
}
_ROW = {name: value for name, value in ITEM.items() if name != "routing_rules"} | {
    "parent_job_summary": None,
    "target_role_label": "QA",
    "assignee": "qa-agent",
    "status_changed_at": AT,
    "stuck": _STUCK,
}
_EVENT = {
    "event_type": "task_claimed",
    "current_status": "in_progress",
    "actor_agent_label": "QA agent",
    "payload_json": {"lease_generation": 1},
    "created_at": AT,
    "id": 12,
    "sequence": 2,
    "previous_status": "published",
    "actor": {"kind": "agent", "name": "qa-agent", "via": None},
}
_ARTIFACT = {
    "id": 4,
    "artifact_type": "git_branch",
    "artifact_uri": "git://shop/login-form",
    "artifact_checksum": None,
    "metadata_json": {},
    "created_at": AT,
}


class StuckAnswer(Answer):
    """Since when a job needs a person, and one sentence that says why."""

    since: datetime
    reason: str


class PersonVerbAnswer(Answer):
    """What a person may do now; `warning` says what it does to whoever is affected."""

    verb: str
    to: Status | None
    label: str
    warning: str | None
    names_an_agent: bool


class PersonItem(Answer):
    """A job in a list, without its payload."""

    id: int
    parent_job_id: int | None
    parent_job_summary: str | None
    summary: str
    status: Status
    priority: Priority
    source_agent_label: str
    assignee_agent_label: str | None
    target_role_label: str
    retry_count: int
    max_retries: int
    created_at: datetime
    updated_at: datetime
    target_role_key: str
    assignee: str | None
    labels: list[str]
    artifact_count: int
    on_hold: bool
    not_before: datetime | None
    lease_expires_at: datetime | None
    status_changed_at: datetime
    stuck: StuckAnswer | None


# An object, though the action is called `list`.
@extend_schema_serializer(many=False)
class PersonPage(Answer):
    """A page of jobs. `next_cursor` leads to the next one, and is null on the last."""

    example: ClassVar[Any] = {"items": [_ROW], "total": 1, "limit": 50, "offset": 0, "next_cursor": None}

    items: list[PersonItem]
    total: int
    limit: int
    offset: int
    next_cursor: str | None


class CountsAnswer(Answer):
    """How many jobs are in each of the eight states."""

    example: ClassVar[Any] = {"counts": {str(status): 0 for status in Status}}

    counts: dict[str, int]


class PersonEventAnswer(Answer):
    """One fact of a trail."""

    event_type: str
    current_status: Status | None
    actor_agent_label: str | None
    payload_json: dict[str, Any]
    created_at: datetime
    id: int
    sequence: int
    previous_status: Status | None
    actor: EventActorAnswer


class PersonTrail(Answer):
    """Newest first; `before` of the next page, null at the beginning of the trail."""

    example: ClassVar[Any] = {"items": [_EVENT], "before": None}

    items: list[PersonEventAnswer]
    before: int | None


class ArtifactRow(Answer):
    """What a job points to. The checksum is its publisher's word, not verified."""

    id: int
    artifact_type: str
    artifact_uri: str
    artifact_checksum: str | None
    metadata_json: dict[str, Any]
    created_at: datetime


class DependencyAnswer(Answer):
    """A job that this one waits for, or that waits for it."""

    job_id: int
    summary: str
    status: Status
    target_role_label: str
    dependency_type: str


class PersonJobAnswer(Answer):
    """The whole job, with the newest 200 events of its trail and what a person may do about it."""

    example: ClassVar[Any] = JOB | {
        "artifacts": [_ARTIFACT],
        "parent_job_summary": None,
        "target_role_label": "QA",
        "events": [_EVENT],
        "upstream_dependencies": [],
        "downstream_dependencies": [],
        "assignee": "qa-agent",
        "status_changed_at": AT,
        "previous_attempts": [ATTEMPT],
        "events_before": None,
        "stuck": _STUCK,
        "allowed": [_VERB],
    }

    id: int
    parent_job_id: int | None
    parent_job_summary: str | None
    summary: str
    context_payload: dict[str, Any]
    status: Status
    priority: Priority
    source_agent_label: str
    assignee_agent_label: str | None
    target_role_label: str
    constraints: list[str]
    routing_rules: list[dict[str, Any]] | None
    retry_count: int
    max_retries: int
    artifacts: list[ArtifactRow]
    events: list[PersonEventAnswer]
    failure_reason: str | None
    blocked_reason: str | None
    unblock_reason: str | None
    upstream_dependencies: list[DependencyAnswer]
    downstream_dependencies: list[DependencyAnswer]
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
    target_role_key: str
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
    assignee: str | None
    status_changed_at: datetime
    previous_attempts: list[AttemptAnswer]
    events_before: int | None
    stuck: StuckAnswer | None
    allowed: list[PersonVerbAnswer]


class UnblockedAnswer(MovedAnswer):
    """Where the job was, where it is now, and the answer that it got."""

    example: ClassVar[Any] = {
        "job_id": 7,
        "previous_status": "blocked",
        "new_status": "unblocked",
        "unblock_reason": "Use the staging database",
    }

    unblock_reason: str


class StuckItem(Answer):
    """A job that needs a person."""

    id: int
    summary: str
    status: Status
    priority: Priority
    target_role_key: str
    assignee: str | None
    since: datetime
    reason: str
    allowed: list[PersonVerbAnswer]


class StuckPage(Answer):
    """A page of the stuck jobs, longest first."""

    example: ClassVar[Any] = {
        "items": [
            {
                "id": 7,
                "summary": "Review the login form",
                "status": "in_progress",
                "priority": 20,
                "target_role_key": "qa",
                "assignee": "qa-agent",
                **_STUCK,
                "allowed": [_VERB],
            }
        ],
        "total": 1,
        "limit": 50,
        "offset": 0,
        "next_cursor": None,
    }

    items: list[StuckItem]
    total: int
    limit: int
    offset: int
    next_cursor: str | None
