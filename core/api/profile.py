"""Whether this installation was set up: what a dashboard asks before it shows its first page."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.openapi import IDEMPOTENCY_KEY, REFUSALS, WRITE_REFUSALS, Answer, WriteAnswer
from core.api.people import PersonViewSet
from core.inputs import Input
from core.installation import is_onboarded, set_onboarded


class ProfileInput(Input):
    """`true` once the first roles and agents were made."""

    example: ClassVar[dict[str, Any]] = {"is_onboarded": True}

    is_onboarded: bool


class ProfileAnswer(Answer):
    """Whether somebody said that the installation is set up."""

    example: ClassVar[Any] = {"is_onboarded": True}

    is_onboarded: bool


class ProfileWritten(ProfileAnswer, WriteAnswer):
    """As it is from now on."""


class ProfileViewSet(PersonViewSet):
    """The installation's own facts."""

    permissions = {"retrieve": "core.view_installation", "create": "core.change_installation"}
    inputs = {"create": ProfileInput}

    def conflict_place(self) -> tuple[str | None, list[str], Any]:
        """At the one field there is."""
        return "profile.already_exists", ["body", "is_onboarded"], self.parsed.get("is_onboarded")

    @extend_schema(summary="Was this installation set up", responses={200: ProfileAnswer, **REFUSALS})
    def retrieve(self, request: Request) -> Response:
        return Response({"is_onboarded": is_onboarded()})

    @extend_schema(
        summary="Say that this installation is set up",
        request=ProfileInput,
        parameters=[IDEMPOTENCY_KEY],
        responses={201: ProfileWritten, **WRITE_REFUSALS},
    )
    def create(self, request: Request) -> Response:
        fields = self.body(ProfileInput)
        done = self.once(
            lambda: set_onboarded(is_onboarded=fields.is_onboarded),
            identify=lambda value: {"is_onboarded": value},
            again=lambda result: bool(result["is_onboarded"]),
        )
        return self.answer(
            {"is_onboarded": done.value},
            status=201,
            replayed=done.replayed,
            ignored=ProfileInput.ignored(self.parsed),
        )
