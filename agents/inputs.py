"""The fields of an agent's requests about itself."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from core.inputs import Input
from core.limits import LIMITS


class AgentHeartbeatInput(Input):
    """What an agent says of itself: its state, and one line for its colleagues."""

    example: ClassVar[dict[str, object]] = {"state": "active", "note": "Running the tests"}

    state: Literal["active", "idle", "waiting"] | None = None
    note: Annotated[str, Field(max_length=LIMITS.note_max)] | None = None
