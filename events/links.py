"""One link of a stream, and what may be wrong with it: its number, text, hash, columns, and what it follows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import connection
from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast

from core.clock import as_datetime, iso
from events.chain import GENESIS, digest
from events.models import Event

# A text may hold a long result or reason: few rows at a time.
_ROWS = 100


class Damage(StrEnum):
    CHANGED = "changed"
    REMOVED = "removed"
    INSERTED = "inserted"


@dataclass(frozen=True, slots=True)
class Fault:
    """The first event of a stream that is not as it was recorded. `event_id` is None for one that is gone."""

    stream: str
    sequence: int
    event_id: int | None
    what: Damage
    detail: str

    def __str__(self) -> str:
        which = "" if self.event_id is None else f" (id {self.event_id})"
        return f"Event {self.sequence} of {self.stream}{which} was {self.what}: {self.detail}."


@dataclass(frozen=True, slots=True)
class StoredLink:
    """An event's row as it is stored. In a tampered SQLite file any column may hold anything."""

    event_id: int
    stream: str
    sequence: int
    event_type: str
    canonical: Any
    previous_hash: str
    hash: str
    actor_kind: str
    actor_name: str
    actor_agent_id: int | None
    actor_user_id: int | None
    job_id: int | None
    previous_status: str | None
    current_status: str | None
    epoch: int
    feed_tx: int
    created_at: Any

    @property
    def columns(self) -> dict[str, Any]:
        """What the columns repeat of the text."""
        return {
            "stream": self.stream,
            "sequence": self.sequence,
            "previous_hash": self.previous_hash,
            "event_type": self.event_type,
            "actor_kind": self.actor_kind,
            "actor_name": self.actor_name,
            "actor_agent_id": self.actor_agent_id,
            "actor_user_id": self.actor_user_id,
            "job_id": self.job_id,
            "previous_status": self.previous_status,
            "current_status": self.current_status,
            "created_at": _time(self.created_at),
        }

    def told(self) -> dict[str, Any] | None:
        """The same out of the text; None when that is no event's text."""
        try:
            text = json.loads(self.canonical)
            actor = text["actor"]
            return {name: text[name] for name in self.columns if not name.startswith("actor_")} | {
                f"actor_{name}": actor[name] for name in ("kind", "name", "agent_id", "user_id")
            }
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    def fault(self, what: Damage, detail: str) -> Fault:
        return Fault(self.stream, self.sequence, self.event_id, what, detail)


def links(stream: str | None = None) -> Iterator[StoredLink]:
    """The links of every stream, or of one, each stream in its order. Not held in memory."""
    found = Event.objects.order_by("stream", "sequence")
    if stream is not None:
        found = found.filter(stream=stream)
    # Django reads SQLite's times out of their text, and stumbles over one that was tampered with.
    time = Cast("created_at", TextField()) if connection.vendor == "sqlite" else F("created_at")
    rows = found.annotate(time=time).values_list(
        "pk",
        "stream",
        "sequence",
        "event_type",
        "canonical",
        "previous_hash",
        "hash",
        "actor_kind",
        "actor_name",
        "actor_agent_id",
        "actor_user_id",
        "job_id",
        "previous_status",
        "current_status",
        "epoch",
        "feed_tx",
        "time",
    )
    return (StoredLink(row[0], str(row[1]), *row[2:]) for row in rows.iterator(chunk_size=_ROWS))


def fault_between(
    previous: StoredLink | None, link: StoredLink, *, vouched: Callable[[StoredLink], bool]
) -> Fault | None:
    """What is wrong with a link that follows `previous` (None: is the first), as far as both can tell.

    `vouched` answers whether the stream's head has the link's hash.
    """
    expected = 1 if previous is None else previous.sequence + 1
    follows = GENESIS if previous is None else previous.hash
    whole = isinstance(link.canonical, str) and digest(link.canonical) == link.hash
    told = link.told() if whole else None
    belongs = told is not None and (told["sequence"], told["previous_hash"]) == (expected, follows)
    if link.sequence != expected:
        if not belongs or _events_at(link.stream, expected).exists():
            return _misnumbered(expected, link)
        return link.fault(Damage.CHANGED, "its column sequence is not what its text says")
    if not whole:
        return link.fault(Damage.CHANGED, "its text does not have its hash")
    if told is None:
        return link.fault(Damage.CHANGED, "its text is no event")
    if not belongs:
        return _misplaced(previous, link, told, vouched)
    columns = link.columns
    for name, value in told.items():
        if columns[name] != value:
            return link.fault(Damage.CHANGED, f"its column {name} is not what its text says")
    if previous is not None and (link.epoch < previous.epoch or link.feed_tx < previous.feed_tx):
        return link.fault(
            Damage.CHANGED, "its columns epoch and feed_tx put it before the event that it follows"
        )
    return None


def _misnumbered(expected: int, link: StoredLink) -> Fault:
    if type(link.sequence) is not int or link.sequence < expected:
        return link.fault(Damage.INSERTED, "its number is none that the stream gives")
    last = link.sequence - 1
    gone = f"{expected} is missing" if last == expected else f"{expected} to {last} are missing"
    return Fault(link.stream, expected, None, Damage.REMOVED, gone)


def _misplaced(
    previous: StoredLink | None, link: StoredLink, told: dict[str, Any], vouched: Callable[[StoredLink], bool]
) -> Fault:
    """Which event is to blame when a link that is whole in itself was recorded at another place."""
    before = 0 if previous is None else previous.sequence
    origin = 0 if told["previous_hash"] == GENESIS else _sequence_of(link.stream, told["previous_hash"])
    if origin is not None and origin < before:
        # Between the two stands what was not there when the link was recorded, unless the link itself was
        # put there: as a copy, or as something that nothing was recorded behind.
        is_copy = Event.objects.filter(
            stream=link.stream, hash=link.hash, sequence__lt=link.sequence
        ).exists()
        if is_copy or not (vouched(link) or _is_followed(link)):
            return link.fault(Damage.INSERTED, f"it belongs behind event {origin}, where another one is")
        inserted = _events_at(link.stream, origin + 1).values_list("pk", flat=True)
        detail = f"event {link.sequence} (id {link.event_id}) was recorded behind event {origin}"
        return Fault(link.stream, origin + 1, inserted.first(), Damage.INSERTED, detail)
    if told["sequence"] != link.sequence:
        if origin is None and told["stream"] == link.stream:
            detail = "it is missing, and the events behind it were numbered anew"
            return Fault(link.stream, link.sequence, None, Damage.REMOVED, detail)
        detail = f"its text was recorded as event {told['sequence']} of {told['stream']}"
        return link.fault(Damage.CHANGED, detail)
    # Text and number agree, so one of the two was written anew. Whoever is vouched for is the genuine one.
    if previous is not None and (vouched(link) or _is_followed(link)):
        return previous.fault(
            Damage.CHANGED, "its hash is not the one that the event behind it was recorded with"
        )
    return link.fault(Damage.CHANGED, "it was not recorded behind the event before it")


def _sequence_of(stream: str, hash_: str) -> int | None:
    return Event.objects.filter(stream=stream, hash=hash_).values_list("sequence", flat=True).first()


def _is_followed(link: StoredLink) -> bool:
    return _events_at(link.stream, link.sequence + 1).filter(previous_hash=link.hash).exists()


def _events_at(stream: str, sequence: int) -> QuerySet[Event]:
    return Event.objects.filter(stream=stream, sequence=sequence)


def _time(value: Any) -> str | None:
    try:
        return iso(as_datetime(value))
    except (ValueError, TypeError, AttributeError):
        return None
