"""Verification: reads the whole audit trail again and names what is no longer as it was recorded.

Somebody who may write to the database can rewrite a stream together with its head, and no recomputation
notices; what is found is every change that leaves one of text, hash, link, column and head behind.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeVar

from core.snapshot import read_snapshot
from events.chain import GENESIS
from events.errors import StreamUnknown
from events.links import Damage, Fault, StoredLink, fault_between, links
from events.models import Event, StreamHead

# How many streams are looked up at a time.
BATCH = 500
# Faults that a report keeps, one a stream; a trail that was damaged everywhere must not fill the memory.
KEPT_FAULTS = 100
_INT64_MAX = 2**63 - 1

T = TypeVar("T")

# A head as the noun's own row keeps it: id, sequence, hash, feed_tx.
KeptHead = tuple[int, int, str, int]
HeadReader = Callable[[Sequence[int] | None], Iterable[KeptHead]]


@dataclass(slots=True)
class VerifyReport:
    """What was read, and for each damaged stream its first fault (the first 100 of these).

    `outlived_streams` are whole in themselves, but the row that kept their head was deleted: nobody can tell
    whether their end is missing.
    """

    streams: int = 0
    events: int = 0
    outlived_streams: int = 0
    damaged_streams: int = 0
    faults: list[Fault] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        return not self.damaged_streams

    @property
    def first_fault(self) -> Fault | None:
        return self.faults[0] if self.faults else None


def verify(*, heads_of: Mapping[str, HeadReader], stream: str | None = None) -> VerifyReport:
    """Recompute the trail, or one stream of it, at one moment; others go on writing meanwhile.

    `heads_of` says for a noun (`job`) how to read the heads that its own rows keep: those of the ids, or all
    in ascending order of id for None. Every other stream has its head in `StreamHead`. StreamUnknown for a
    stream without events and head.
    """
    verification = _Verification(heads_of)
    with read_snapshot():
        if stream is None:
            verification.read_events(links())
            verification.read_heads()
        else:
            verification.read_events(links(stream))
            if not verification.report.streams:
                head = verification.heads([stream]).get(stream)
                if head is None:
                    raise StreamUnknown(stream=stream)
                verification.note_eventless({stream: head})
    return verification.report


@dataclass(frozen=True, slots=True)
class _Head:
    sequence: int
    hash: str
    feed_tx: int


@dataclass(frozen=True, slots=True)
class _Ended:
    """A stream that was read to its end: its last link, and its first fault if there was one."""

    last: StoredLink
    fault: Fault | None


class _Verification:
    """One run. Holds one batch of streams at a time, however long the trail is."""

    def __init__(self, heads_of: Mapping[str, HeadReader]) -> None:
        self.report = VerifyReport()
        self._heads_of = heads_of

    def read_events(self, found: Iterator[StoredLink]) -> None:
        """Every stream that has events: each link after the one before it, then the end against the head."""
        streams = (self._read(group) for _, group in itertools.groupby(found, key=attrgetter("stream")))
        for batch in _batches(streams):
            heads = self.heads([ended.last.stream for ended in batch])
            for ended in batch:
                self.report.streams += 1
                self._note(ended.fault or self._fault_at_end(ended.last, heads.get(ended.last.stream)))

    def read_heads(self) -> None:
        """Every head whose events are all gone."""
        for noun, read in self._heads_of.items():
            for batch in _batches(read(None)):
                self.note_eventless({f"{noun}:{row[0]}": _Head(*row[1:]) for row in batch})
        rows = StreamHead.objects.order_by("pk").iterator(chunk_size=BATCH)
        for heads in _batches(rows):
            self.note_eventless({row.stream: _Head(row.sequence, row.hash, row.feed_tx) for row in heads})

    def note_eventless(self, heads: Mapping[str, _Head]) -> None:
        """Note those of the heads whose streams have no events."""
        found = Event.objects.filter(stream__in=list(heads)).order_by().values_list("stream", flat=True)
        told = set(found.distinct())
        for stream, head in heads.items():
            if stream not in told:
                self.report.streams += 1
                detail = f"all its events are missing; its head counts {head.sequence}"
                self._note(Fault(stream, 1, None, Damage.REMOVED, detail))

    def heads(self, streams: Sequence[str]) -> dict[str, _Head]:
        """The heads of these streams, wherever they are kept; a stream without one is left out."""
        ids: dict[str, list[int]] = {}
        for stream in streams:
            noun, number = _noun_of(stream)
            if noun in self._heads_of:
                ids.setdefault(noun, []).append(number)
        found = {
            f"{noun}:{row[0]}": _Head(*row[1:])
            for noun, numbers in ids.items()
            for row in self._heads_of[noun](numbers)
        }
        # Also of rows that were deleted in order: what was their head is kept there from then on.
        left = [stream for stream in streams if stream not in found]
        for row in StreamHead.objects.filter(pk__in=left):
            found[row.stream] = _Head(row.sequence, row.hash, row.feed_tx)
        return found

    def _read(self, group: Iterator[StoredLink]) -> _Ended:
        fault: Fault | None = None
        previous: StoredLink | None = None
        for link in group:
            self.report.events += 1
            if fault is None:
                fault = fault_between(previous, link, vouched=self._head_vouches)
            previous = link
        if previous is None:
            raise AssertionError("groupby made an empty group")
        return _Ended(previous, fault)

    def _head_vouches(self, link: StoredLink) -> bool:
        head = self.heads([link.stream]).get(link.stream)
        return head is not None and head.hash == link.hash

    def _fault_at_end(self, last: StoredLink, head: _Head | None) -> Fault | None:
        stream, end = last.stream, last.sequence
        if head is None:
            if _noun_of(stream)[0] in self._heads_of:
                self.report.outlived_streams += 1
                return None
            return Fault(
                stream, end, last.event_id, Damage.REMOVED, "the row that keeps the stream's head is missing"
            )
        if end < head.sequence:
            detail = f"the end of the stream is missing: its head counts {head.sequence} events"
            return Fault(stream, end + 1, None, Damage.REMOVED, detail)
        if end > head.sequence:
            return _added_behind(stream, head)
        if last.hash != head.hash:
            detail = "the stream's head has another hash: this event or one before it was written anew"
            return Fault(stream, end, last.event_id, Damage.CHANGED, detail)
        if last.feed_tx != head.feed_tx:
            detail = "its column feed_tx is not what the stream's head says"
            return Fault(stream, end, last.event_id, Damage.CHANGED, detail)
        return None

    def _note(self, fault: Fault | None) -> None:
        if fault is not None:
            self.report.damaged_streams += 1
            if len(self.report.faults) < KEPT_FAULTS:
                self.report.faults.append(fault)


def _added_behind(stream: str, head: _Head) -> Fault:
    """More events than the head counts: the surplus was added, or the stream was written anew from before it."""
    found = Event.objects.filter(stream=stream, sequence__in=[head.sequence, head.sequence + 1])
    rows = {sequence: (pk, hash_) for sequence, pk, hash_ in found.values_list("sequence", "pk", "hash")}
    last_id, last_hash = rows.get(head.sequence, (None, GENESIS))
    if last_hash != head.hash:
        detail = "the stream's head has another hash: this event or one before it was written anew"
        return Fault(stream, head.sequence, last_id, Damage.CHANGED, detail)
    added_id = rows[head.sequence + 1][0]
    detail = f"the stream's head counts {head.sequence} events"
    return Fault(stream, head.sequence + 1, added_id, Damage.INSERTED, detail)


def _noun_of(stream: str) -> tuple[str, int]:
    """`("job", 7)` of `job:7`; an empty noun for a name that no row can have."""
    noun, _, number = stream.partition(":")
    if not re.fullmatch(r"[1-9][0-9]{0,18}", number) or int(number) > _INT64_MAX:
        return "", 0
    return noun, int(number)


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, BATCH)):
        yield batch
