"""Agents, as people make, change, keep out and let in again."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.api.people_answers import AgentKeptOut, AgentMade, AgentRows, AgentWritten
from agents.inputs import ActivateInput, AgentEditInput, DeactivateInput, NewAgentInput, RemoveAgentInput
from agents.models import Agent
from agents.payloads import agent_row
from agents.selectors import agents_with_roles, get_agent
from agents.services import activate_agent, edit_agent, register_agent
from core.api.openapi import (
    IDEMPOTENCY_KEY,
    JOB_WRITE_REFUSALS,
    REFUSALS,
    WRITE_REFUSALS,
    query_parameters,
)
from core.api.people import PersonViewSet
from core.clock import database_moment
from jobs.selectors import held_jobs
from jobs.services.removing import deactivate_agent
from roles.selectors import active_roles_by_id

_Place = tuple[str, list[str], Any]  # in a class with a method `list` that name means the method
_KEPT_OUT = {200: AgentKeptOut, **JOB_WRITE_REFUSALS}
_WRITTEN = {200: AgentWritten, **JOB_WRITE_REFUSALS}


class PersonAgentViewSet(PersonViewSet):
    """Who may act on the bus."""

    permissions = {
        "list": "agents.view_agent",
        "create": "agents.add_agent",
        "partial_update": "agents.change_agent",
        "destroy": "agents.delete_agent",
        "activate": "agents.change_agent",
        "deactivate": "agents.change_agent",
    }
    inputs = {
        "create": NewAgentInput,
        "partial_update": AgentEditInput,
        "activate": ActivateInput,
        "deactivate": DeactivateInput,
    }

    def conflict_place(self) -> _Place:
        """The agent that is active already, or not."""
        return "agent.conflict", ["path", "agent_id"], self.path_id(self.kwargs["agent_id"], "agent_id")

    @extend_schema(summary="All agents", responses={200: AgentRows, **REFUSALS})
    def list(self, request: Request) -> Response:
        now = database_moment().now
        holds = held_jobs()
        return Response(
            [agent_row(agent, holds=holds.get(agent.pk, []), now=now) for agent in agents_with_roles()]
        )

    @extend_schema(
        summary="Make an agent, with its first token",
        request=NewAgentInput,
        parameters=[IDEMPOTENCY_KEY],
        responses={201: AgentMade, **WRITE_REFUSALS},
    )
    def create(self, request: Request) -> Response:
        fields = self.body(NewAgentInput)
        done = self.once(
            lambda: self._register(fields),
            identify=lambda made: {"agent_id": made[0].pk},
            # The token is stored nowhere: whoever did not get the first answer revokes it and issues another.
            again=lambda result: (get_agent(result["agent_id"]), None),
        )
        agent, secret = done.value
        payload = {
            "agent_id": agent.pk,
            "agent_label": agent.agent_label,
            "tool_family": agent.tool_family,
            "target_role_ids": [*dict.fromkeys(fields.target_role_ids)],
            "api_token": secret,
            "name": agent.name,
        }
        response = self.answer(
            payload, status=201, replayed=done.replayed, ignored=NewAgentInput.ignored(self.parsed)
        )
        response["Cache-Control"] = "no-store"
        return response

    @extend_schema(
        summary="Change an agent",
        description="`roles` are all that it holds then. Work in hand of a role taken away goes on.",
        request=AgentEditInput,
        parameters=[IDEMPOTENCY_KEY],
        responses=_WRITTEN,
    )
    def partial_update(self, request: Request, agent_id: str) -> Response:
        number = self.path_id(agent_id, "agent_id")
        fields = self.body(AgentEditInput)
        done = self.once(
            lambda: edit_agent(actor=self.actor, agent_name=get_agent(number).name, **fields.as_changes()),
            identify=lambda _: {},
            again=lambda _: get_agent(number),
        )
        return self._row(number, replayed=done.replayed, ignored=AgentEditInput.ignored(self.parsed))

    @extend_schema(
        summary="Keep an agent out, as `deactivate` does",
        description="Nothing is deleted: jobs and events go on naming it.",
        parameters=[IDEMPOTENCY_KEY, *query_parameters(RemoveAgentInput)],
        responses=_KEPT_OUT,
    )
    def destroy(self, request: Request, agent_id: str) -> Response:
        number = self.path_id(agent_id, "agent_id")
        query = self.query(RemoveAgentInput)
        self.parsed = query.as_arguments()
        return self._keep_out(number, query.reason, ignored=[])

    @extend_schema(
        summary="Keep an agent out; what it holds goes back to the board",
        request=DeactivateInput,
        parameters=[IDEMPOTENCY_KEY],
        responses=_KEPT_OUT,
    )
    def deactivate(self, request: Request, agent_id: str) -> Response:
        number = self.path_id(agent_id, "agent_id")
        fields = self.body(DeactivateInput)
        return self._keep_out(number, fields.reason, ignored=DeactivateInput.ignored(self.parsed))

    @extend_schema(
        summary="Let an agent in again, with the tokens it has",
        request=ActivateInput,
        parameters=[IDEMPOTENCY_KEY],
        responses=_WRITTEN,
    )
    def activate(self, request: Request, agent_id: str) -> Response:
        number = self.path_id(agent_id, "agent_id")
        fields = self.body(ActivateInput, optional=True)
        done = self.once(
            lambda: activate_agent(actor=self.actor, agent_name=get_agent(number).name, reason=fields.reason),
            identify=lambda _: {},
            again=lambda _: get_agent(number),
        )
        return self._row(number, replayed=done.replayed, ignored=ActivateInput.ignored(self.parsed))

    def _register(self, fields: NewAgentInput) -> tuple[Agent, str | None]:
        roles = active_roles_by_id(fields.target_role_ids, loc=("body", "target_role_ids"))
        agent, issued = register_agent(
            actor=self.actor,
            agent_label=fields.agent_label,
            role_keys=[role.role_key for role in roles],
            tool_family=fields.tool_family,
        )
        return agent, issued.secret

    def _keep_out(self, agent_id: int, reason: str, *, ignored: Any) -> Response:
        done = self.once(
            lambda: deactivate_agent(actor=self.actor, agent_name=get_agent(agent_id).name, reason=reason)[1],
            identify=lambda returned: {"returned_job_ids": returned},
            again=lambda result: result["returned_job_ids"],
        )
        payload = {"agent_id": agent_id, "is_active": False, "returned_job_ids": done.value}
        return self.answer(payload, replayed=done.replayed, ignored=ignored)

    def _row(self, agent_id: int, *, replayed: bool, ignored: Any) -> Response:
        holds = held_jobs().get(agent_id, [])
        payload = agent_row(get_agent(agent_id), holds=holds, now=database_moment().now)
        return self.answer(payload, replayed=replayed, ignored=ignored)
