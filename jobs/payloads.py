"""How a job reads on the wire: one shape for a list item, one for the whole, shared by all doors."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from agents.selectors import labels_of
from artifacts.payloads import artifact_payload, artifact_row
from artifacts.selectors import artifacts_of
from core.actors import Actor
from core.clock import iso
from events.models import Event
from jobs.filters import stuck_among
from jobs.inputs import NewestInput
from jobs.lifecycle import LEASED, arrow_from
from jobs.models import Job
from jobs.selectors import newest_events, previous_attempts, summary_of
from jobs.services.by_persons import open_to_persons
from jobs.stuck import StuckJob

_HEARTBEATS_A_LEASE = 3


def list_item(row: dict[str, Any]) -> dict[str, Any]:
    """A job in a list: the reference's fields in its order, then ours. No payload."""
    return {
        "id": row["id"],
        "parent_job_id": row["parent_job_id"],
        "summary": row["summary"],
        "status": row["status"],
        "priority": row["priority"],
        "source_agent_label": row["source_agent__agent_label"] or row["source_name"],
        "assignee_agent_label": row["assignee_agent__agent_label"],
        "target_role_key": row["target_role__role_key"],
        "retry_count": row["retry_count"],
        "max_retries": row["max_retries"],
        "routing_rules": row["routing_rules"],
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "labels": row["labels"],
        "artifact_count": row["artifact_count"],
        "on_hold": row["on_hold"],
        "not_before": iso(row["not_before"]),
        "lease_expires_at": iso(row["lease_expires_at"]),
    }


def full_job(job: Job, *, reader: Actor | None = None) -> dict[str, Any]:
    """The whole job: the reference's fields in its order, then ours.

    `reader` saves a look-up: a holder that reads its own job knows its label.
    """
    return {
        "id": job.pk,
        "parent_job_id": job.parent_job_id,
        "summary": job.summary,
        "context_payload": job.context_payload,
        "status": job.status,
        "priority": job.priority,
        "source_agent_label": job.source_agent.agent_label if job.source_agent else job.source_name,
        "assignee_agent_label": _assignee_label(job, reader),
        "target_role_key": job.target_role.role_key,
        "constraints": job.constraints,
        "retry_count": job.retry_count,
        "max_retries": job.max_retries,
        "routing_rules": job.routing_rules,
        "artifacts": [artifact_payload(artifact) for artifact in artifacts_of(job.pk)]
        if job.artifact_count
        else [],
        "failure_reason": job.failure_reason,
        "blocked_reason": job.blocked_reason,
        "unblock_reason": job.unblock_reason,
        "published_at": iso(job.published_at),
        "started_at": iso(job.started_at),
        "completed_at": iso(job.completed_at),
        "failed_at": iso(job.failed_at),
        "blocked_at": iso(job.blocked_at),
        "unblocked_at": iso(job.unblocked_at),
        "cancelled_at": iso(job.cancelled_at),
        "expires_at": iso(job.expires_at),
        "created_at": iso(job.created_at),
        "updated_at": iso(job.updated_at),
        "cancel_reason": job.cancel_reason,
        "result_summary": job.result_summary,
        "result": job.result,
        "labels": job.labels,
        "on_hold": job.on_hold,
        "not_before": iso(job.not_before),
        "version": job.version,
        "lease_expiry_count": job.lease_expiry_count,
        "progress": progress(job),
        "lease": lease(job),
    }


def claimed_job(job: Job, *, holder: Actor) -> dict[str, Any]:
    """The fat claim: everything that the work needs, and what earlier attempts came to."""
    return full_job(job, reader=holder) | {"previous_attempts": previous_attempts(job)}


def person_item(row: dict[str, Any], stuck: StuckJob | None) -> dict[str, Any]:
    """A job in a person's list: the reference's fields in its order, then ours. No payload."""
    return {
        "id": row["id"],
        "parent_job_id": row["parent_job_id"],
        "parent_job_summary": row["parent_job__summary"],
        "summary": row["summary"],
        "status": row["status"],
        "priority": row["priority"],
        "source_agent_label": row["source_agent__agent_label"] or row["source_name"],
        "assignee_agent_label": row["assignee_agent__agent_label"],
        "target_role_label": row["target_role__role_label"],
        "retry_count": row["retry_count"],
        "max_retries": row["max_retries"],
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "target_role_key": row["target_role__role_key"],
        "assignee": row["assignee_agent__name"],
        "labels": row["labels"],
        "artifact_count": row["artifact_count"],
        "on_hold": row["on_hold"],
        "not_before": iso(row["not_before"]),
        "lease_expires_at": iso(row["lease_expires_at"]),
        "status_changed_at": iso(row["status_changed_at"]),
        "stuck": why_stuck(stuck),
    }


_OF_THE_REFERENCE = ("source_agent_label", "assignee_agent_label")
_REASONS = ("failure_reason", "blocked_reason", "unblock_reason")
_MOMENTS = (
    *("published_at", "started_at", "completed_at", "failed_at", "blocked_at", "unblocked_at"),
    *("cancelled_at", "expires_at", "created_at", "updated_at"),
)


def person_job(job: Job, *, now: datetime) -> dict[str, Any]:
    """The whole job as a person sees it: the reference's fields in its order, then ours.

    With the newest events of its trail; `events_before` says where older ones go on. `allowed` are the verbs
    that a person may use now.
    """
    whole = full_job(job)
    events, before = newest_events(job.pk, NewestInput())
    return (
        {
            "id": job.pk,
            "parent_job_id": job.parent_job_id,
            "parent_job_summary": summary_of(job.parent_job_id),
            **{name: whole[name] for name in ("summary", "context_payload", "status", "priority")},
            **{name: whole[name] for name in _OF_THE_REFERENCE},
            "target_role_label": job.target_role.role_label,
            **{name: whole[name] for name in ("constraints", "routing_rules", "retry_count", "max_retries")},
            "artifacts": [artifact_row(artifact) for artifact in artifacts_of(job.pk)],
            "events": event_rows(events),
            **{name: whole[name] for name in _REASONS},
            "upstream_dependencies": [],
            "downstream_dependencies": [],
            **{name: whole[name] for name in _MOMENTS},
        }
        # What follows in the whole job are our own fields.
        | {name: value for name, value in whole.items() if name != "artifacts"}
        | {
            "assignee": job.assignee_agent.name if job.assignee_agent else None,
            "status_changed_at": iso(job.status_changed_at),
            "previous_attempts": previous_attempts(job),
            "events_before": before,
            "stuck": why_stuck(stuck_among([job.pk], now).get(job.pk)),
            "allowed": verbs_for_persons(job),
        }
    )


def verbs_for_persons(job: Job) -> list[dict[str, Any]]:
    """What a person may do with the job now, and what to know before."""
    found = []
    for entry in open_to_persons(job):
        arrow = arrow_from(entry.verb, job.state)
        found.append(
            {
                "verb": str(entry.verb),
                "to": str(arrow.target) if arrow and arrow.target else None,
                "label": entry.label,
                "warning": entry.warning or None,
                "names_an_agent": entry.names_an_agent,
            }
        )
    return found


def stuck_item(stuck: StuckJob) -> dict[str, Any]:
    """A job that needs a person: since when, why, and what a person may do about it."""
    job = stuck.job
    return {
        "id": job.pk,
        "summary": job.summary,
        "status": job.status,
        "priority": job.priority,
        "target_role_key": job.target_role.role_key,
        "assignee": job.assignee_agent.name if job.assignee_agent else None,
        "since": iso(stuck.since),
        "reason": stuck.reason,
        "allowed": verbs_for_persons(job),
    }


def why_stuck(stuck: StuckJob | None) -> dict[str, Any] | None:
    return None if stuck is None else {"since": iso(stuck.since), "reason": stuck.reason}


def lease(job: Job) -> dict[str, Any] | None:
    """`generation` fences writes, `expires_at` is when the job goes back; None while no lease runs."""
    if job.state not in LEASED or job.lease_seconds is None:
        return None
    return {
        "generation": job.lease_generation,
        "expires_at": iso(job.lease_expires_at),
        "heartbeat_seconds": round(job.lease_seconds / _HEARTBEATS_A_LEASE, 1),
    }


def progress(job: Job) -> dict[str, Any] | None:
    if job.progress_at is None:
        return None
    return {"percent": job.progress_percent, "note": job.progress_note, "at": iso(job.progress_at)}


def event_payload(event: Event) -> dict[str, Any]:
    """One fact of a trail."""
    return {
        "id": event.pk,
        "stream": event.stream,
        "sequence": event.sequence,
        "event_type": event.event_type,
        "job_id": event.job_id,
        "actor": {"kind": event.actor_kind, "name": event.actor_name, "via": event.via},
        "previous_status": event.previous_status,
        "current_status": event.current_status,
        "payload_json": event.payload,
        "created_at": iso(event.created_at),
    }


def event_rows(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Facts as persons see them: the reference's fields in its order, then ours."""
    found = list(events)
    labels = labels_of({event.actor_agent_id for event in found if event.actor_agent_id is not None})
    return [
        {
            "event_type": event.event_type,
            "current_status": event.current_status,
            "actor_agent_label": labels.get(event.actor_agent_id) if event.actor_agent_id else None,
            "payload_json": event.payload,
            "created_at": iso(event.created_at),
            "id": event.pk,
            "sequence": event.sequence,
            "previous_status": event.previous_status,
            "actor": {"kind": event.actor_kind, "name": event.actor_name, "via": event.via},
        }
        for event in found
    ]


def _assignee_label(job: Job, reader: Actor | None) -> str | None:
    if job.assignee_agent_id is None:
        return None
    if reader is not None and reader.agent_id == job.assignee_agent_id:
        return reader.agent_label
    return job.assignee_agent.agent_label if job.assignee_agent else None
