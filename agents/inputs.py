"""The fields of an agent's requests about itself."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from core.inputs import Input, Moment, Name
from core.limits import LIMITS


class AgentHeartbeatInput(Input):
    """What an agent says of itself: its state, and one line for its colleagues."""

    example: ClassVar[dict[str, object]] = {"state": "active", "note": "Running the tests"}

    state: Literal["active", "idle", "waiting"] | None = None
    note: Annotated[str, Field(max_length=LIMITS.note_max)] | None = None


class RegisterInput(Input):
    """A new agent: what it is called, which roles it holds, and which tool it is."""

    example: ClassVar[dict[str, object]] = {
        "agent_label": "Reviewer",
        "roles": ["qa"],
        "tool_family": "codex",
    }

    agent_label: Name
    roles: list[str] = []
    tool_family: Name | None = None


class TokenInput(Input):
    """One more token for an agent, until when it is valid."""

    example: ClassVar[dict[str, object]] = {"expires_at": "2027-01-31T00:00:00Z"}

    expires_at: Moment | None = None
