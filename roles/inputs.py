"""The fields of a role and their bounds, as every door reads them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from core.inputs import Input, Name
from core.limits import LIMITS

# The width of the column.
_HELD_MOST = 2**31 - 1


class RoleInput(Input):
    """A new role. What is left out has the model's default."""

    example: ClassVar[dict[str, object]] = {"role_key": "qa", "role_label": "QA", "lease_seconds": 900}

    role_key: Name
    role_label: Name
    lease_seconds: Annotated[int, Field(ge=LIMITS.lease_seconds_min, le=LIMITS.lease_seconds_max)] | None = (
        None
    )
    max_held_per_agent: Annotated[int, Field(ge=1, le=_HELD_MOST)] | None = None
