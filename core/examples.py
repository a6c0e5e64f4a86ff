"""Models that show an example of themselves wherever they are described: OpenAPI document, pages, tool lists."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class Exemplified:
    """Mixed into a pydantic model; `example` is plain JSON data that the model itself would accept."""

    example: ClassVar[Any] = None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        found = handler.resolve_ref_schema(handler(core_schema))
        if cls.example is not None:
            found["examples"] = [cls.example]
        return found
