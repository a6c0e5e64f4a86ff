"""What the OpenAPI document says of every route alike: credentials, errors, idempotency, query parameters."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel, ConfigDict, Field

from core.examples import Exemplified
from core.inputs import Input


class Answer(Exemplified, BaseModel):
    """What a route answers. A test holds the routes to their answers."""


class WriteAnswer(Answer):
    """What a route answers that takes a body."""

    ignored_fields: list[str] = Field(
        default=[],
        description="Names of fields that were sent and have no effect; absent when there were none.",
    )


class ErrorEntry(Answer):
    """One refusal. `ctx.code` of a conflict names it; `ctx.allowed` tells what is possible now, and by whom."""

    type: str
    loc: list[str | int]
    msg: str
    input: Any
    ctx: dict[str, Any] | None = None


class PlainError(Answer):
    """`detail` says what is wrong and what to do; `code` names it for programs, other keys say which and where."""

    example: ClassVar[Any] = {
        "detail": "This token lacks the scope `publish`: ask an operator for a token that has it.",
        "code": "scope_missing",
        "scope": "publish",
    }
    model_config = ConfigDict(extra="allow")

    detail: str


class InvalidFields(Answer):
    """Each wrong field: where it is, what is wrong with it, and its bound."""

    example: ClassVar[Any] = {
        "detail": [
            {
                "type": "less_than_equal",
                "loc": ["query", "limit"],
                "msg": "Input should be less than or equal to 200",
                "input": "500",
                "ctx": {"le": 200},
            }
        ]
    }

    detail: list[ErrorEntry]


class ConflictError(Answer):
    """The request is well formed and does not fit the current state."""

    example: ClassVar[Any] = {
        "detail": [
            {
                "loc": ["path", "job_id"],
                "msg": "Handoff job claim is invalid: Job 7 is already held by dev-agent. Claim other work.",
                "type": "handoff_job_claim.invalid",
                "input": 7,
                "ctx": {
                    "code": "already_claimed",
                    "yours": False,
                    "job_id": 7,
                    "current_status": "in_progress",
                    "holder": "dev-agent",
                    "lease_generation": 1,
                    "allowed": [{"verb": "complete", "to": "completed", "by": ["the holder"]}],
                },
            }
        ]
    }

    detail: list[ErrorEntry]


# What every route may refuse, what those do that write, and the same for routes that name a job.
REFUSALS: dict[int, Any] = {
    401: PlainError,
    403: PlainError,
    422: InvalidFields,
    429: PlainError,
    503: PlainError,
}
WRITE_REFUSALS: dict[int, Any] = {**REFUSALS, 409: ConflictError, 413: PlainError}
JOB_REFUSALS: dict[int, Any] = {**REFUSALS, 404: PlainError}
JOB_WRITE_REFUSALS: dict[int, Any] = {**WRITE_REFUSALS, 404: PlainError}

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255},
    OpenApiParameter.HEADER,
    description="Repeating the call with the same key has one effect and the same answer, for 24 hours. "
    "A repeated answer has the header `Idempotency-Replayed: true`.",
)
SESSION = OpenApiParameter(
    "X-ForkFlux-Session",
    {"type": "string", "minLength": 1, "maxLength": 64},
    OpenApiParameter.HEADER,
    description="A random id of the calling process, the same in all its calls. It tells two processes with the "
    "same token apart, and its calls keep alive what it holds.",
)


NEXT_PAGE = OpenApiParameter(
    "Link",
    {"type": "string"},
    OpenApiParameter.HEADER,
    response=[200],
    description='`<…>; rel="next"` leads to the next page; absent on the last one.',
)
TOTAL = OpenApiParameter(
    "X-Total-Count",
    {"type": "integer"},
    OpenApiParameter.HEADER,
    response=[200],
    description="How many there are on all pages; only with `count=true`.",
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
    """The token of an agent: as bearer, or as the password of HTTP Basic."""

    target_class = "core.api.authentication.AgentAuthentication"
    name = ["agentToken", "agentNameAndToken"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """One of the two is enough: a list of alternatives."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        return [{"type": "http", "scheme": "bearer"}, {"type": "http", "scheme": "basic"}]


class SharedKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The token of an agent, or the one key that services share."""

    target_class = "core.api.authentication.AgentOrSharedKeyAuthentication"
    name = "agentTokenOrSharedKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer"}


class PersonAuthenticationScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """A member of staff: name and password, or the session of a browser, whose writes need the CSRF token."""

    target_class = "core.api.people.PersonAuthentication"
    name = ["personNameAndPassword", "personSession"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[Any]]]:
        """One of the two is enough: a list of alternatives."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:
        session = {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
        return [{"type": "http", "scheme": "basic"}, session]


def with_integer_ids(result: Any, **_: Any) -> Any:
    """Ids in addresses are integers. The routes take them as text, so that another answer than 404 can be given."""
    for item in result["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path" and parameter["name"].endswith("_id"):
                    parameter["schema"] = {"type": "integer", "format": "int64"}
    return result
