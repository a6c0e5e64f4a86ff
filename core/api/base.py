"""What every route does, for whomever: read the input, name the actor, call one service once, answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.viewsets import ViewSet

from core.actors import Actor
from core.errors import InvalidInput
from core.idempotency import IdempotentCall, once, read_key
from core.inputs import INT64_MAX, INT64_MIN, Input, entry, parse_json, refuse_poison

T = TypeVar("T")
I = TypeVar("I", bound=Input)  # noqa: E741

VISIBLE = re.compile(r"[!-~]{1,64}")
_INTEGER = re.compile(r"[+-]?[0-9]+")
# Of a 64-bit integer with its sign. An id padded with zeros beyond it would not fit where routes are stored.
_ID_LENGTH = 20


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a write came to; `replayed` when an earlier call with the same key did it."""

    value: T
    replayed: bool


class BusViewSet(ViewSet):
    """A route of the bus. Subclasses name the fields that each action takes."""

    inputs: ClassVar[dict[str, type[Input]]] = {}

    @property
    def actor(self) -> Actor:
        actor: Actor = self.request.user  # type: ignore[assignment]
        return actor

    def body(self, fields: type[I], *, optional: bool = False) -> I:
        """The validated body; remembers the parsed one for the idempotency fingerprint and `ignored_fields`."""
        raw = self.request._request.body  # noqa: SLF001 - DRF's documented way to Django's request
        self.parsed: Any = {} if optional and not raw.strip() else parse_json(raw)
        return fields.read(self.parsed)

    def query(self, fields: type[I]) -> I:
        """The validated query. Names that it does not know are told in `X-Ignored-Parameters`, if a header can."""
        given = self.request.query_params
        self.ignored_parameters = [
            name
            for name in fields.ignored(given)
            if name != api_settings.URL_FORMAT_OVERRIDE and VISIBLE.fullmatch(name)
        ]
        plain = _plain(given, fields)
        refuse_poison(plain, ("query",))
        return fields.read(plain, where="query")

    def path_id(self, value: str, name: str = "job_id") -> int:
        """An id out of the path; InvalidInput with the reference's words."""
        if not _INTEGER.fullmatch(value):
            msg = "Input should be a valid integer, unable to parse string as an integer"
            raise InvalidInput([entry("int_parsing", ("path", name), msg, value)])
        number = int(value) if len(value) <= _ID_LENGTH else None
        if number is None or not INT64_MIN <= number <= INT64_MAX:
            msg = "Unable to parse input string as an integer, exceeded maximum size"
            raise InvalidInput([entry("int_parsing_size", ("path", name), msg, None)])
        return number

    def once(
        self,
        write: Callable[[], T],
        *,
        identify: Callable[[T], dict[str, Any]],
        again: Callable[[dict[str, Any]], T],
    ) -> Done[T]:
        """Run a write under the request's `Idempotency-Key`, if it sent one.

        `identify` says what to remember of the result (ids and states), `again` makes the value of that.
        """
        key = read_key(self.request.META.get("HTTP_IDEMPOTENCY_KEY"))
        if key is None:
            return Done(write(), replayed=False)
        fresh: list[T] = []

        def write_and_remember() -> dict[str, Any]:
            # A retried transaction writes again: only its last value counts.
            fresh[:] = [write()]
            return identify(fresh[0])

        route = f"{self.request.method} {self.request.path}"
        call = IdempotentCall(actor=self.actor, route=route, key=key, body=self.parsed)
        outcome = once(call, write_and_remember)
        if outcome.replayed:
            return Done(again(outcome.result), replayed=True)
        return Done(fresh[0], replayed=False)

    def answer(
        self,
        payload: dict[str, Any],
        *,
        status: int = 200,
        replayed: bool = False,
        ignored: list[str] | None = None,
    ) -> Response:
        """The payload, with the names of the fields that were not used, if there were any."""
        if ignored:
            payload = payload | {"ignored_fields": ignored}
        headers = {"Idempotency-Replayed": "true"} if replayed else None
        return Response(payload, status=status, headers=headers)

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """405, except that a person who opens a route that only takes POST gets its page, with the form."""
        opens_a_page = request.method == "GET" and getattr(request, "accepted_renderer", None)
        if opens_a_page and opens_a_page.format == "api" and "POST" in self.allowed_methods:
            return Response({"detail": "This address takes POST. The form below holds an example."})
        return super().http_method_not_allowed(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if ignored := getattr(self, "ignored_parameters", None):
            response["X-Ignored-Parameters"] = ", ".join(ignored)
        return response


def _plain(given: QueryDict, fields: type[Input]) -> dict[str, Any]:
    """A query as plain data: lists where the field is one, else the last value."""
    found: dict[str, Any] = {}
    for name, field in fields.model_fields.items():
        if name in given:
            many = getattr(field.annotation, "__origin__", None) is list
            found[name] = given.getlist(name) if many else given[name]
    return found
