"""What a token may open: the names of the scopes, and which of them a token has unless it is told."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    PUBLISH = "publish"
    CLAIM = "claim"
    READ = "read"
    MESSAGES = "messages"
    MEMORY = "memory"
    OUTPUT = "output"
    ARTIFACTS = "artifacts"
    ACT_FOR = "act_for"
    REGISTER = "register"


# Only when they are named: whoever has them can do what other agents may.
GRANTED_SCOPES = (Scope.ACT_FOR, Scope.REGISTER)
DEFAULT_SCOPES = tuple(scope for scope in Scope if scope not in GRANTED_SCOPES)
SCOPES = tuple(Scope)
