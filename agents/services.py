"""Making agents, giving and taking back their tokens, and noticing that they are there."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.text import slugify

from agents.errors import AgentUnknown, TokenUnknown
from agents.models import Agent, AgentRole, AgentToken
from core.actors import Actor
from core.clock import Moment, database_moment
from core.errors import invalid
from core.transactions import write_transaction
from events.record import record, stream_name
from roles.models import Role
from roles.selectors import active_role

TOKEN_BYTES = 32
PREFIX_LENGTH = 6
NAME_LENGTH = 60
DEFAULT_SCOPES = ("publish", "claim", "read", "messages", "memory", "output", "artifacts")
GRANTED_SCOPES = ("act_for", "register")
SCOPES = DEFAULT_SCOPES + GRANTED_SCOPES


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token. `secret` exists here once and is stored nowhere."""

    token: AgentToken
    secret: str


def token_hash(secret: str) -> str:
    """What is stored and compared instead of a token: hex SHA-256."""
    return hashlib.sha256(secret.encode()).hexdigest()


@write_transaction
def register_agent(
    *,
    actor: Actor,
    agent_label: str,
    role_keys: Sequence[str] = (),
    tool_family: str | None = None,
) -> tuple[Agent, IssuedToken]:
    """A new agent with its roles and its first token; InvalidInput for a role that does not exist."""
    roles = [active_role(key, loc=("roles", number)) for number, key in enumerate(dict.fromkeys(role_keys))]
    moment = database_moment()
    agent = _insert(agent_label, tool_family, moment.now)
    AgentRole.objects.bulk_create([AgentRole(agent=agent, role=role) for role in roles])
    record(
        stream=stream_name(agent),
        moment=moment,
        actor=actor,
        event_type="agent_created",
        payload={
            "name": agent.name,
            "agent_label": agent_label,
            "tool_family": tool_family,
            "roles": [role.role_key for role in roles],
        },
    )
    return agent, _issue(agent, actor, moment, DEFAULT_SCOPES, None)


@write_transaction
def issue_token(
    *,
    actor: Actor,
    agent_name: str,
    scopes: Sequence[str] = DEFAULT_SCOPES,
    expires_at: datetime | None = None,
) -> IssuedToken:
    """One more token for an agent, beside those it has; AgentUnknown, InvalidInput for a time that has passed."""
    agent = _agent(agent_name)
    moment = database_moment()
    if expires_at is not None and expires_at <= moment.now:
        raise invalid(
            "value_error", ("expires_at",), "Value error, expires_at must be in the future", str(expires_at)
        )
    return _issue(agent, actor, moment, scopes, expires_at)


@write_transaction
def revoke_token(*, actor: Actor, token_id: int) -> AgentToken:
    """Take a token back: its next call is refused. Doing it again changes nothing; TokenUnknown."""
    token = AgentToken.objects.select_for_update(no_key=True).filter(pk=token_id).first()
    if token is None:
        raise TokenUnknown(token_id=token_id)
    if token.revoked_at is None:
        moment = database_moment()
        token.revoked_at = moment.now
        token.save(update_fields=["revoked_at"])
        record(
            stream=stream_name(token.agent),
            moment=moment,
            actor=actor,
            event_type="token_revoked",
            payload={"token_id": token.pk, "prefix": token.prefix},
        )
    return token


@write_transaction
def write_presence(*, agent_id: int, token_id: int, now: datetime, older_than: datetime) -> None:
    """Note that an agent was seen, at most once a minute. Not an event, and never inside a verb."""
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=older_than)
    if AgentToken.objects.filter(stale, pk=token_id).update(last_used_at=now):
        Agent.objects.filter(pk=agent_id).update(last_seen_at=now)


@write_transaction
def report_state(*, actor: Actor, state: str | None, note: str | None) -> None:
    """What an agent says of itself, which is presence and not an event. None leaves a field as it is."""
    said = {"reported_state": state, "status_line": note}
    fields = {name: value for name, value in said.items() if value is not None}
    if fields:
        Agent.objects.filter(pk=actor.agent_id or 0).update(**fields)


def _agent(name: str) -> Agent:
    agent = Agent.objects.filter(name=name).first()
    if agent is None:
        raise AgentUnknown(name=name)
    return agent


def _insert(agent_label: str, tool_family: str | None, now: datetime) -> Agent:
    """The label as a slug is the agent's address; a number makes it unique when others share the label."""
    base = slugify(agent_label)[:NAME_LENGTH] or "agent"
    name, number = base, 1
    while True:
        try:
            with transaction.atomic():
                return Agent.objects.create(
                    name=name, agent_label=agent_label, tool_family=tool_family, created_at=now
                )
        except IntegrityError:
            number += 1
            name = f"{base}-{number}"


def _issue(
    agent: Agent, actor: Actor, moment: Moment, scopes: Sequence[str], expires_at: datetime | None
) -> IssuedToken:
    secret = secrets.token_urlsafe(TOKEN_BYTES)
    token = AgentToken.objects.create(
        token_hash=token_hash(secret),
        prefix=secret[:PREFIX_LENGTH],
        agent=agent,
        scopes=list(scopes),
        created_at=moment.now,
        expires_at=expires_at,
    )
    record(
        stream=stream_name(agent),
        moment=moment,
        actor=actor,
        event_type="token_issued",
        payload={"token_id": token.pk, "prefix": token.prefix, "scopes": list(scopes)},
    )
    return IssuedToken(token, secret)


def roles_of(agent: Agent) -> list[Role]:
    return list(agent.roles.filter(is_deleted=False).order_by("role_key"))
