"""Making, changing, pausing and deleting roles."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from core.actors import Actor
from core.clock import database_moment
from core.transactions import write_transaction
from events.record import record, stream_name
from roles.errors import RoleExists, RoleUnknown
from roles.models import Role

POLICY = frozenset(
    {"lease_seconds", "max_lease_expiries", "stuck_after_minutes", "max_held_per_agent", "is_open"}
)
EDITABLE = POLICY | {"new_key", "role_label"}


@write_transaction
def create_role(*, actor: Actor, role_key: str, role_label: str, **policy: Any) -> Role:
    """A new capability that work can be addressed to; RoleExists when an active one has the key.

    `policy` sets any of POLICY; None leaves the model's default.
    """
    if unknown := set(policy) - POLICY:
        raise TypeError(f"no such field: {', '.join(sorted(unknown))}")
    moment = database_moment()
    given = {name: value for name, value in policy.items() if value is not None}
    role = Role(role_key=role_key, role_label=role_label, created_at=moment.now, **given)
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
            "max_held_per_agent": role.max_held_per_agent,
        }
        | given,
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


@write_transaction
def edit_role(*, actor: Actor, role_key: str, **changes: Any) -> Role:
    """Change any of EDITABLE of an active role; RoleUnknown, RoleExists for a key that another one has."""
    if unknown := set(changes) - EDITABLE:
        raise TypeError(f"no such field: {', '.join(sorted(unknown))}")
    role = locked_roles(role_key)[role_key]
    if "new_key" in changes:
        changes["role_key"] = changes.pop("new_key")
    told = {
        name: {"old": getattr(role, name), "new": value}
        for name, value in changes.items()
        if getattr(role, name) != value
    }
    if not told:
        return role
    for name in told:
        setattr(role, name, changes[name])
    try:
        with transaction.atomic():
            role.save(update_fields=list(told))
    except IntegrityError as error:
        raise RoleExists(role_key=role.role_key) from error
    record(
        stream=stream_name(role),
        moment=database_moment(),
        actor=actor,
        event_type="role_updated",
        payload={"role_key": role_key, "changes": told},
    )
    return role


def locked_roles(*role_keys: str) -> dict[str, Role]:
    """These active roles by key, locked until the transaction ends, also against new references; RoleUnknown."""
    found = Role.objects.select_for_update().filter(role_key__in=role_keys, is_deleted=False).order_by("pk")
    roles = {role.role_key: role for role in found}
    for key in role_keys:
        if key not in roles:
            raise RoleUnknown(role_key=key)
    return roles


def mark_deleted(role: Role, *, actor: Actor, moved_to: str | None, moved_jobs: int) -> None:
    """The last step of `jobs.services.removing.delete_role`, which has emptied and locked the role."""
    role.is_deleted = True
    role.save(update_fields=["is_deleted"])
    record(
        stream=stream_name(role),
        moment=database_moment(),
        actor=actor,
        event_type="role_deleted",
        payload={"role_key": role.role_key, "moved_to": moved_to, "moved_jobs": moved_jobs},
    )


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
