"""What the OpenAPI document says of every route alike: credentials, errors, idempotency, query parameters."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel

from core.inputs import Input


class ErrorEntry(BaseModel):
    """One refusal. `ctx.code` of a conflict names it; `ctx.allowed` tells what is possible now, and by whom."""

    type: str
    loc: list[str | int]
    msg: str
    input: Any
    ctx: dict[str, Any] | None = None


class PlainError(BaseModel):
    detail: str


class ListedErrors(BaseModel):
    detail: list[ErrorEntry]


ERRORS: dict[int, Any] = {
    401: PlainError,
    403: PlainError,
    404: PlainError,
    409: ListedErrors,
    413: PlainError,
    422: ListedErrors,
    503: PlainError,
}

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="Repeating the call with the same key has one effect and the same answer, for 24 hours.",
)


def query_parameters(fields: type[Input]) -> list[OpenApiParameter]:
    """The query of a route, from the model that reads it."""
    schema = fields.model_json_schema()
    definitions = schema.get("$defs", {})
    return [
        OpenApiParameter(name, _inlined(described, definitions), OpenApiParameter.QUERY)
        for name, described in schema["properties"].items()
    ]


def _inlined(described: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(described, list):
        return [_inlined(item, definitions) for item in described]
    if not isinstance(described, dict):
        return described
    if "$ref" in described:
        return _inlined(definitions[described["$ref"].rsplit("/", 1)[1]], definitions)
    return {key: _inlined(value, definitions) for key, value in described.items() if key != "title"}


class AgentAuthenticationScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "core.api.authentication.AgentAuthentication"
    match_subclasses = True
    name = ["agentToken", "agentNameAndToken"]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        return [{"type": "http", "scheme": "bearer"}, {"type": "http", "scheme": "basic"}]
