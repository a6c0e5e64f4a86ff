"""The answers of people's agent and token routes, as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal

from drf_spectacular.utils import extend_schema_serializer
from pydantic import Field, RootModel

from agents.api.answers import RoleAnswer
from core.api.openapi import Answer, WriteAnswer
from core.examples import Exemplified

AT = "2026-12-01T10:00:00.000000Z"
ROW = {
    "id": 1,
    "agent_label": "Dev agent",
    "tool_family": "claude",
    "created_at": AT,
    "roles": [{"role_key": "developer", "role_label": "Developer"}],
    "name": "dev-agent",
    "is_active": True,
    "presence": "online",
    "status_line": "Running the tests",
    "holds": [7],
    "last_seen_at": AT,
}
TOKEN = {
    "token_id": 3,
    "name": "dev-agent",
    "prefix": "x7Qk2a",
    "scopes": ["publish", "claim", "read"],
    "state": "active",
    "created_at": AT,
    "expires_at": None,
    "revoked_at": None,
    "last_used_at": AT,
}


class AgentRow(Answer):
    """An agent as people see it; `holds` are ids of jobs."""

    id: int
    agent_label: str
    tool_family: str | None
    created_at: datetime
    roles: list[RoleAnswer]
    name: str
    is_active: bool
    presence: Literal["online", "idle", "offline"]
    status_line: str
    holds: list[int]
    last_seen_at: datetime | None


class AgentWritten(AgentRow, WriteAnswer):
    """The agent as it is now."""

    example: ClassVar[Any] = ROW


# The models of lists are arrays themselves: the document must not make arrays of arrays of them.
@extend_schema_serializer(many=False)
class AgentRows(Exemplified, RootModel[list[AgentRow]]):
    """A bare array, by age of the agent."""

    example: ClassVar[Any] = [ROW]


_ONCE = "The token, which is not shown again; null in an answer that is repeated."


class AgentMade(WriteAnswer):
    """The new agent, with its first token."""

    example: ClassVar[Any] = {
        "agent_id": 1,
        "agent_label": "Dev agent",
        "tool_family": "claude",
        "target_role_ids": [1],
        "api_token": None,
        "name": "dev-agent",
    }

    agent_id: int
    agent_label: str
    tool_family: str | None
    target_role_ids: list[int]
    api_token: str | None = Field(description=_ONCE)
    name: str


class AgentKeptOut(WriteAnswer):
    """The agent is not let in any more; the jobs that went back to the board."""

    example: ClassVar[Any] = {"agent_id": 1, "is_active": False, "returned_job_ids": [7]}

    agent_id: int
    is_active: bool
    returned_job_ids: list[int]


class TokenRow(Answer):
    """A credential as it may be shown, never the token itself."""

    token_id: int
    name: str
    prefix: str
    scopes: list[str]
    state: Literal["active", "revoked", "expired", "agent_inactive"]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@extend_schema_serializer(many=False)
class TokenRows(Exemplified, RootModel[list[TokenRow]]):
    """A bare array, oldest first, also those that open nothing any more."""

    example: ClassVar[Any] = [TOKEN]


class TokenIssued(TokenRow, WriteAnswer):
    """A new token, shown this once."""

    example: ClassVar[Any] = TOKEN | {"api_token": None}

    api_token: str | None = Field(description=_ONCE)
