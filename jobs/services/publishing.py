"""Publishing: a new job enters the board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from artifacts.services import attach
from core.actors import Actor
from core.clock import database_moment
from core.errors import invalid
from core.ids import allocate_ids
from core.transactions import write_transaction
from jobs import transitions
from jobs.errors import NotYetPossible
from jobs.lifecycle import Priority
from jobs.models import Job, JobLabel
from roles.selectors import active_role


@write_transaction
def publish(
    *,
    actor: Actor,
    summary: str,
    context_payload: Mapping[str, Any],
    target_role_key: str,
    constraints: Sequence[str] = (),
    artifacts: Sequence[Mapping[str, Any]] = (),
    priority: int = Priority.NORMAL,
    parent_job_id: int | None = None,
    blocked_by: Sequence[int] = (),
    routing_rules: Sequence[Mapping[str, Any]] | None = None,
    max_retries: int = 3,
    labels: Sequence[str] = (),
    on_hold: bool = False,
    not_before: datetime | None = None,
    expires_at: datetime | None = None,
) -> Job:
    """Put a new job on the board of its role. The input has been validated by `jobs.inputs`."""
    if parent_job_id is not None and not Job.objects.filter(pk=parent_job_id).exists():
        raise invalid("parent_job.invalid", ("parent_job_id",), "Parent job is invalid.", parent_job_id)
    if blocked_by:
        raise NotYetPossible(what="blocked_by", field="blocked_by")
    role = active_role(target_role_key, loc=("target_role_key",), keep=True)
    if routing_rules:
        raise NotYetPossible(what="routing_rules", field="routing_rules")
    moment = database_moment()
    if expires_at is not None and expires_at <= moment.now:
        raise invalid(
            "value_error", ("expires_at",), "Value error, expires_at must be in the future", str(expires_at)
        )
    [job_id] = allocate_ids(Job, 1)
    job = Job(
        id=job_id,
        summary=summary,
        context_payload=dict(context_payload),
        constraints=list(constraints),
        labels=list(labels),
        priority=priority,
        artifact_count=len(artifacts),
        target_role=role,
        source_agent_id=actor.agent_id,
        source_name=actor.agent_label or actor.name,
        parent_job_id=parent_job_id,
        on_hold=on_hold,
        not_before=not_before,
        is_deferred=not_before is not None and not_before > moment.now,
        expires_at=expires_at,
        max_retries=max_retries,
        created_at=moment.now,
        updated_at=moment.now,
    )
    payload = {
        "priority": priority,
        "target_role_id": role.pk,
        "artifact_count": len(artifacts),
        "blocked_by": [],
    }
    transitions.publish(job, moment=moment, actor=actor, payload=payload)
    attach(job_id=job.pk, artifacts=artifacts, created_at=moment.now)
    index_labels(job)
    return job


def index_labels(job: Job) -> None:
    """Write the rows by which jobs are found by label, as `job.labels` says."""
    if job.labels:
        JobLabel.objects.bulk_create([JobLabel(job=job, label=label) for label in job.labels])
