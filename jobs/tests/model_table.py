"""Who may do what to a job, and from which state: the life table as an independent second opinion.

Written from the rules and not from the code; imports nothing of ForkFlux.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

HELD = ("in_progress", "blocked", "unblocked")
LEASED = ("in_progress", "unblocked")
UNCLAIMED = ("pending", "published")
# Stands for whatever reason the system gives for what it does by itself.
SYSTEMS_WORDS = "(the system's own words)"
NOT_FINAL = ("pending", "published", *HELD, "failed")


def _from(states: Iterable[str], *who: str) -> dict[str, frozenset[str]]:
    return dict.fromkeys(states, frozenset(who))


# The life table: verb → state it starts from → who may.
TABLE: dict[str, dict[str, frozenset[str]]] = {
    "claim": _from(["published"], "role holder"),
    "heartbeat": _from(HELD, "holder"),
    "complete": _from(["in_progress"], "holder"),
    "fail": _from(HELD, "holder"),
    "block": _from(["in_progress"], "holder"),
    "unblock": _from(["blocked"], "holder", "source", "person"),
    "resume": _from(["blocked", "unblocked"], "holder"),
    "restart": _from(["failed"], "last holder"),
    "requeue": _from(["failed"], "source", "person") | _from(HELD, "person"),
    "release": _from(HELD, "holder"),
    "cancel": _from(NOT_FINAL, "source", "holder", "person"),
    "hold": _from(["published"], "source", "person"),
    "unhold": _from(["published"], "source", "person"),
    "update": _from(UNCLAIMED, "source", "person") | _from(HELD, "holder"),
}


class Refused(Exception):
    """The rules refuse it, with one of these codes; where they leave the choice open, with any of several."""

    def __init__(self, *codes: str, reasons: Iterable[str] = ()) -> None:
        super().__init__(" or ".join(codes))
        self.codes = frozenset(codes)
        self.reasons = frozenset(reasons)


@dataclass(frozen=True)
class Who:
    """Who calls: an agent in a process that may name its session, or a person."""

    name: str
    roles: frozenset[str] = frozenset()
    session: str | None = None
    is_person: bool = False

    @property
    def kind(self) -> str:
        return "person" if self.is_person else "agent"


@dataclass
class ModelRole:
    lease: int
    max_expiries: int
    limit: int | None = None
    paused: bool = False


@dataclass(frozen=True)
class Fact:
    """What an event says, beside its payload."""

    sequence: int
    kind: str
    actor: tuple[str, str]
    previous: str | None
    current: str


@dataclass
class ModelJob:
    number: int
    role: str
    source: str | None
    priority: int = 20
    max_retries: int = 3
    labels: frozenset[str] = frozenset()
    on_hold: bool = False
    not_before: int | None = None
    expires_at: int | None = None
    context: str = ""
    constraints: tuple[str, ...] = ()
    version: int = 1

    status: str = "published"
    assignee: str | None = None
    last_holder: str | None = None
    generation: int = 0
    retry_count: int = 0
    expiry_count: int = 0
    reason: str | None = None  # of the state it is in
    result_summary: str | None = None
    percent: int | None = None
    note: str | None = None

    term: int = 0
    lease_until: int | None = None
    heartbeat_at: int = 0
    session: str | None = None
    # Sessions that lost this job to somebody else's doing, and whether anybody claimed it since.
    lost_by: dict[tuple[str, str], bool] = field(default_factory=dict)
    trail: list[Fact] = field(default_factory=list)

    def age(self, seconds: int) -> None:
        """All that happens to it at a time comes nearer by as much."""
        self.heartbeat_at -= seconds
        self.lease_until = None if self.lease_until is None else self.lease_until - seconds
        self.not_before = None if self.not_before is None else self.not_before - seconds
        self.expires_at = None if self.expires_at is None else self.expires_at - seconds


def admit(job: ModelJob, verb: str, who: Who, generation: int | None = None) -> None:
    """Return when the caller may use the verb on the job now; raise `Refused` otherwise."""
    rows = TABLE[verb]
    may = frozenset().union(*rows.values())
    here = rows.get(job.status, frozenset())
    if who.is_person:
        if "person" not in may:
            raise Refused("forbidden")
        if "person" not in here:
            raise Refused("wrong_status", "not_holder")
        return
    am = _capacities(job, who)
    # Whoever names a lease speaks as its holder, also when it could have acted as the source.
    if "holder" in may and (generation is not None or "source" not in am & here):
        _fence(job, who, generation, may_be_source="source" in am & may)
    if verb == "claim" and "role holder" not in am:
        raise Refused("role_not_held")
    was_holder = "holder" in may and job.last_holder == who.name
    if "source" in may and not am & may and not was_holder:
        raise Refused("not_source")
    if not here:
        raise Refused("already_claimed" if verb == "claim" and job.status in HELD else "wrong_status")
    if not am & here:
        raise Refused("not_holder" if here & {"holder", "last holder"} else "wrong_status")


def _fence(job: ModelJob, who: Who, generation: int | None, *, may_be_source: bool) -> None:
    mine = job.status in HELD and job.assignee == who.name
    if job.status == "cancelled" and (generation is not None or job.last_holder == who.name):
        raise Refused("cancelled", *(["wrong_status"] if may_be_source else []))
    if generation is not None and generation != job.generation:
        raise Refused("lease_lost")
    if mine and who.session and job.session and who.session != job.session:
        raise Refused("lease_lost")
    if job.status in UNCLAIMED and job.last_holder == who.name:
        raise Refused("lease_lost")


def _capacities(job: ModelJob, who: Who) -> frozenset[str]:
    found = set()
    if job.role in who.roles:
        found.add("role holder")
    if job.source == who.name:
        found.add("source")
    if job.assignee == who.name:
        found.add("holder" if job.status in HELD else "last holder")
    return frozenset(found)
