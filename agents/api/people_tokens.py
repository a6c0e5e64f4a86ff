"""Tokens of agents, as people issue, see, revoke and rotate them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.api.people_answers import TokenIssued, TokenRows
from agents.inputs import RotateInput, TokenInput
from agents.payloads import token_item
from agents.scopes import DEFAULT_SCOPES
from agents.selectors import get_agent, get_token, tokens_of
from agents.services import IssuedToken, issue_token, revoke_token, rotate_token
from core.api.base import Done
from core.api.openapi import IDEMPOTENCY_KEY, JOB_REFUSALS, JOB_WRITE_REFUSALS
from core.api.people import PersonViewSet
from core.clock import database_moment

_Place = tuple[str, list[str], Any]  # in a class with a method `list` that name means the method
_Names = list[str]
_ISSUED = {201: TokenIssued, **JOB_WRITE_REFUSALS}


class PersonTokenViewSet(PersonViewSet):
    """The credentials of an agent. A token is shown once, by the call that makes it."""

    permissions = {
        "list": "agents.view_agenttoken",
        "create": "agents.add_agenttoken",
        "destroy": "agents.delete_agenttoken",
        "rotate": "agents.add_agenttoken",
    }
    inputs = {"create": TokenInput, "rotate": RotateInput}

    def conflict_place(self) -> _Place:
        """The token that cannot be rotated."""
        value = self.kwargs.get("token_id")
        return "token.conflict", ["path", "token_id"], value and self.path_id(value, "token_id")

    @extend_schema(summary="The tokens of an agent", responses={200: TokenRows, **JOB_REFUSALS})
    def list(self, request: Request, agent_id: str) -> Response:
        agent = get_agent(self.path_id(agent_id, "agent_id"))
        now = database_moment().now
        return Response([token_item(token, now=now) for token in tokens_of(agent.name)])

    @extend_schema(
        summary="Issue one more token",
        request=TokenInput,
        parameters=[IDEMPOTENCY_KEY],
        responses=_ISSUED,
    )
    def create(self, request: Request, agent_id: str) -> Response:
        number = self.path_id(agent_id, "agent_id")
        fields = self.body(TokenInput, optional=True)
        done: Done[IssuedToken] = self.once(
            lambda: issue_token(
                actor=self.actor,
                agent_name=get_agent(number).name,
                scopes=_scopes(fields),
                expires_at=fields.expires_at,
            ),
            identify=_remembered,
            again=_without_secret,
        )
        return self._issued(done, ignored=TokenInput.ignored(self.parsed))

    @extend_schema(
        summary="Revoke a token: its next call is refused",
        parameters=[IDEMPOTENCY_KEY],
        responses={204: None, **JOB_WRITE_REFUSALS},
    )
    def destroy(self, request: Request, token_id: str) -> Response:
        number = self.path_id(token_id, "token_id")
        self.parsed = {}
        done = self.once(
            lambda: revoke_token(actor=self.actor, token_id=number),
            identify=lambda _: {},
            again=lambda _: get_token(number),
        )
        return self.nothing(replayed=done.replayed)

    @extend_schema(
        summary="Replace a token by a new one, without an outage",
        request=RotateInput,
        parameters=[IDEMPOTENCY_KEY],
        responses=_ISSUED,
    )
    def rotate(self, request: Request, token_id: str) -> Response:
        number = self.path_id(token_id, "token_id")
        fields = self.body(RotateInput, optional=True)
        done: Done[IssuedToken] = self.once(
            lambda: rotate_token(actor=self.actor, token_id=number, **fields.as_arguments()),
            identify=_remembered,
            again=_without_secret,
        )
        return self._issued(done, ignored=RotateInput.ignored(self.parsed))

    def _issued(self, done: Done[IssuedToken], *, ignored: _Names) -> Response:
        issued = done.value
        payload = token_item(issued.token, now=database_moment().now)
        payload["api_token"] = None if done.replayed else issued.secret
        response = self.answer(payload, status=201, replayed=done.replayed, ignored=ignored)
        response["Cache-Control"] = "no-store"
        return response


def _scopes(fields: TokenInput) -> list[str]:
    """What the new token opens, each scope once."""
    return [str(scope) for scope in dict.fromkeys(fields.scopes or DEFAULT_SCOPES)]


def _remembered(issued: IssuedToken) -> dict[str, Any]:
    return {"token_id": issued.token.pk}


def _without_secret(result: dict[str, Any]) -> IssuedToken:
    return IssuedToken(get_token(result["token_id"]), "")
