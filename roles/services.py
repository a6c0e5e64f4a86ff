"""Making roles."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from core.actors import Actor
from core.clock import database_moment
from core.transactions import write_transaction
from events.record import record, stream_name
from roles.errors import RoleExists, RoleUnknown
from roles.models import Role


@write_transaction
def create_role(
    *,
    actor: Actor,
    role_key: str,
    role_label: str,
    lease_seconds: int | None = None,
    max_held_per_agent: int | None = None,
) -> Role:
    """A new capability that work can be addressed to; RoleExists when an active one has the key."""
    moment = database_moment()
    role = Role(role_key=role_key, role_label=role_label, created_at=moment.now)
    if lease_seconds is not None:
        role.lease_seconds = lease_seconds
    role.max_held_per_agent = max_held_per_agent
    try:
        with transaction.atomic():
            role.save(force_insert=True)
    except IntegrityError as error:
        raise RoleExists(role_key=role_key) from error
    record(
        stream=stream_name(role),
        moment=moment,
        actor=actor,
        event_type="role_created",
        payload={
            "role_key": role_key,
            "role_label": role_label,
            "lease_seconds": role.lease_seconds,
            "max_held_per_agent": max_held_per_agent,
        },
    )
    return role


@write_transaction
def pause_role(*, actor: Actor, role_key: str, reason: str) -> Role:
    """Hand out nothing of the role until it is resumed."""
    return _set_pause(actor, role_key, paused=True, reason=reason)


@write_transaction
def resume_role(*, actor: Actor, role_key: str, reason: str = "") -> Role:
    """Hand out the role's work again."""
    return _set_pause(actor, role_key, paused=False, reason=reason)


def _set_pause(actor: Actor, role_key: str, *, paused: bool, reason: str) -> Role:
    role = Role.objects.select_for_update(no_key=True).filter(role_key=role_key, is_deleted=False).first()
    if role is None:
        raise RoleUnknown(role_key=role_key)
    if (role.paused_at is not None) == paused:
        return role
    moment = database_moment()
    role.paused_at = moment.now if paused else None
    role.pause_reason = reason if paused else ""
    role.save(update_fields=["paused_at", "pause_reason"])
    record(
        stream=stream_name(role),
        moment=moment,
        actor=actor,
        event_type="role_paused" if paused else "role_resumed",
        payload={"role_key": role_key, "reason": reason},
    )
    return role
