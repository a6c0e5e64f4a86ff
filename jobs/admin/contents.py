"""What the page of a job shows: facts, reasons, artifacts, and the trail as a timeline."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from agents.presence import presence
from artifacts.models import Artifact
from core.admin.showing import badge, lines, readable_json, shown, text
from events.models import Event
from jobs.lifecycle import LEASED, Priority
from jobs.models import Job
from jobs.stuck import in_words

MARKS = {
    Priority.URGENT: "⇈ urgent",
    Priority.HIGH: "↑ high",
    Priority.NORMAL: "normal",
    Priority.LOW: "↓ low",
}
_UNTOLD = frozenset({"timestamp"})
# What an event says in words, and what that is called; everything else is under "details".
_WORDS = {
    "reason": "why",
    "failure_reason": "why",
    "blocked_reason": "waits for",
    "unblock_reason": "answer",
    "result_summary": "delivered",
    "note": "note",
    "assigned_to": "to",
    "taken_from": "from",
    "holder": "holder",
}


def facts(job: Job, now: datetime) -> list[tuple[str, Any]]:
    agent = job.assignee_agent
    holder = "–" if agent is None else f"{agent.name} ({presence(agent.last_seen_at, now)})"
    lease = "–"
    if job.state in LEASED and job.lease_expires_at is not None:
        left = job.lease_expires_at - now
        lease = f"{in_words(left)} left, generation {job.lease_generation}"
    progress = None
    if job.progress_at is not None:
        percent = "" if job.progress_percent is None else f"{job.progress_percent} % "
        progress = f"{percent}{text(job.progress_note)} ({in_words(now - job.progress_at)} ago)"
    found = [
        ("Role", text(job.target_role.role_key)),
        ("Priority", MARKS[Priority(job.priority)]),
        ("Holder", holder),
        ("Lease", lease),
        ("Progress", progress),
        ("In this state for", in_words(now - job.status_changed_at)),
        ("From", text(job.source_agent.name if job.source_agent else job.source_name)),
        ("Labels", ", ".join(map(text, job.labels))),
        ("Retries", f"{job.retry_count} of {job.max_retries}; leases run out: {job.lease_expiry_count}"),
        ("Version", job.version),
        ("Published", shown(job.published_at)),
        ("Started", shown(job.started_at)),
        ("Completed", shown(job.completed_at)),
        ("Not before", shown(job.not_before)),
        ("Expires", shown(job.expires_at)),
    ]
    return [(name, value) for name, value in found if value not in {None, "", "–"}]


def reasons(job: Job) -> list[tuple[str, str]]:
    said = (
        ("Why it failed", job.failure_reason),
        ("What it waits for", job.blocked_reason),
        ("The answer", job.unblock_reason),
        ("Why it was cancelled", job.cancel_reason),
        ("What was delivered", job.result_summary),
    )
    return [(name, lines(value)) for name, value in said if value]


def told(event: Event) -> dict[str, Any]:
    """An event for the timeline: who, what, when, and everything it says beside the state."""
    said = {name: value for name, value in event.payload.items() if name not in _UNTOLD and value is not None}
    words = [(_WORDS[name], lines(value)) for name, value in said.items() if name in _WORDS]
    rest = {name: value for name, value in said.items() if name not in _WORDS}
    return {
        "kind": event.event_type.removeprefix("task_").replace("_", " "),
        "by": f"{event.actor_name} (by {event.via})" if event.via else event.actor_name,
        "actor_kind": event.actor_kind,
        "at": shown(event.created_at),
        "status": badge(event.current_status) if event.current_status else "",
        "words": words,
        "rest": readable_json(rest) if rest else None,
    }


def pointer(artifact: Artifact) -> tuple[str, str, str]:
    """Kind, address and claimed checksum of what a job points to."""
    checksum = artifact.artifact_checksum
    return text(artifact.artifact_type), text(artifact.artifact_uri), text(checksum) if checksum else ""
