"""What identity refuses."""

from __future__ import annotations

from core.errors import NotFound, Unauthenticated


class InvalidToken(Unauthenticated):
    """Invalid or expired token"""

    # The sentence is the reference's. It does not tell which of the two, nor whether the token existed.
    code = "invalid_token"


class AgentUnknown(NotFound):
    """There is no agent {name}: `forkflux agent list` shows those that exist."""

    code = "agent_not_found"


class TokenUnknown(NotFound):
    """There is no token {token_id}: `forkflux token list` shows those that exist."""

    code = "token_not_found"
