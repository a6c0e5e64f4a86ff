"""The life of a job as data: states, verbs, arrows, and who may follow each.

Services, error texts, docs and tests read these tables; nothing here touches the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Status(StrEnum):
    """Where a job is. Each state says who moves it on."""

    PENDING = "pending"  # the system, when its last blocker completes or one ends badly
    PUBLISHED = "published"  # an agent that holds the role claims it
    IN_PROGRESS = "in_progress"  # its holder; the system when the lease runs out
    BLOCKED = "blocked"  # its holder, its source or a person answers what it waits for; no lease runs
    UNBLOCKED = "unblocked"  # its holder resumes; the system when the lease runs out
    COMPLETED = "completed"  # final
    FAILED = "failed"  # its last holder restarts it, its source or a person requeues it
    CANCELLED = "cancelled"  # final


class Priority(IntEnum):
    LOW = 10
    NORMAL = 20
    HIGH = 30
    URGENT = 40


class Who(StrEnum):
    """In which capacity an actor may follow an arrow."""

    ROLE_HOLDER = "an agent that holds the role"
    HOLDER = "the holder"
    LAST_HOLDER = "the last holder"
    SOURCE = "the source agent"
    PERSON = "a person"
    SYSTEM = "the system"


class Verb(StrEnum):
    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    COMPLETE = "complete"
    FAIL = "fail"
    BLOCK = "block"
    UNBLOCK = "unblock"
    RESUME = "resume"
    RESTART = "restart"
    REQUEUE = "requeue"
    REASSIGN = "reassign"
    RELEASE = "release"
    EXPIRE = "expire"
    LAPSE = "lapse"
    CANCEL = "cancel"
    HOLD = "hold"
    UNHOLD = "unhold"
    UPDATE = "update"


HELD = frozenset({Status.IN_PROGRESS, Status.BLOCKED, Status.UNBLOCKED})
LEASED = frozenset({Status.IN_PROGRESS, Status.UNBLOCKED})
OPEN = frozenset({Status.PENDING, Status.PUBLISHED})
FINAL = frozenset({Status.COMPLETED, Status.CANCELLED})
# Nobody works on it any more, though a failed one may still come back.
FINISHED = FINAL | {Status.FAILED}


@dataclass(frozen=True, slots=True)
class Arrow:
    """One row of the life table: from which states a verb leads where, and who may use it."""

    verb: Verb
    sources: frozenset[Status]
    target: Status | None  # None: the state stays
    who: tuple[Who, ...]


ARROWS: tuple[Arrow, ...] = (
    Arrow(Verb.CLAIM, frozenset({Status.PUBLISHED}), Status.IN_PROGRESS, (Who.ROLE_HOLDER,)),
    Arrow(Verb.HEARTBEAT, HELD, None, (Who.HOLDER,)),
    Arrow(Verb.COMPLETE, frozenset({Status.IN_PROGRESS}), Status.COMPLETED, (Who.HOLDER,)),
    Arrow(Verb.FAIL, HELD, Status.FAILED, (Who.HOLDER,)),
    Arrow(Verb.BLOCK, frozenset({Status.IN_PROGRESS}), Status.BLOCKED, (Who.HOLDER,)),
    Arrow(Verb.UNBLOCK, frozenset({Status.BLOCKED}), Status.UNBLOCKED, (Who.HOLDER, Who.SOURCE, Who.PERSON)),
    Arrow(Verb.RESUME, frozenset({Status.BLOCKED, Status.UNBLOCKED}), Status.IN_PROGRESS, (Who.HOLDER,)),
    Arrow(Verb.RESTART, frozenset({Status.FAILED}), Status.IN_PROGRESS, (Who.LAST_HOLDER,)),
    Arrow(Verb.REQUEUE, frozenset({Status.FAILED}), Status.PUBLISHED, (Who.SOURCE, Who.PERSON)),
    Arrow(Verb.REQUEUE, HELD, Status.PUBLISHED, (Who.PERSON,)),
    Arrow(Verb.REASSIGN, HELD | {Status.PUBLISHED}, Status.IN_PROGRESS, (Who.PERSON,)),
    Arrow(Verb.RELEASE, HELD, Status.PUBLISHED, (Who.HOLDER,)),
    Arrow(Verb.EXPIRE, LEASED, Status.PUBLISHED, (Who.SYSTEM,)),
    Arrow(Verb.LAPSE, OPEN, Status.CANCELLED, (Who.SYSTEM,)),
    Arrow(
        Verb.CANCEL,
        frozenset(Status) - FINAL,
        Status.CANCELLED,
        (Who.SOURCE, Who.HOLDER, Who.PERSON),
    ),
    Arrow(Verb.HOLD, frozenset({Status.PUBLISHED}), None, (Who.SOURCE, Who.PERSON)),
    Arrow(Verb.UNHOLD, frozenset({Status.PUBLISHED}), None, (Who.SOURCE, Who.PERSON)),
    Arrow(Verb.UPDATE, OPEN, None, (Who.SOURCE, Who.PERSON)),
    Arrow(Verb.UPDATE, HELD, None, (Who.HOLDER,)),
)

# The system's own arrows are never advice for a caller.
_ADVISABLE = tuple(arrow for arrow in ARROWS if arrow.who != (Who.SYSTEM,))


def arrows_of(verb: Verb) -> tuple[Arrow, ...]:
    return tuple(arrow for arrow in ARROWS if arrow.verb is verb)


def arrow_from(verb: Verb, status: Status) -> Arrow | None:
    """The arrow that a verb follows from a state, or None when it leads nowhere from there."""
    return next((arrow for arrow in ARROWS if arrow.verb is verb and status in arrow.sources), None)


def sources_of(verb: Verb) -> frozenset[Status]:
    return frozenset().union(*(arrow.sources for arrow in arrows_of(verb)))


def allowed_from(status: Status) -> list[dict[str, str | list[str] | None]]:
    """What can be done with a job in this state, and by whom: the `allowed` of every conflict."""
    return [
        {
            "verb": str(arrow.verb),
            "to": str(arrow.target) if arrow.target else None,
            "by": [str(who) for who in arrow.who],
        }
        for arrow in _ADVISABLE
        if status in arrow.sources
    ]
