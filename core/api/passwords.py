"""A person's name and password, as HTTP Basic carries them with every single call."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict
from hashlib import sha256

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from rest_framework.request import Request

from core.api.refusals import require_patience, too_many

# Checking a password costs 0.2 s of CPU by design. So what was right a moment ago is remembered, under a key
# that this process alone can make; nothing in memory tells the password.
_KEY = secrets.token_bytes(32)
_KEPT_MOST = 1_000


class VerifiedPasswords:
    """Which name and password were right, and for which user and stored hash: the newest thousand."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, tuple[int, str]] = OrderedDict()

    def remember(self, name: str, password: str, user: User) -> None:
        with self._lock:
            self._known[_fingerprint(name, password)] = (user.pk, user.password)
            while len(self._known) > _KEPT_MOST:
                self._known.popitem(last=False)

    def user(self, name: str, password: str) -> User | None:
        """The user, if this was right and still is: not after another password was set, nor for an inactive one."""
        with self._lock:
            known = self._known.get(_fingerprint(name, password))
        if known is None:
            return None
        user_id, stored = known
        user = User.objects.filter(pk=user_id, is_active=True).first()
        if user is None or not hmac.compare_digest(user.password, stored) or user.get_username() != name:
            return None
        return user


VERIFIED = VerifiedPasswords()


def user_by_password(request: Request, name: str, password: str) -> User | None:
    """The active user of this name and password, or None; Throttled where too many were refused before."""
    user = VERIFIED.user(name, password)
    if user is not None:
        return user
    require_patience(request, name=name)
    plain = request._request  # noqa: SLF001 - DRF's documented way to Django's request
    found = authenticate(plain, username=name, password=password)
    if getattr(plain, "axes_locked_out", False):
        raise too_many(60)
    if not isinstance(found, User):
        return None
    VERIFIED.remember(name, password, found)
    return found


def _fingerprint(name: str, password: str) -> bytes:
    return hmac.digest(_KEY, f"{len(name)}:{name}:{password}".encode(), sha256)
