"""How many requests one token may make: off unless an operator sets a limit."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from core.actors import Actor
from core.api.refusals import Refused
from core.errors import RateLimited


class TokenRateThrottle(SimpleRateThrottle):
    """A sliding minute for each token, counted by this process."""

    scope = "token"

    def get_rate(self) -> str:
        return f"{settings.FORKFLUX_TOKEN_REQUESTS_PER_MINUTE}/min"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        actor = request.user
        if not isinstance(actor, Actor) or actor.token_id is None:
            return None
        return f"throttle:token:{actor.token_id}"


class RateLimitedView:
    """A view whose callers have a limit, when there is one."""

    def get_throttles(self) -> list[Any]:
        return [TokenRateThrottle()] if settings.FORKFLUX_TOKEN_REQUESTS_PER_MINUTE else []

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        seconds = max(round(wait or 1), 1)
        raise Refused(RateLimited(retry_after_seconds=seconds), seconds)
