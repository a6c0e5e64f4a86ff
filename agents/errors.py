"""What identity refuses."""

from __future__ import annotations

from core.errors import Conflict, NotFound, Unauthenticated


class InvalidToken(Unauthenticated):
    """Invalid or expired token"""

    # The sentence is the reference's. It does not tell which of the two, nor whether the token existed.
    code = "invalid_token"


class AgentUnknown(NotFound):
    """There is no agent {name}: `forkflux agent list` shows those that exist."""

    code = "agent_not_found"


class AgentInactive(Conflict):
    """The agent {name} is deactivated: activate it first, or choose another."""

    code = "agent_inactive"


class AgentActive(Conflict):
    """The agent {name} is active already: there is nothing to do."""

    code = "agent_active"


class RoleAlreadyAssigned(Conflict):
    """The agent {name} holds the role {role} already: there is nothing to do."""

    code = "role_already_assigned"


class RoleNotAssigned(Conflict):
    """The agent {name} does not hold the role {role}; it holds: {held}. There is nothing to take away."""

    code = "role_not_assigned"


class TokenInactive(Conflict):
    """Token {token_id} of {name} is {state}: issue a new one instead of rotating it."""

    code = "token_inactive"


class TokenUnknown(NotFound):
    """There is no token {token_id}: `forkflux token list` shows those that exist."""

    code = "token_not_found"
