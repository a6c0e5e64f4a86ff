"""The caller, its colleagues, and the roles there are."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.api.answers import AgentHeartbeatAnswer, AgentList, MeAnswer, RoleList
from agents.inputs import AgentHeartbeatInput
from agents.payloads import agent_item, me, role_item
from agents.selectors import agents_with_roles
from agents.services import report_state
from core.actors import Actor
from core.api.authentication import AgentOrSharedKeyAuthentication
from core.api.openapi import IDEMPOTENCY_KEY, REFUSALS, SESSION, WRITE_REFUSALS
from core.api.views import AgentViewSet
from core.clock import database_moment, iso
from jobs.selectors import held_jobs
from jobs.services.leasing import Holdings, agent_heartbeat
from roles.selectors import active_roles


class AgentsViewSet(AgentViewSet):
    """Who is calling, and who else is there."""

    scopes = {"me": "read", "my_roles": "read", "list": "read", "heartbeat": "claim"}
    inputs = {"heartbeat": AgentHeartbeatInput}

    @extend_schema(summary="Who am I", responses={200: MeAnswer, **REFUSALS})
    def me(self, request: Request) -> Response:
        self.alive()
        return Response(me(self.actor))

    @extend_schema(summary="The roles I hold", responses={200: RoleList, **REFUSALS})
    def my_roles(self, request: Request) -> Response:
        self.alive()
        held = [role for role in self.actor.roles.values() if not role.is_open]
        return Response([role_item(role.key, role.label) for role in held])

    @extend_schema(summary="Who is there, and what each holds", responses={200: AgentList, **REFUSALS})
    def list(self, request: Request) -> Response:
        now = database_moment().now
        holds = held_jobs()
        return Response(
            [agent_item(agent, holds=holds.get(agent.pk, []), now=now) for agent in agents_with_roles()]
        )

    @extend_schema(
        summary="Keep every lease of this session alive",
        description="Needs the header `X-ForkFlux-Session` that the claims were made with.",
        request=AgentHeartbeatInput,
        parameters=[IDEMPOTENCY_KEY, SESSION],
        responses={200: AgentHeartbeatAnswer, **WRITE_REFUSALS},
    )
    def heartbeat(self, request: Request) -> Response:
        fields = self.body(AgentHeartbeatInput, optional=True)
        done = self.once(
            lambda: _heartbeat(self.actor, fields),
            identify=lambda _: {},
            again=lambda _: agent_heartbeat(actor=self.actor),
        )
        leases = [
            {"job_id": job.pk, "generation": job.lease_generation, "expires_at": iso(job.lease_expires_at)}
            for job in done.value.leases
        ]
        return self.answer(
            {"leases": leases, "lost": done.value.lost},
            replayed=done.replayed,
            ignored=AgentHeartbeatInput.ignored(self.parsed),
        )


class RolesViewSet(AgentViewSet):
    """The roles that work can be addressed to; also for a service that knows the shared key only."""

    authentication_classes = (AgentOrSharedKeyAuthentication,)
    scopes = {"list": "read"}

    @extend_schema(summary="All active roles", responses={200: RoleList, **REFUSALS})
    def list(self, request: Request) -> Response:
        return Response([role_item(role.role_key, role.role_label) for role in active_roles()])


def _heartbeat(actor: Actor, fields: AgentHeartbeatInput) -> Holdings:
    report_state(actor=actor, state=fields.state, note=fields.note)
    return agent_heartbeat(actor=actor)
