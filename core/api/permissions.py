"""What a credential may do: nothing, unless the route names the scope it needs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from core.actors import Actor
from core.errors import CrossOrigin, ScopeMissing

_SAFE = ("GET", "HEAD", "OPTIONS")


class DenyByDefault(BasePermission):
    """Refuses every route that does not say which scope it needs.

    A view says so in `scopes` (action → scope, or several of which one is enough) or, without actions, in
    `scope`; `open_to_all` needs none.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if getattr(view, "open_to_all", False):
            return True
        actor = request.user
        if not isinstance(actor, Actor):
            return False
        if request.auth == "basic" and not same_origin(request):
            return self._refuse(CrossOrigin())
        if actor.is_person:
            # Only pages about the API take both; what people do has routes of its own.
            return hasattr(view, "scope")
        scopes = _scopes_of(view)
        if actor.scopes.isdisjoint(scopes):
            return self._refuse(ScopeMissing(scope=" or ".join(scopes) or "of an operator"))
        return True

    def _refuse(self, error: CrossOrigin | ScopeMissing) -> bool:
        self.message, self.code = error.message, error.code
        return False


def _scopes_of(view: Any) -> tuple[str, ...]:
    """Those of which the caller needs one."""
    if hasattr(view, "scope"):
        return (str(view.scope),)
    action = getattr(view, "action", None)
    if action is None or action == "metadata":
        # No such method here, or a question about the route: answered after authentication (405, OPTIONS).
        return ("read",)
    scopes = view.scopes.get(action, ())
    return (scopes,) if isinstance(scopes, str) else tuple(scopes)


def same_origin(request: Request) -> bool:
    """A browser sends Basic credentials by itself, also from another site's form: those may not write."""
    if request.method in _SAFE:
        return True
    # Set by the browser and out of reach of scripts; where it is missing, the older headers say the same.
    site = request.META.get("HTTP_SEC_FETCH_SITE")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.META.get("HTTP_ORIGIN", request.META.get("HTTP_REFERER"))
    if origin is None:
        return True
    try:
        netloc = urlsplit(origin).netloc.lower()
    except ValueError:
        return False
    return netloc == request.get_host().lower() or origin in settings.CSRF_TRUSTED_ORIGINS
