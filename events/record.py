"""Recording: the one way a fact enters the audit trail, inside the transaction that made it true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection, models

from core.actors import Actor
from core.clock import Moment
from core.installation import feed_epoch
from events.chain import canonical_text, digest
from events.models import Event, StreamHead


@dataclass(frozen=True, slots=True)
class Head:
    """The newest link of a stream: its number, its hash, and the feed position it was written at."""

    sequence: int = 0
    hash: str = ""
    feed_tx: int = 0


_COLUMNS = tuple(field for field in Event._meta.concrete_fields if not field.primary_key)
_INSERT = (
    f"INSERT INTO {Event._meta.db_table} ({', '.join(str(field.column) for field in _COLUMNS)}) "  # noqa: S608
    f"VALUES ({', '.join(['%s'] * len(_COLUMNS))})"
)


def append(
    *,
    stream: str,
    head: Head,
    moment: Moment,
    actor: Actor,
    event_type: str,
    payload: dict[str, Any],
    job_id: int | None = None,
    previous_status: str | None = None,
    current_status: str | None = None,
) -> Head:
    """Write the next link of a stream whose head the caller has locked; answers the new head to store there."""
    sequence = head.sequence + 1
    canonical = canonical_text(
        stream=stream,
        sequence=sequence,
        previous_hash=head.hash,
        event_type=event_type,
        actor=actor,
        job_id=job_id,
        previous_status=previous_status,
        current_status=current_status,
        payload=payload,
        created_at=moment.now,
    )
    # A transaction may get its id early and then wait for the row: taking the greater of the two keeps
    # the feed in the order of the stream.
    feed_tx = max(moment.transaction_id, head.feed_tx)
    event = Event(
        stream=stream,
        sequence=sequence,
        event_type=event_type,
        canonical=canonical,
        previous_hash=head.hash,
        hash=digest(canonical),
        actor_kind=str(actor.kind),
        actor_name=actor.name,
        actor_agent_id=actor.agent_id,
        actor_user_id=actor.user_id,
        job_id=job_id,
        previous_status=previous_status,
        current_status=current_status,
        epoch=feed_epoch(),
        feed_tx=feed_tx,
        created_at=moment.now,
    )
    insert(event)
    return Head(sequence, event.hash, feed_tx)


def insert(event: Event) -> None:
    """One row. Plain SQL: this runs in every verb, and compiling it by the ORM costs more than running it."""
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT,
            [field.get_db_prep_save(getattr(event, field.attname), connection) for field in _COLUMNS],
        )


def record(
    *,
    stream: str,
    moment: Moment,
    actor: Actor,
    event_type: str,
    payload: dict[str, Any],
) -> None:
    """A fact of a noun that has no head columns of its own: its row in `StreamHead` is made and locked here."""
    StreamHead.objects.bulk_create([StreamHead(stream=stream)], ignore_conflicts=True)
    row = StreamHead.objects.select_for_update(no_key=True).get(pk=stream)
    head = append(
        stream=stream,
        head=Head(row.sequence, row.hash, row.feed_tx),
        moment=moment,
        actor=actor,
        event_type=event_type,
        payload=payload,
    )
    StreamHead.objects.filter(pk=stream).update(sequence=head.sequence, hash=head.hash, feed_tx=head.feed_tx)


def stream_name(noun: models.Model) -> str:
    """`role:2`, `agent:3`: the stream of a row."""
    return f"{noun._meta.model_name}:{noun.pk}"
