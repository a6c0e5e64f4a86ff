"""Which form an answer takes: what `Accept` asks for if there is such a form, else the route's first one."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import Http404
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class LenientNegotiation(DefaultContentNegotiation):
    """Never refuses: a tool that asks for text/plain out of habit is served JSON, as the reference does.

    A refusal would also come before the 401, and tell a stranger which forms a route has.
    """

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        offered = list(renderers)
        try:
            chosen: tuple[BaseRenderer, str] = super().select_renderer(request, offered, format_suffix)
        except (NotAcceptable, Http404):
            return offered[0], str(offered[0].media_type)
        return chosen
