"""What a role refuses."""

from __future__ import annotations

from core.errors import Conflict, NotFound


class RoleExists(Conflict):
    """Target role already exists: {role_key}. Use it, or choose another key."""

    code = "role_exists"


class RoleIsTarget(Conflict):
    """The jobs of {role_key} cannot move to the role that is being deleted: name another one."""

    code = "role_is_target"


class RoleUnknown(NotFound):
    """There is no role {role_key}: `forkflux role list` shows those that exist."""

    code = "role_not_found"
