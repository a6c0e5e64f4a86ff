"""Refused credentials are counted, so that whoever guesses is slowed down. In memory, bounded, per process."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NoReturn

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import APIException, AuthenticationFailed, PermissionDenied, Throttled
from rest_framework.request import Request

from agents.errors import InvalidToken
from core.errors import DomainError, TooManyRefused

logger = logging.getLogger(__name__)

# Whoever guesses under ever new names must not fill the memory: the oldest counts are forgotten first.
KEYS_MOST = 10_000
_SHOWN = 64

Key = tuple[str, str]


class Refused(Throttled):
    """429 with the sentence of a refusal. The library's own would say it in words of its own."""

    def __init__(self, error: DomainError, wait_seconds: float) -> None:
        APIException.__init__(self, error.message, error.code)
        self.wait = wait_seconds


class RefusalCounter:
    """How often each key was refused in its current window, which begins with the first refusal."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._windows: OrderedDict[Key, tuple[float, int]] = OrderedDict()

    def refused(self, *keys: Key) -> int:
        """Count one refusal under each key; the highest count that came of it."""
        now, highest = self._clock(), 0
        with self._lock:
            for key in keys:
                began, count = self._windows.pop(key, (now, 0))
                if now - began > settings.FORKFLUX_REFUSALS_SECONDS:
                    began, count = now, 0
                self._windows[key] = (began, count + 1)
                highest = max(highest, count + 1)
            while len(self._windows) > KEYS_MOST:
                self._windows.popitem(last=False)
        return highest

    def wait_seconds(self, *keys: Key) -> int:
        """For how long nothing more is looked at under these keys; 0: it is."""
        now, longest = self._clock(), 0
        with self._lock:
            for key in keys:
                began, count = self._windows.get(key, (now, 0))
                left = began + settings.FORKFLUX_REFUSALS_SECONDS - now
                if count >= settings.FORKFLUX_REFUSALS_MAX and left > 0:
                    longest = max(longest, math.ceil(left))
        return longest

    def forget(self) -> None:
        """Begin anew."""
        with self._lock:
            self._windows.clear()


REFUSALS = RefusalCounter()


def client_address(request: HttpRequest) -> str:
    """Where a request comes from. What a proxy says of it counts only if one is set up to be believed."""
    if settings.FORKFLUX_BEHIND_TLS_PROXY:
        # The last entry is the proxy's own; what stands before it, anybody may have sent.
        forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
        if forwarded:
            return forwarded[:_SHOWN]
    return str(request.META.get("REMOTE_ADDR", ""))


def refuse_credential(request: Request, *, name: str | None = None) -> NoReturn:
    """Count the refusal and raise 401, or 429 when there were too many: a guess then learns nothing.

    A credential that is valid never gets here, however many were refused from the same address.
    """
    keys = _keys(request, name)
    wait = REFUSALS.wait_seconds(*keys)
    if wait:
        raise too_many(wait)
    count = REFUSALS.refused(*keys)
    logger.info("credential_refused", extra={"address": keys[0][1], "count": count})
    raise AuthenticationFailed(InvalidToken().message)


def require_patience(request: Request, *, name: str) -> None:
    """429 when too much was refused already: asked before a password is hashed, which is expensive."""
    wait = REFUSALS.wait_seconds(*_keys(request, name))
    if wait:
        raise too_many(wait)


def too_many(wait_seconds: int) -> Throttled:
    """What a client is told that was refused too often."""
    error = TooManyRefused(retry_after_seconds=wait_seconds)
    return Refused(error, wait_seconds)


def denied(error: DomainError) -> PermissionDenied:
    """A refusal in the form in which an authenticator or a permission may raise it."""
    return PermissionDenied(error.message, code=error.code)


def _keys(request: Request, name: str | None) -> list[Key]:
    keys = [("address", client_address(request._request))]  # noqa: SLF001 - DRF's documented way to Django's request
    return keys if name is None else [*keys, ("name", name[:_SHOWN])]
