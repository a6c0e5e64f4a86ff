"""A column that keeps JSON as the text it was accepted as."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import models


def compact_json(value: Any) -> str:
    """JSON without blanks, not ASCII-escaped; NaN and infinity are a ValueError."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


if TYPE_CHECKING:
    _Text = models.TextField[Any, Any]
else:
    _Text = models.TextField


class JSONTextField(_Text):
    """JSON in a text column.

    Not `JSONField`: PostgreSQL's jsonb reorders keys and turns 1e300 into an integer of 301 digits that
    JSON encoders refuse later, so a job that was accepted could not be read again.
    """

    if TYPE_CHECKING:  # the names by which django-stubs learns what a field takes and gives
        _pyi_private_set_type: Any
        _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else compact_json(value)

    def to_python(self, value: Any) -> Any:
        return value

    def value_to_string(self, obj: models.Model) -> str:
        return compact_json(self.value_from_object(obj))
