"""Making agents, giving and taking back their tokens, and noticing that they are there."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.text import slugify

from agents.errors import (
    AgentActive,
    AgentUnknown,
    RoleAlreadyAssigned,
    RoleNotAssigned,
    TokenInactive,
    TokenUnknown,
)
from agents.models import Agent, AgentRole, AgentToken
from agents.scopes import DEFAULT_SCOPES
from agents.selectors import token_state
from core.actors import Actor
from core.clock import Moment, database_moment, iso
from core.errors import invalid
from core.transactions import write_transaction
from events.record import record, stream_name
from roles.models import Role
from roles.selectors import active_role

TOKEN_BYTES = 32
PREFIX_LENGTH = 6
NAME_LENGTH = 60


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
def edit_agent(*, actor: Actor, agent_name: str, **changes: Any) -> Agent:
    """Change `agent_label`, `tool_family` or `role_keys` (all of them); the name, its address, stays.

    AgentUnknown; InvalidInput for a role that does not exist. Work in hand of a role taken away goes on.
    """
    if unknown := set(changes) - {"agent_label", "tool_family", "role_keys"}:
        raise TypeError(f"no such field: {', '.join(sorted(unknown))}")
    agent = locked_agent(agent_name)
    told: dict[str, Any] = {}
    for name in sorted({"agent_label", "tool_family"} & set(changes)):
        if getattr(agent, name) != changes[name]:
            told[name] = {"old": getattr(agent, name), "new": changes[name]}
            setattr(agent, name, changes[name])
    agent.save(update_fields=["agent_label", "tool_family"])
    if "role_keys" in changes:
        keys = dict.fromkeys(changes["role_keys"])
        wanted = [active_role(key, loc=("roles", number)) for number, key in enumerate(keys)]
        old = roles_of(agent)
        if {role.pk for role in old} != {role.pk for role in wanted}:
            told["roles"] = {
                "old": [role.role_key for role in old],
                "new": sorted(role.role_key for role in wanted),
            }
            agent.roles.set(wanted)
    if told:
        _tell(agent, actor, "agent_updated", {"changes": told})
    return agent


@write_transaction
def assign_role(*, actor: Actor, agent_name: str, role_key: str) -> Agent:
    """Give an agent one more role. AgentUnknown, RoleAlreadyAssigned; InvalidInput for a role that does not exist."""
    agent = locked_agent(agent_name)
    role = active_role(role_key, loc=("role_key",))
    _, made = AgentRole.objects.get_or_create(agent=agent, role=role)
    if not made:
        raise RoleAlreadyAssigned(name=agent.name, role=role_key)
    _tell(agent, actor, "agent_role_assigned", {"role_key": role_key})
    return agent


@write_transaction
def unassign_role(*, actor: Actor, agent_name: str, role_key: str) -> Agent:
    """Take a role from an agent; what it holds of it stays with it. AgentUnknown, RoleNotAssigned."""
    agent = locked_agent(agent_name)
    role = active_role(role_key, loc=("role_key",))
    gone, _ = AgentRole.objects.filter(agent=agent, role=role).delete()
    if not gone:
        held = ", ".join(each.role_key for each in roles_of(agent)) or "none"
        raise RoleNotAssigned(name=agent.name, role=role_key, held=held)
    _tell(agent, actor, "agent_role_unassigned", {"role_key": role_key})
    return agent


@write_transaction
def activate_agent(*, actor: Actor, agent_name: str, reason: str = "") -> Agent:
    """Let a deactivated agent in again, with the tokens it has. AgentUnknown, AgentActive."""
    agent = locked_agent(agent_name)
    if agent.is_active:
        raise AgentActive(name=agent.name)
    mark_active(agent, actor=actor, is_active=True, reason=reason)
    return agent


def mark_active(agent: Agent, *, actor: Actor, is_active: bool, reason: str, **told: Any) -> None:
    """Set whether the locked agent is let in. Deactivating is `jobs.services.removing`'s: the agent may hold jobs."""
    agent.is_active = is_active
    agent.save(update_fields=["is_active"])
    _tell(agent, actor, "agent_activated" if is_active else "agent_deactivated", {"reason": reason, **told})


def locked_agent(name: str) -> Agent:
    """The agent, locked until the transaction ends; AgentUnknown."""
    agent = Agent.objects.select_for_update(no_key=True).filter(name=name).first()
    if agent is None:
        raise AgentUnknown(name=name)
    return agent


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
    _require_future(expires_at, moment)
    return _issue(agent, actor, moment, scopes, expires_at)


@write_transaction
def revoke_token(*, actor: Actor, token_id: int) -> AgentToken:
    """Take a token back: its next call is refused. Doing it again changes nothing; TokenUnknown."""
    token = _locked_token(token_id)
    if token.revoked_at is None:
        token.revoked_at = database_moment().now
        token.save(update_fields=["revoked_at"])
        _tell(token.agent, actor, "token_revoked", {"token_id": token.pk, "prefix": token.prefix})
    return token


@write_transaction
def rotate_token(
    *, actor: Actor, token_id: int, keep_seconds: int, expires_at: datetime | None = None
) -> IssuedToken:
    """A new token with the scopes of this one, which stays valid for `keep_seconds` more (0: no more).

    So an agent can be given the new one without an outage. TokenUnknown, TokenInactive; InvalidInput for an
    `expires_at` (of the new token) that has passed.
    """
    token = _locked_token(token_id)
    moment = database_moment()
    state = token_state(token, moment.now)
    if state != "active":
        raise TokenInactive(token_id=token.pk, name=token.agent.name, state=state.replace("_", " "))
    _require_future(expires_at, moment)
    issued = _issue(token.agent, actor, moment, token.scopes, expires_at)
    ends = moment.now + timedelta(seconds=keep_seconds)
    if keep_seconds == 0:
        token.revoked_at = moment.now
    elif token.expires_at is None or token.expires_at > ends:
        token.expires_at = ends
    token.save(update_fields=["revoked_at", "expires_at"])
    payload = {
        "token_id": token.pk,
        "prefix": token.prefix,
        "replaced_by": issued.token.pk,
        "valid_until": iso(token.revoked_at or token.expires_at),
    }
    _tell(token.agent, actor, "token_rotated", payload)
    return issued


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


def _locked_token(token_id: int) -> AgentToken:
    token = (
        AgentToken.objects.select_for_update(no_key=True, of=("self",))
        .select_related("agent")
        .filter(pk=token_id)
        .first()
    )
    if token is None:
        raise TokenUnknown(token_id=token_id)
    return token


def _require_future(expires_at: datetime | None, moment: Moment) -> None:
    if expires_at is not None and expires_at <= moment.now:
        raise invalid(
            "value_error", ("expires_at",), "Value error, expires_at must be in the future", str(expires_at)
        )


def _tell(agent: Agent, actor: Actor, event_type: str, payload: dict[str, Any]) -> None:
    record(
        stream=stream_name(agent),
        moment=database_moment(),
        actor=actor,
        event_type=event_type,
        payload={"name": agent.name, **payload},
    )


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
        scopes=[str(scope) for scope in scopes],
        created_at=moment.now,
        expires_at=expires_at,
    )
    record(
        stream=stream_name(agent),
        moment=moment,
        actor=actor,
        event_type="token_issued",
        payload={"token_id": token.pk, "prefix": token.prefix, "scopes": token.scopes},
    )
    return IssuedToken(token, secret)


def roles_of(agent: Agent) -> list[Role]:
    return list(agent.roles.filter(is_deleted=False).order_by("role_key"))
