"""How a role reads to those who run the installation."""

from __future__ import annotations

from typing import Any

from core.clock import iso
from roles.models import Role


def role_policy(role: Role) -> dict[str, Any]:
    """A role with everything that decides how its work is handed out."""
    return {
        "role_key": role.role_key,
        "role_label": role.role_label,
        "is_open": role.is_open,
        "lease_seconds": role.lease_seconds,
        "max_lease_expiries": role.max_lease_expiries,
        "max_held_per_agent": role.max_held_per_agent,
        "stuck_after_minutes": role.stuck_after_minutes,
        "paused_at": iso(role.paused_at),
        "pause_reason": role.pause_reason or None,
        "created_at": iso(role.created_at),
    }


def role_row(role: Role) -> dict[str, Any]:
    """A role as persons see it: the reference's fields in its order, then what decides how its work is handed out."""
    policy = role_policy(role)
    first = {name: policy[name] for name in ("role_key", "role_label", "created_at")}
    return {"id": role.pk} | first | policy
