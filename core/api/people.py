"""Routes for people: members of staff, signed in by their browser or by HTTP Basic, with Django's permissions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from core.actors import Actor, person
from core.api.authentication import REALM, AgentAuthentication, agent_behind, basic_credentials
from core.api.base import BusViewSet
from core.api.passwords import user_by_password
from core.api.permissions import same_origin
from core.api.refusals import denied, refuse_credential
from core.errors import (
    CrossOrigin,
    CsrfFailed,
    NotSignedIn,
    NotStaff,
    PeopleOnly,
    PermissionMissing,
    Unauthenticated,
)


@dataclass(frozen=True, slots=True)
class Credential:
    """How a person proved who it is, and as which user: what `request.auth` is on these routes."""

    user: User
    is_basic: bool


class PersonAuthentication(BaseAuthentication):
    """Answers the acting person and its credential.

    An agent's token is refused with 403: it is known, and opens other routes.
    """

    def authenticate(self, request: Request) -> tuple[Actor, Credential] | None:
        scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        scheme, value = scheme.lower(), value.strip()
        if scheme in {"bearer", "basic"} and value and agent_behind(request) is not None:
            raise denied(PeopleOnly())
        if scheme == "bearer":
            refuse_credential(request)
        if scheme == "basic":
            name, secret = basic_credentials(value)
            user = user_by_password(request, name, secret)
            if user is None:
                refuse_credential(request, name=name)
            return _staff(user), Credential(user, is_basic=True)
        user = getattr(request._request, "user", None)  # noqa: SLF001 - DRF's documented way to Django's request
        if not isinstance(user, User) or not user.is_active:
            return None
        _require_csrf(request)
        return _staff(user), Credential(user, is_basic=False)

    def authenticate_header(self, request: Request) -> str:
        """A browser that opens a page is shown one with a link to sign in, not its own box."""
        opens_a_page = "text/html" in request.META.get("HTTP_ACCEPT", "")
        sent_basic = request.META.get("HTTP_AUTHORIZATION", "").lower().startswith("basic ")
        return f"Session {REALM}" if opens_a_page and not sent_basic else f"Basic {REALM}"


class AgentOrPersonAuthentication(AgentAuthentication):
    """For pages about the API, which every known caller may read: an agent, else a person."""

    def authenticate(self, request: Request) -> tuple[Actor, Any] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header or (header.lower().startswith("basic ") and agent_behind(request) is None):
            return PersonAuthentication().authenticate(request)
        return super().authenticate(request)


class StaffWithPermission(BasePermission):
    """Refuses every route that does not say which of Django's permissions it needs, in `permissions`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.user, Actor):
            return False
        credential: Credential = request.auth  # type: ignore[assignment]
        if credential.is_basic and not same_origin(request):
            raise denied(CrossOrigin())
        action = getattr(view, "action", None)
        if action is None or action == "metadata":
            return True
        needed = view.permissions.get(action)
        if needed is None or not credential.user.has_perm(needed):
            raise denied(PermissionMissing(permission=needed or "of a superuser"))
        return True


class PersonViewSet(BusViewSet):
    """A route for people. Subclasses name the permission that each action needs, such as `jobs.view_job`."""

    authentication_classes = (PersonAuthentication,)
    permission_classes = (StaffWithPermission,)
    unauthenticated: ClassVar[type[Unauthenticated]] = NotSignedIn
    permissions: ClassVar[dict[str, str]] = {}

    def nothing(self, *, replayed: bool) -> Response:
        """204: what was named is gone."""
        return Response(status=204, headers={"Idempotency-Replayed": "true"} if replayed else None)

    def conflict_place(self) -> tuple[str | None, list[str], Any]:
        """Where a conflict points: by default at the id in the address."""
        for name, value in self.kwargs.items():
            return None, ["path", name], int(value) if str(value).lstrip("+-").isdigit() else None
        return None, ["body"], None


def _staff(user: User) -> Actor:
    if not user.is_staff:
        raise denied(NotStaff(name=user.get_username()))
    return person(user_id=user.pk, name=user.get_username())


def _require_csrf(request: Request) -> None:
    plain = request._request  # noqa: SLF001 - DRF's documented way to Django's request
    # The check looks for the token in a form as well, and a form that was parsed leaves no body to read.
    plain.body  # noqa: B018 - keeps it
    check = CSRFCheck(_never_called)
    check.process_request(plain)
    if check.process_view(plain, _never_called, (), {}) is not None:
        raise denied(CsrfFailed())


def _never_called(request: HttpRequest) -> HttpResponse:
    raise AssertionError("the check only looks")
