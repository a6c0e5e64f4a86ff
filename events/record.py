"""Recording: the one way a fact enters the audit trail, inside the transaction that made it true."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from django.db import connection, models

from core.actors import Actor
from core.clock import Moment
from core.installation import feed_epoch
from core.rows import RowWriter
from events.chain import canonical_text, digest
from events.models import Event, StreamHead


@dataclass(frozen=True, slots=True)
class Head:
    """The newest link of a stream: its number, its hash, and the feed position it was written at."""

    sequence: int = 0
    hash: str = ""
    feed_tx: int = 0


_ROWS = RowWriter(Event)


@dataclass(frozen=True, slots=True)
class Link:
    """The next event of a stream, made but not written: its columns, and the head that the stream has then."""

    head: Head
    columns: dict[str, Any]

    @property
    def insert_sql(self) -> str:
        """The statement that writes it, alone or as a part of a larger one."""
        return _insert_sql(tuple(self.columns))

    @property
    def values(self) -> list[Any]:
        """The values of that statement."""
        return _ROWS.values(self.columns)


@functools.lru_cache(maxsize=4)
def _insert_sql(names: tuple[str, ...]) -> str:
    return _ROWS.insert_sql(names)


def link(
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
) -> Link:
    """Make the next link of a stream whose head the caller has locked, and stores as it is said in `head`."""
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
    hashed = digest(canonical)
    columns = {
        "stream": stream,
        "sequence": sequence,
        "event_type": event_type,
        "canonical": canonical,
        "previous_hash": head.hash,
        "hash": hashed,
        "actor_kind": str(actor.kind),
        "actor_name": actor.name,
        "actor_agent_id": actor.agent_id,
        "actor_user_id": actor.user_id,
        "job_id": job_id,
        "previous_status": previous_status,
        "current_status": current_status,
        "epoch": feed_epoch(),
        "feed_tx": feed_tx,
        "created_at": moment.now,
    }
    return Link(Head(sequence, hashed, feed_tx), columns)


def write(event: Link) -> None:
    """Write a link on its own."""
    with connection.cursor() as cursor:
        cursor.execute(event.insert_sql, event.values)


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
    event = link(
        stream=stream,
        head=Head(row.sequence, row.hash, row.feed_tx),
        moment=moment,
        actor=actor,
        event_type=event_type,
        payload=payload,
    )
    write(event)
    head = event.head
    StreamHead.objects.filter(pk=stream).update(sequence=head.sequence, hash=head.hash, feed_tx=head.feed_tx)


def keep_head(stream: str, head: Head) -> None:
    """Keep the head of a stream whose noun is being deleted, and its own head columns with it."""
    StreamHead.objects.create(stream=stream, sequence=head.sequence, hash=head.hash, feed_tx=head.feed_tx)


def stream_name(noun: models.Model) -> str:
    """`role:2`, `agent:3`: the stream of a row."""
    return f"{noun._meta.model_name}:{noun.pk}"
