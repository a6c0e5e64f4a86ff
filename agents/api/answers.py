"""The answers of the agent routes, as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal

from drf_spectacular.utils import extend_schema_serializer
from pydantic import RootModel

from core.api.openapi import Answer, WriteAnswer
from core.examples import Exemplified


class MeAnswer(Answer):
    """The caller. `name` is its address, the label is for people."""

    example: ClassVar[Any] = {
        "id": 1,
        "agent_label": "Dev agent",
        "tool_family": "claude",
        "name": "dev-agent",
    }

    id: int
    agent_label: str
    tool_family: str | None
    name: str


class RoleAnswer(Answer):
    """A capability that work is addressed to."""

    role_key: str
    role_label: str


class AgentAnswer(Answer):
    """An agent as its colleagues see it; `holds` are ids of jobs."""

    name: str
    agent_label: str
    roles: list[str]
    presence: Literal["online", "idle", "offline"]
    status_line: str
    holds: list[int]
    last_seen_at: datetime | None


class HeldLeaseAnswer(Answer):
    """A lease that the call has extended."""

    job_id: int
    generation: int
    expires_at: datetime


class AgentHeartbeatAnswer(WriteAnswer):
    """What this session holds, and the ids of jobs that it lost without its doing."""

    example: ClassVar[Any] = {
        "leases": [{"job_id": 7, "generation": 1, "expires_at": "2026-12-01T10:30:00.000000Z"}],
        "lost": [],
    }

    leases: list[HeldLeaseAnswer]
    lost: list[int]


# The models of lists are arrays themselves: the document must not make arrays of arrays of them.
@extend_schema_serializer(many=False)
class RoleList(Exemplified, RootModel[list[RoleAnswer]]):
    """A bare array, as the reference answers it."""

    example: ClassVar[Any] = [{"role_key": "qa", "role_label": "QA"}]


@extend_schema_serializer(many=False)
class AgentList(Exemplified, RootModel[list[AgentAnswer]]):
    """A bare array, by age of the agent."""

    example: ClassVar[Any] = [
        {
            "name": "dev-agent",
            "agent_label": "Dev agent",
            "roles": ["developer"],
            "presence": "online",
            "status_line": "Running the tests",
            "holds": [7],
            "last_seen_at": "2026-12-01T10:00:00.000000Z",
        }
    ]
