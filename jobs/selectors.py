"""Reading jobs: lists that never load payloads, pages that hold still while rows are added, earlier attempts."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from core.actors import Actor
from core.clock import iso
from core.errors import invalid
from events.models import Event
from jobs.authority import lease_lost
from jobs.errors import JobNotFound
from jobs.inputs import JobsInput, ListInput, ListOrder, NewestInput, PageInput, TrailInput
from jobs.lifecycle import HELD
from jobs.models import Job, JobLabel
from roles.selectors import active_role

# What a list item shows; above all not the payloads.
LISTED = (
    "id",
    "parent_job_id",
    "summary",
    "status",
    "priority",
    "source_name",
    "source_agent__agent_label",
    "assignee_agent__agent_label",
    "target_role__role_key",
    "retry_count",
    "max_retries",
    "routing_rules",
    "created_at",
    "updated_at",
    "labels",
    "artifact_count",
    "on_hold",
    "not_before",
    "lease_expires_at",
)
# Columns and whether each is descending; the last one is unique.
SortKeys = list[tuple[str, bool]]
_KEYS = {
    ListOrder.CREATED_AT_ASC: ("created_at", False),
    ListOrder.CREATED_AT_DESC: ("created_at", True),
    ListOrder.PRIORITY_ASC: ("priority", False),
    ListOrder.PRIORITY_DESC: ("priority", True),
}
_TIMES = ("created_at", "stuck_since")
ATTEMPTS_MOST = 20
HEADS_AT_A_TIME = 1_000
_ATTEMPT_BEGINS = ("task_claimed", "task_restarted", "task_reassigned")
_ATTEMPT_ENDS = {
    "task_completed": "completed",
    "task_failed": "failed",
    "task_released": "released",
    "task_requeued": "requeued",
    "task_lease_expired": "lease_expired",
    "task_cancelled": "cancelled",
    "task_rejected": "rejected",
}


@dataclass(frozen=True, slots=True)
class JobPage:
    """Rows as dicts of the listed columns, the cursor of the next page (None at the end), and the total if asked."""

    rows: list[dict[str, Any]]
    next_cursor: str | None
    total: int | None


def get_job(job_id: int) -> Job:
    """The whole job with the names it mentions; JobNotFound."""
    job = (
        Job.objects.select_related("target_role", "source_agent", "assignee_agent").filter(pk=job_id).first()
    )
    if job is None:
        raise JobNotFound()
    return job


def summary_of(job_id: int | None) -> str | None:
    """One line of a job, without loading its payload."""
    if job_id is None:
        return None
    return Job.objects.filter(pk=job_id).values_list("summary", flat=True).first()


def list_jobs(query: ListInput, actor: Actor) -> JobPage:
    """One page of the jobs that the caller asked for; `my_roles_only` and a role key narrow each other."""
    jobs = filtered(Job.objects.all(), query)
    if query.my_roles_only:
        jobs = jobs.filter(target_role_id__in=[role.id for role in actor.roles.values()])
    return page_of(jobs, query, sort_keys(query.order), LISTED, count=query.count)


def page_of(
    jobs: QuerySet[Job], query: PageInput, keys: SortKeys, columns: Sequence[str], *, count: bool
) -> JobPage:
    """One page of these jobs in the order of the keys, with these columns; `count` adds how many there are."""
    total = jobs.count() if count else None
    ordered = jobs.order_by(*(f"-{name}" if down else name for name, down in keys))
    if query.cursor is not None:
        ordered = ordered.filter(_after(keys, _read_cursor(query.cursor, keys)))
    start = query.offset or 0
    rows = list(ordered.values(*columns)[start : start + query.limit + 1])
    more = len(rows) > query.limit
    rows = rows[: query.limit]
    return JobPage(rows, _cursor(keys, rows[-1]) if more else None, total)


def filtered(jobs: QuerySet[Job], query: JobsInput) -> QuerySet[Job]:
    """Those of the jobs that the query asks for; InvalidInput for a role that does not exist."""
    if query.target_role_key and query.target_role_key.strip():
        jobs = jobs.filter(target_role=active_role(query.target_role_key, loc=("target_role_key",)))
    if query.status:
        jobs = jobs.filter(status__in=[str(status) for status in query.status])
    for label in dict.fromkeys(query.label):
        jobs = jobs.filter(Exists(JobLabel.objects.filter(job=OuterRef("pk"), label=label)))
    return jobs


def sort_keys(orders: Sequence[ListOrder]) -> SortKeys:
    """Columns in the order given, each once, `id` ascending last so that no two rows are equal."""
    keys: dict[str, bool] = {}
    for order in orders:
        name, down = _KEYS[order]
        keys.setdefault(name, down)
    return [*keys.items(), ("id", False)]


def _after(keys: SortKeys, last: list[Any]) -> Q:
    """Rows behind the last one of the page before, however many were added in between."""
    behind, equal = Q(), Q()
    for (name, down), value in zip(keys, last, strict=True):
        behind |= equal & Q(**{f"{name}__{'lt' if down else 'gt'}": value})
        equal &= Q(**{name: value})
    return behind


def _cursor(keys: SortKeys, row: dict[str, Any]) -> str:
    values = [iso(row[name]) if isinstance(row[name], datetime) else row[name] for name, _ in keys]
    text = json.dumps([[f"-{name}" if down else name for name, down in keys], values], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_cursor(cursor: str, keys: SortKeys) -> list[Any]:
    wanted = [f"-{name}" if down else name for name, down in keys]
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        names, values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if names != wanted or len(values) != len(keys):
            raise ValueError("a cursor of another order")
        return [_cursor_value(name, value) for (name, _), value in zip(keys, values, strict=True)]
    except (ValueError, TypeError, RecursionError, binascii.Error) as error:
        raise invalid(
            "cursor.invalid",
            ("cursor",),
            "Cursor is invalid: take it from a page of this order (Link header, next_cursor), or start without one.",
            None,
        ) from error


def _cursor_value(name: str, value: Any) -> Any:
    if name in _TIMES:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None or not 1970 <= moment.year <= 9000:
            raise ValueError("a time without a zone, or out of range")
        return moment
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("not a number of the column")
    return value


def trail(job_id: int) -> QuerySet[Event]:
    """The job's events, oldest first."""
    return Event.objects.filter(stream=f"job:{job_id}").order_by("sequence")


def trail_page(job_id: int, query: TrailInput) -> tuple[list[Event], str | None]:
    """A page of the trail, and where the next one starts (None at the end)."""
    events = list(trail(job_id).filter(sequence__gt=query.after)[: query.limit + 1])
    more = len(events) > query.limit
    events = events[: query.limit]
    return events, str(events[-1].sequence) if more else None


def newest_events(job_id: int, query: NewestInput) -> tuple[list[Event], int | None]:
    """A page of the trail from its end, and before which event the next one goes on (None at the beginning)."""
    events = trail(job_id).order_by("-sequence")
    if query.before is not None:
        events = events.filter(sequence__lt=query.before)
    found = list(events[: query.limit + 1])
    more = len(found) > query.limit
    found = found[: query.limit]
    return found, found[-1].sequence if more else None


def was_claimed_by(job_id: int, agent_id: int | None) -> bool:
    """Whether the agent ever claimed the job itself."""
    return trail(job_id).filter(event_type="task_claimed", actor_agent_id=agent_id).exists()


def held_jobs() -> dict[int, list[int]]:
    """Ids of the jobs that each agent holds, by the agent's id."""
    held: dict[int, list[int]] = {}
    rows = Job.objects.filter(status__in=sorted(HELD)).order_by("id").values_list("assignee_agent_id", "id")
    for agent_id, job_id in rows:
        if agent_id is not None:
            held.setdefault(agent_id, []).append(job_id)
    return held


def stream_heads(job_ids: Sequence[int] | None = None) -> Iterator[tuple[int, int, str, int]]:
    """Where each job's trail ends, by its own row: id, sequence, hash, feed_tx. Of these ids, or of all; by id."""
    jobs = Job.objects.all() if job_ids is None else Job.objects.filter(pk__in=job_ids)
    rows = jobs.order_by("pk").values_list("pk", "event_sequence", "event_hash", "event_feed_tx")
    return rows.iterator(chunk_size=HEADS_AT_A_TIME)


def require_current_claim(job: Job, actor: Actor, lease_generation: int) -> None:
    """LeaseLost unless the caller's claim of this generation still stands."""
    current = job.assignee_agent_id == actor.agent_id and job.lease_generation == lease_generation
    if not (current and job.state in HELD):
        raise lease_lost(job, held_by_me=job.assignee_agent_id == actor.agent_id and job.state in HELD)


def previous_attempts(job: Job) -> list[dict[str, Any]]:
    """Who held the job before its present lease and how that ended, newest last, at most the last 20.

    Each: `agent`, `lease_generation`, `started_at`, `ended_at`, `outcome`, `reason`, `last_progress`.
    """
    if job.lease_generation <= 1:
        return []
    kinds = [*_ATTEMPT_BEGINS, *_ATTEMPT_ENDS, "task_progress"]
    attempts: list[dict[str, Any]] = []
    for event in trail(job.pk).filter(event_type__in=kinds):
        payload = event.payload
        if event.event_type in _ATTEMPT_BEGINS:
            attempts.append(
                {
                    "agent": payload.get("assigned_to", event.actor_name),
                    "lease_generation": payload.get("lease_generation"),
                    "started_at": iso(event.created_at),
                    "ended_at": None,
                    "outcome": None,
                    "reason": None,
                    "last_progress": None,
                }
            )
        elif not attempts:
            continue
        elif event.event_type == "task_progress":
            attempts[-1]["last_progress"] = {
                "percent": payload.get("progress_percent"),
                "note": payload.get("note"),
            }
        elif attempts[-1]["ended_at"] is None or event.event_type == "task_rejected":
            attempts[-1] |= {
                "ended_at": iso(event.created_at),
                "outcome": _ATTEMPT_ENDS[event.event_type],
                "reason": payload.get("failure_reason") or payload.get("reason"),
            }
    earlier = [attempt for attempt in attempts if attempt["ended_at"] is not None]
    return earlier[-ATTEMPTS_MOST:]
