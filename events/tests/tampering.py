"""A trail to tamper with, and what somebody who reached the database could do to it: plain SQL, past every rule."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection

from events.chain import digest
from events.models import Event
from jobs.models import Job
from jobs.services import claiming, closing
from jobs.tests.board import PERSON, new_agent, new_role, published

LENGTH = 5


def told_job() -> Job:
    """A job whose trail has five events by a person and an agent."""
    role = new_role()
    agent = new_agent(role)
    job = published(PERSON, role)
    claiming.claim(job_id=job.pk, actor=agent)
    closing.fail(job_id=job.pk, actor=agent, failure_reason="No display here")
    closing.restart(job_id=job.pk, actor=agent)
    closing.complete(job_id=job.pk, actor=agent, result_summary="Everything has a label")
    job.refresh_from_db()
    return job


def execute(statement: str, *values: Any) -> int:
    """Run a statement; answers how many rows it touched, having seen that there were some."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount > 0, f"touched nothing: {statement}"
        return cursor.rowcount


def event_at(stream: str, sequence: int) -> Event:
    return Event.objects.get(stream=stream, sequence=sequence)


def change(event: Event, **columns: Any) -> None:
    """Overwrite columns of an event."""
    assignments = ", ".join(f"{name} = %s" for name in columns)
    execute(f"UPDATE events_event SET {assignments} WHERE id = %s", *columns.values(), event.pk)


def remove(event: Event) -> None:
    execute("DELETE FROM events_event WHERE id = %s", event.pk)


def renumber(stream: str, *, above: int, by: int) -> None:
    """Move the numbers behind `above`, one after the other, as the unique index asks for."""
    numbers = Event.objects.filter(stream=stream, sequence__gt=above).values_list("sequence", flat=True)
    for number in sorted(numbers, reverse=by > 0):
        execute(
            "UPDATE events_event SET sequence = %s WHERE stream = %s AND sequence = %s",
            number + by,
            stream,
            number,
        )


def rewritten(event: Event, **text: Any) -> dict[str, Any]:
    """The columns of an event whose text was changed by somebody who knows how hashes are made."""
    canonical = json.dumps(
        json.loads(event.canonical) | text, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    columns = {"canonical": canonical, "hash": digest(canonical)}
    return columns | {name: value for name, value in text.items() if name in {"previous_hash", "event_type"}}


def insert_copy(event: Event, *, sequence: int, **columns: Any) -> Event:
    """One more event with the columns of another, save for those that are given."""
    copy = Event.objects.get(pk=event.pk)
    copy.pk = None
    copy.sequence = sequence
    for name, value in columns.items():
        setattr(copy, name, value)
    copy.save(force_insert=True)
    return copy


def forged_behind(event: Event, **text: Any) -> dict[str, Any]:
    """Columns of an event that follows another one as it should: right hash, right link."""
    return rewritten(event, sequence=event.sequence + 1, previous_hash=event.hash, **text)
