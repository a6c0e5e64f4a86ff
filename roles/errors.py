"""What a role refuses."""

from __future__ import annotations

from core.errors import Conflict, NotFound


class RoleExists(Conflict):
    """Target role already exists: {role_key}. Use it, or choose another key."""

    code = "role_exists"


class RoleUnknown(NotFound):
    """There is no role {role_key}: `forkflux role list` shows those that exist."""

    code = "role_not_found"
