"""The answers of people's role routes, as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_serializer
from pydantic import RootModel

from core.api.openapi import Answer, WriteAnswer
from core.examples import Exemplified

ROLE = {
    "id": 2,
    "role_key": "qa",
    "role_label": "QA",
    "created_at": "2026-12-01T10:00:00.000000Z",
    "is_open": False,
    "lease_seconds": 1800,
    "max_lease_expiries": 5,
    "max_held_per_agent": None,
    "stuck_after_minutes": 60,
    "paused_at": None,
    "pause_reason": None,
}


class RoleRow(Answer):
    """A role with what decides how its work is handed out."""

    id: int
    role_key: str
    role_label: str
    created_at: datetime
    is_open: bool
    lease_seconds: int
    max_lease_expiries: int
    max_held_per_agent: int | None
    stuck_after_minutes: int
    paused_at: datetime | None
    pause_reason: str | None


class RoleWritten(RoleRow, WriteAnswer):
    """The role as it is now."""

    example: ClassVar[Any] = ROLE


# The model of a list is an array itself: the document must not make an array of arrays of it.
@extend_schema_serializer(many=False)
class RoleRows(Exemplified, RootModel[list[RoleRow]]):
    """A bare array, by key."""

    example: ClassVar[Any] = [ROLE]
