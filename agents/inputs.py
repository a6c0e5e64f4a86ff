"""The fields of an agent's requests about itself."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.scopes import Scope
from core.inputs import Id, Input, Moment, Name, NeededReason, Reason
from core.limits import LIMITS

# A day in which to hand the new token over.
ROTATION_KEEPS_SECONDS = 86_400


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


class NewAgentInput(Input):
    """A new agent, as a person makes it: what it is called, which tool it is, and its roles by their ids."""

    example: ClassVar[dict[str, object]] = {
        "agent_label": "Reviewer",
        "tool_family": "codex",
        "target_role_ids": [2],
    }

    agent_label: Name
    tool_family: Name | None = None
    target_role_ids: Annotated[list[Id], Field(min_length=1, max_length=1_000)]


class AgentEditInput(Input):
    """What may be changed of an agent; what is left out stays. `roles` are all that it holds then."""

    example: ClassVar[dict[str, object]] = {"agent_label": "Reviewer", "roles": ["qa", "docs"]}

    agent_label: Name = "-"
    tool_family: Name | None = None
    roles: list[str] = []

    def as_changes(self) -> dict[str, object]:
        """Only what was given, for `edit_agent`."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        if "roles" in given:
            given["role_keys"] = given.pop("roles")
        return given


class DeactivateInput(Input):
    """Why an agent is kept out; what it holds goes back to the board with it."""

    example: ClassVar[dict[str, object]] = {"reason": "The machine it ran on is gone"}

    reason: NeededReason


class ActivateInput(Input):
    """Why an agent is let in again."""

    example: ClassVar[dict[str, object]] = {"reason": "It has a new machine"}

    reason: Reason = ""


class RemoveAgentInput(Input):
    """Why an agent is kept out."""

    reason: Reason = "no reason given"


class TokenInput(Input):
    """One more token for an agent: what it opens, and until when. `act_for` and `register` only if named."""

    example: ClassVar[dict[str, object]] = {"expires_at": "2027-01-31T00:00:00Z"}

    scopes: Annotated[list[Scope], Field(min_length=1)] | None = None
    expires_at: Moment | None = None


class RotateInput(Input):
    """How long the old token stays valid beside the new one, at most 30 days, and until when the new one is."""

    example: ClassVar[dict[str, object]] = {"keep_seconds": 3600}

    keep_seconds: Annotated[int, Field(ge=0, le=30 * 86_400)] = ROTATION_KEEPS_SECONDS
    expires_at: Moment | None = None
