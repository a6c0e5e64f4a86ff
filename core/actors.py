"""Who does a thing: an agent (through a token), a person (a Django user) or the system (a sweep)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ActorKind(StrEnum):
    AGENT = "agent"
    PERSON = "person"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class HeldRole:
    """A role as its holder knew it when the call was authenticated.

    Enough to address a claim and to name the caller's roles in an error. Whether the role is paused
    or the limit reached is decided again inside the claim's own statement.
    """

    id: int
    key: str
    label: str
    has_limit: bool
    is_open: bool


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a change, as every service takes it.

    `session` is the random id of the client's process (header `X-ForkFlux-Session`), when it sent one.
    """

    kind: ActorKind
    name: str
    agent_id: int | None = None
    user_id: int | None = None
    token_id: int | None = None
    roles: Mapping[str, HeldRole] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()
    session: str | None = None
    agent_label: str = ""
    tool_family: str | None = None
    # The person who acted in this agent's name (`--as AGENT` at the terminal); the event names both.
    via: str | None = None

    def __str__(self) -> str:
        """The name, as pages and messages show it."""
        return self.name

    @property
    def is_authenticated(self) -> bool:
        """Django and DRF ask this of `request.user`."""
        return True

    @property
    def is_agent(self) -> bool:
        return self.kind is ActorKind.AGENT

    @property
    def is_person(self) -> bool:
        return self.kind is ActorKind.PERSON

    @property
    def key(self) -> str:
        """A stable name of the actor for idempotency records: `agent:3`, `person:5`, `system`."""
        if self.agent_id is not None:
            return f"agent:{self.agent_id}"
        if self.user_id is not None:
            return f"person:{self.user_id}"
        return str(self.kind)


SYSTEM = Actor(kind=ActorKind.SYSTEM, name="system")


def person(*, user_id: int, name: str) -> Actor:
    """A Django user, as the doors at which people stand name them."""
    return Actor(kind=ActorKind.PERSON, name=name, user_id=user_id)


def operator(name: str) -> Actor:
    """The person at the terminal of the server: trusted like an operator, named as the shell names them."""
    return Actor(kind=ActorKind.PERSON, name=name)
