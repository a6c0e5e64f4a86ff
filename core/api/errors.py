"""The API's error shape: the one place where refusals become HTTP."""

from __future__ import annotations

import logging
import math
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import set_rollback

from core.api.renderers import CompactJSONRenderer
from core.errors import (
    Conflict,
    DatabaseAway,
    DomainError,
    Forbidden,
    InFlight,
    InvalidInput,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from core.inputs import echo, entry

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 1
_READ_ONLY_TRANSACTION = "25006"
# The reference's words for what was refused, by the `type` that it sends. Other types need none: the refusal's
# own sentence says it.
_CONFLICT_BASES = {
    "handoff_job_claim.invalid": "Handoff job claim is invalid",
    "handoff_job_status.invalid": "Handoff job status transition is invalid",
    "handoff_job_update.invalid": "Handoff job update is invalid",
}
_PLACES = ("body", "query", "path", "header")
# Data of an error that its sentence needs but the wire does not.
_UNTOLD = frozenset({"advice", "owner", "verb", "who"})


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook. Whatever it does not know is a fault of ours and becomes a logged 500."""
    set_rollback()
    view, request = context["view"], context["request"]
    if isinstance(exc, DomainError):
        return _refusal(exc, view, request)
    if isinstance(exc, exceptions.APIException):
        return _of_the_framework(exc, view)
    if isinstance(exc, Http404):
        return Response({"detail": "Not Found"}, status=404)
    if isinstance(exc, RequestDataTooBig | TooManyFieldsSent):
        return _too_much(exc)
    if _is_away(exc):
        logger.warning("database_unavailable", extra={"error": type(exc.__cause__ or exc).__name__})
        # As JSON also for a page: that would ask the database who is calling.
        request.accepted_renderer = CompactJSONRenderer()
        request.accepted_media_type = CompactJSONRenderer.media_type
        return _unavailable(DatabaseAway(retry_after_seconds=RETRY_AFTER_SECONDS))
    if isinstance(exc, DatabaseError):
        logger.error("database_error", extra={"error": type(exc.__cause__ or exc).__name__})
    return None


def _of_the_framework(exc: exceptions.APIException, view: Any) -> Response:
    """What DRF raises, and what authenticators and permissions raise in its terms."""
    if isinstance(exc, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        asks = getattr(view, "unauthenticated", Unauthenticated)
        detail = asks().message if isinstance(exc, exceptions.NotAuthenticated) else exc.detail
        header = getattr(exc, "auth_header", "Bearer")
        return Response({"detail": detail}, status=401, headers={"WWW-Authenticate": header})
    if isinstance(exc, exceptions.MethodNotAllowed):
        return Response(
            {"detail": "Method Not Allowed"}, status=405, headers={"Allow": ", ".join(view.allowed_methods)}
        )
    if isinstance(exc, exceptions.PermissionDenied):
        return Response({"detail": exc.detail, "code": exc.get_codes()}, status=403)
    if isinstance(exc, exceptions.Throttled):
        headers = {"Retry-After": str(math.ceil(getattr(exc, "wait", None) or 1))}
        return Response({"detail": exc.detail, "code": exc.get_codes()}, status=429, headers=headers)
    return Response({"detail": exc.detail}, status=exc.status_code)


def _is_away(exc: Exception) -> bool:
    """Whether the database cannot be reached, or only read as a standby can: both may be over in a moment."""
    read_only = getattr(exc.__cause__, "sqlstate", None) == _READ_ONLY_TRANSACTION
    return isinstance(exc, OperationalError | InterfaceError) or (
        isinstance(exc, DatabaseError) and read_only
    )


def _too_much(exc: Exception) -> Response:
    if isinstance(exc, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return Response({"detail": f"The request body is larger than {most} bytes: send less."}, status=413)
    most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    msg = f"Query should have at most {most} parameters"
    found = entry("too_many_parameters", ("query",), msg, None, max_length=most)
    return Response({"detail": [found]}, status=422)


def _refusal(exc: DomainError, view: Any, request: Request) -> Response:
    if isinstance(exc, InvalidInput):
        return Response({"detail": [_placed(found, request) for found in exc.entries]}, status=422)
    if isinstance(exc, Conflict):
        return Response({"detail": [_conflict(exc, view, request)]}, status=409)
    if isinstance(exc, Unavailable):
        return _unavailable(exc)
    if isinstance(exc, Forbidden):
        return Response({"detail": exc.message, "code": exc.code, **_told(exc)}, status=403)
    if isinstance(exc, NotFound):
        return Response({"detail": exc.message, **_told(exc)}, status=404)
    if exc.http_status == 422:
        field = exc.data.get("field")
        loc = ("body", field) if field else ("body",)
        return Response({"detail": [entry(exc.code, loc, exc.message, None)]}, status=422)
    return Response({"detail": exc.message, "code": exc.code}, status=exc.http_status)


def _placed(found: dict[str, Any], request: Request) -> dict[str, Any]:
    """A service names the field; only the door knows that it came in the body or in the query."""
    # A service repeats what it was given: here what is too long, or not printable, goes.
    found = found | {"input": echo(found["input"])}
    if found["loc"] and found["loc"][0] in _PLACES:
        return found
    return found | {"loc": ["query" if request.method == "GET" else "body", *found["loc"]]}


def _conflict(exc: Conflict, view: Any, request: Request) -> dict[str, Any]:
    """The reference's five keys, in its order; `ctx` tells the machine what `msg` tells the reader."""
    ctx = {"code": exc.code, **_told(exc)}
    if isinstance(exc, InFlight):
        return {
            "loc": ["header", "Idempotency-Key"],
            "msg": exc.message,
            "type": "idempotency_key.in_flight",
            "input": None,
            "ctx": ctx,
        }
    type_, loc, value = view.conflict_place()
    base = _CONFLICT_BASES.get(type_)
    msg = f"{base}: {exc.message}" if base else exc.message
    return {"loc": loc, "msg": msg, "type": type_, "input": value, "ctx": ctx}


def _told(exc: DomainError) -> dict[str, Any]:
    return {key: value for key, value in exc.data.items() if key not in _UNTOLD}


def _unavailable(exc: Unavailable) -> Response:
    seconds = exc.data["retry_after_seconds"]
    return Response(
        {"detail": exc.message, "code": exc.code}, status=503, headers={"Retry-After": str(seconds)}
    )


def not_found(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Django's 404 page, as the API says it."""
    return _plain("Not Found", 404)


def server_error(request: HttpRequest) -> JsonResponse:
    """Django's 500 page, as the API says it: nothing of what went wrong inside leaves the server."""
    return _plain("Internal Server Error", 500)


def bad_request(request: HttpRequest, exception: Exception) -> JsonResponse:
    """Django's 400: a Host header that is not served here, a malformed request."""
    if isinstance(exception, DisallowedHost):
        return _plain(
            "This server does not answer to that Host: an operator can add it to ALLOWED_HOSTS.", 400
        )
    return _plain("Bad Request", 400)


def _plain(detail: str, status: int) -> JsonResponse:
    return JsonResponse({"detail": detail}, status=status, json_dumps_params={"separators": (",", ":")})
