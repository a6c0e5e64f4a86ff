"""What every agent route does beside: it asks for a scope, and an accepted call is a sign of life."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from django.db import DatabaseError, InterfaceError
from rest_framework.request import Request

from core.api.base import VISIBLE, BusViewSet
from core.api.rates import RateLimitedView
from core.errors import Unavailable, invalid
from jobs.services.leasing import sign_of_life

logger = logging.getLogger(__name__)


class AgentViewSet(RateLimitedView, BusViewSet):
    """A route for agents. Subclasses name a scope for each action."""

    scopes: ClassVar[dict[str, str | tuple[str, ...]]] = {}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        session = self.actor.session
        if session is not None and not VISIBLE.fullmatch(session):
            raise invalid(
                "session.invalid",
                ("header", "X-ForkFlux-Session"),
                "X-ForkFlux-Session should have 1 to 64 visible ASCII characters",
                None,
                max_length=64,
            )

    def alive(self, job_id: int | None = None) -> None:
        """After an accepted call: whoever made it, its process lives."""
        try:
            sign_of_life(actor=self.actor, job_id=job_id)
        except (DatabaseError, InterfaceError, Unavailable) as error:
            # The call is done and its answer is due: saying "busy" now would be untrue. The next call renews.
            logger.warning("sign_of_life_missed", extra={"error": type(error.__cause__ or error).__name__})
