"""Reading agents: who is behind a token, and what they may do."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from agents.errors import AgentInactive, AgentUnknown, TokenUnknown
from agents.models import Agent, AgentRole, AgentToken
from core.actors import Actor, ActorKind, HeldRole
from core.clock import NOW_SQL, as_datetime
from core.transactions import reconnecting
from roles.models import Role

_TOKEN, _AGENT, _ROLE, _HELD = (model._meta.db_table for model in (AgentToken, Agent, Role, AgentRole))

# One statement: the token, its agent, the database's time, and a row for each role the agent may act in.
_IDENTITY = f"""
SELECT {{now}}, a.id, a.name, a.agent_label, a.tool_family, a.is_active,
       t.id, t.scopes, t.expires_at, t.revoked_at, t.last_used_at,
       r.id, r.role_key, r.role_label, r.max_held_per_agent, r.is_open
FROM {_AGENT} a
{{join}}
LEFT JOIN {_ROLE} r ON NOT r.is_deleted
     AND (r.is_open OR EXISTS (SELECT 1 FROM {_HELD} h WHERE h.agent_id = a.id AND h.role_id = r.id))
WHERE {{where}}
ORDER BY r.role_key
"""  # noqa: S608 - table names are our own
_BY_TOKEN = _IDENTITY.replace("{join}", f"JOIN {_TOKEN} t ON t.agent_id = a.id").replace(
    "{where}", "t.token_hash = %s"
)
_BY_NAME = _IDENTITY.replace("{join}", f"LEFT JOIN {_TOKEN} t ON 1 = 0").replace("{where}", "a.name = %s")


@dataclass(frozen=True, slots=True)
class Identity:
    """An agent as its credential shows it, at one moment of the database's clock."""

    actor: Actor
    now: datetime
    is_active: bool
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    @property
    def is_valid(self) -> bool:
        return (
            self.is_active
            and self.revoked_at is None
            and (self.expires_at is None or self.expires_at > self.now)
        )


@reconnecting
def identity_by_token_hash(token_hash: str, *, session: str | None = None) -> Identity | None:
    """Who presents a token of this hash; None when there is no such token. One statement."""
    return _identity(_BY_TOKEN, token_hash, session)


def identity_by_name(name: str) -> Identity | None:
    """The agent of this name, as an operator acts for it at the terminal."""
    return _identity(_BY_NAME, name, None)


def acting_agent(name: str, *, via: str | None = None) -> Actor:
    """The agent of this name as an actor, and who acts in its name; AgentUnknown, AgentInactive."""
    identity = identity_by_name(name)
    if identity is None:
        raise AgentUnknown(name=name)
    if not identity.is_active:
        raise AgentInactive(name=name)
    return replace(identity.actor, via=via)


def agent_named(name: str) -> Agent:
    """The agent of this name; AgentUnknown."""
    agent = Agent.objects.filter(name=name).first()
    if agent is None:
        raise AgentUnknown(name=name)
    return agent


def get_agent(agent_id: int) -> Agent:
    """The agent with its roles; AgentUnknown."""
    agent = agents_with_roles().filter(pk=agent_id).first()
    if agent is None:
        raise AgentUnknown(name=f"with the id {agent_id}")
    return agent


def labels_of(agent_ids: Collection[int]) -> dict[int, str]:
    """The agents' labels by id."""
    if not agent_ids:
        return {}
    return dict(Agent.objects.filter(pk__in=agent_ids).values_list("pk", "agent_label"))


def agents_with_roles() -> QuerySet[Agent]:
    return Agent.objects.order_by("id").prefetch_related("roles")


def get_token(token_id: int) -> AgentToken:
    """The token with its agent; TokenUnknown."""
    token = AgentToken.objects.select_related("agent").filter(pk=token_id).first()
    if token is None:
        raise TokenUnknown(token_id=token_id)
    return token


def tokens_of(agent_name: str | None = None) -> QuerySet[AgentToken]:
    """The tokens of an agent, or of all agents, oldest first, also those that are no longer valid; AgentUnknown."""
    tokens = AgentToken.objects.select_related("agent").order_by("id")
    if agent_name is None:
        return tokens
    agent = Agent.objects.filter(name=agent_name).first()
    if agent is None:
        raise AgentUnknown(name=agent_name)
    return tokens.filter(agent=agent)


def token_state(token: AgentToken, now: datetime) -> str:
    """`active`, or why it opens nothing: `revoked`, `expired`, `agent_inactive`."""
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is not None and token.expires_at <= now:
        return "expired"
    return "active" if token.agent.is_active else "agent_inactive"


def _identity(sql: str, parameter: str, session: str | None) -> Identity | None:
    with connection.cursor() as cursor:
        cursor.execute(sql.replace("{now}", NOW_SQL[connection.vendor]), [parameter])
        rows = cursor.fetchall()
    if not rows:
        return None
    now, agent_id, name, label, family, is_active, token_id, scopes, expires, revoked, used = rows[0][:11]
    roles = {
        row[12]: HeldRole(
            id=row[11], key=row[12], label=row[13], has_limit=row[14] is not None, is_open=bool(row[15])
        )
        for row in rows
        if row[11] is not None
    }
    actor = Actor(
        kind=ActorKind.AGENT,
        name=name,
        agent_id=agent_id,
        token_id=token_id,
        roles=roles,
        scopes=frozenset(json.loads(scopes)) if scopes else frozenset(),
        session=session,
        agent_label=label,
        tool_family=family,
    )
    return Identity(
        actor=actor,
        now=as_datetime(now),
        is_active=bool(is_active),
        expires_at=_time(expires),
        revoked_at=_time(revoked),
        last_used_at=_time(used),
    )


def _time(value: Any) -> datetime | None:
    return None if value is None else as_datetime(value)
