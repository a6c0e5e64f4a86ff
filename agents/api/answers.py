"""The answers of the agent routes, as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, RootModel


class MeAnswer(BaseModel):
    id: int
    agent_label: str
    tool_family: str | None
    name: str


class RoleAnswer(BaseModel):
    role_key: str
    role_label: str


class AgentAnswer(BaseModel):
    name: str
    agent_label: str
    roles: list[str]
    presence: str
    status_line: str
    holds: list[int]
    last_seen_at: datetime | None


class HeldLeaseAnswer(BaseModel):
    job_id: int
    generation: int
    expires_at: datetime


class AgentHeartbeatAnswer(BaseModel):
    leases: list[HeldLeaseAnswer]
    lost: list[int]


class RoleList(RootModel[list[RoleAnswer]]):
    """A bare array, as the reference answers it."""


class AgentList(RootModel[list[AgentAnswer]]):
    """A bare array, by age of the agent."""
