"""The fields of a role and their bounds, as every door reads them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from core.inputs import Input, Name, NeededReason, Reason
from core.limits import LIMITS

# The width of the column.
_HELD_MOST = 2**31 - 1
_YEAR_MINUTES = 366 * 24 * 60
LeaseTerm = Annotated[int, Field(ge=LIMITS.lease_seconds_min, le=LIMITS.lease_seconds_max)]
Expiries = Annotated[int, Field(ge=0, le=1_000)]
Minutes = Annotated[int, Field(ge=1, le=_YEAR_MINUTES)]
HeldMost = Annotated[int, Field(ge=1, le=_HELD_MOST)]


class RoleInput(Input):
    """A new role. What is left out has the model's default."""

    example: ClassVar[dict[str, object]] = {"role_key": "qa", "role_label": "QA", "lease_seconds": 900}

    role_key: Name
    role_label: Name
    lease_seconds: LeaseTerm | None = None
    max_lease_expiries: Expiries | None = None
    stuck_after_minutes: Minutes | None = None
    max_held_per_agent: HeldMost | None = None


class RoleEditInput(Input):
    """What may be changed of a role; what is left out stays. null lifts `max_held_per_agent`."""

    example: ClassVar[dict[str, object]] = {
        "role_key": "qa",
        "role_label": "Quality",
        "stuck_after_minutes": 30,
    }

    role_key: Name = "-"
    role_label: Name = "-"
    lease_seconds: LeaseTerm = 0
    max_lease_expiries: Expiries = 0
    stuck_after_minutes: Minutes = 1
    max_held_per_agent: HeldMost | None = None

    def as_changes(self) -> dict[str, object]:
        """Only what was given, for `edit_role`."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        if "role_key" in given:
            given["new_key"] = given.pop("role_key")
        return given


class PauseInput(Input):
    """Why a role hands out nothing, for those who wait."""

    example: ClassVar[dict[str, object]] = {"reason": "The test environment is being rebuilt"}

    reason: NeededReason


class ResumeInput(Input):
    """Why a role hands out its work again."""

    example: ClassVar[dict[str, object]] = {"reason": "The test environment is back"}

    reason: Reason = ""


class RemoveRoleInput(Input):
    """Which role takes the unfinished jobs of one that is deleted, by its key."""

    move_to: str | None = None
