"""How agents and roles read on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from agents.models import Agent, AgentToken
from agents.presence import presence
from agents.selectors import token_state
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


def agent_row(agent: Agent, *, holds: list[int], now: datetime) -> dict[str, Any]:
    """An agent as persons see it: the reference's fields in its order, then ours."""
    roles = sorted(
        (role for role in agent.roles.all() if not role.is_deleted), key=lambda role: role.role_key
    )
    return {
        "id": agent.pk,
        "agent_label": agent.agent_label,
        "tool_family": agent.tool_family,
        "created_at": iso(agent.created_at),
        "roles": [role_item(role.role_key, role.role_label) for role in roles],
        "name": agent.name,
        "is_active": agent.is_active,
        "presence": presence(agent.last_seen_at, now),
        "status_line": agent.status_line,
        "holds": holds,
        "last_seen_at": iso(agent.last_seen_at),
    }


def token_item(token: AgentToken, *, now: datetime) -> dict[str, Any]:
    """A credential as it may be shown: never the token itself, which nobody has any more."""
    return {
        "token_id": token.pk,
        "name": token.agent.name,
        "prefix": token.prefix,
        "scopes": token.scopes,
        "state": token_state(token, now),
        "created_at": iso(token.created_at),
        "expires_at": iso(token.expires_at),
        "revoked_at": iso(token.revoked_at),
        "last_used_at": iso(token.last_used_at),
    }
