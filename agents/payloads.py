"""How agents and roles read on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from agents.models import Agent
from agents.presence import presence
from core.actors import Actor
from core.clock import iso


def me(actor: Actor) -> dict[str, Any]:
    """The caller: the reference's fields, then its address."""
    return {
        "id": actor.agent_id,
        "agent_label": actor.agent_label,
        "tool_family": actor.tool_family,
        "name": actor.name,
    }


def role_item(role_key: str, role_label: str) -> dict[str, Any]:
    return {"role_key": role_key, "role_label": role_label}


def agent_item(agent: Agent, *, holds: list[int], now: datetime) -> dict[str, Any]:
    """An agent as its colleagues see it; `holds` are ids of the jobs it has."""
    return {
        "name": agent.name,
        "agent_label": agent.agent_label,
        "roles": sorted(role.role_key for role in agent.roles.all() if not role.is_deleted),
        "presence": presence(agent.last_seen_at, now),
        "status_line": agent.status_line,
        "holds": holds,
        "last_seen_at": iso(agent.last_seen_at),
    }
