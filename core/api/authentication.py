"""Who is calling: a bearer token, or HTTP Basic with agent name and token for a person at the browsable pages."""

from __future__ import annotations

import base64
import logging
from datetime import timedelta
from hmac import compare_digest
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from agents.errors import InvalidToken
from agents.selectors import Identity, identity_by_token_hash
from agents.services import token_hash, write_presence
from core.actors import Actor, ActorKind
from core.api.refusals import refuse_credential
from core.errors import Unavailable
from core.limits import LIMITS

logger = logging.getLogger(__name__)

SESSION_HEADER = "HTTP_X_FORKFLUX_SESSION"
EITHER_REQUIRED = "Invalid authentication credentials (either Bearer token or API key required)"
REALM = 'realm="ForkFlux"'


class AgentAuthentication(BaseAuthentication):
    """Answers the acting agent. One statement; what is compared is the token's hash, never the token."""

    def authenticate(self, request: Request) -> tuple[Actor, Any] | None:
        scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        scheme = scheme.lower()
        if not value.strip() or scheme not in ("bearer", "basic"):
            return None
        identity = agent_behind(request)
        if identity is None:
            refuse_credential(request)
        _note_presence(identity)
        return identity.actor, scheme

    def authenticate_header(self, request: Request) -> str:
        """What to ask for: Basic only from a client that sent it, or from a person who opens a page."""
        sent_basic = request.META.get("HTTP_AUTHORIZATION", "").lower().startswith("basic ")
        opens_a_page = "text/html" in request.META.get("HTTP_ACCEPT", "")
        return f"Basic {REALM}" if sent_basic or opens_a_page else "Bearer"


class AgentOrSharedKeyAuthentication(AgentAuthentication):
    """An agent, or a service that presents `SHARED_API_KEY` as its bearer value. The service is no agent."""

    def authenticate(self, request: Request) -> tuple[Actor, str]:
        scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        shared = settings.SHARED_API_KEY
        if shared and scheme.lower() == "bearer" and compare_digest(value.strip().encode(), shared.encode()):
            return Actor(kind=ActorKind.SYSTEM, name="shared key", scopes=frozenset({"read"})), "bearer"
        try:
            found = super().authenticate(request)
        except AuthenticationFailed as error:
            raise AuthenticationFailed(EITHER_REQUIRED) from error
        if found is None:
            raise AuthenticationFailed(EITHER_REQUIRED)
        return found


def agent_behind(request: Request) -> Identity | None:
    """The agent whose valid token the request carries, as bearer or as the password of HTTP Basic."""
    scheme, _, value = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    value = value.strip()
    name, secret = basic_credentials(value) if scheme.lower() == "basic" else (None, value)
    identity = identity_by_token_hash(token_hash(secret), session=request.META.get(SESSION_HEADER) or None)
    if identity is None or not identity.is_valid:
        return None
    if name is not None and not compare_digest(name.encode(), identity.actor.name.encode()):
        return None
    return identity


def basic_credentials(value: str) -> tuple[str, str]:
    """Name and secret of HTTP Basic; AuthenticationFailed for what is none."""
    try:
        name, colon, secret = base64.b64decode(value, validate=True).decode().partition(":")
    except ValueError as error:  # not ASCII, not base64, or not UTF-8 inside
        raise AuthenticationFailed(InvalidToken().message) from error
    if not colon:
        raise AuthenticationFailed(InvalidToken().message)
    return name, secret


def _note_presence(identity: Identity) -> None:
    older_than = identity.now - timedelta(seconds=LIMITS.presence_write_seconds)
    seen = identity.last_used_at
    if (seen is None or seen < older_than) and identity.actor.agent_id and identity.actor.token_id:
        try:
            write_presence(
                agent_id=identity.actor.agent_id,
                token_id=identity.actor.token_id,
                now=identity.now,
                older_than=older_than,
            )
        except (DatabaseError, InterfaceError, Unavailable) as error:
            # Reading goes on where nothing can be written, and what has to be written will tell for itself.
            logger.warning("presence_missed", extra={"error": type(error.__cause__ or error).__name__})
