"""Addresses of people's agent routes, under `/api/v1/ui/`."""

from django.urls import path

from agents.api.people import PersonAgentViewSet
from agents.api.people_tokens import PersonTokenViewSet

urlpatterns = [
    path(
        "agents",
        PersonAgentViewSet.as_view({"get": "list", "post": "create"}, name="Agents"),
        name="ui-agents",
    ),
    path(
        "agents/<str:agent_id>",
        PersonAgentViewSet.as_view({"patch": "partial_update", "delete": "destroy"}, name="Agent"),
        name="ui-agent",
    ),
    path(
        "agents/<str:agent_id>/activate",
        PersonAgentViewSet.as_view({"post": "activate"}, name="Activate an agent"),
        name="ui-agent-activate",
    ),
    path(
        "agents/<str:agent_id>/deactivate",
        PersonAgentViewSet.as_view({"post": "deactivate"}, name="Deactivate an agent"),
        name="ui-agent-deactivate",
    ),
    path(
        "agents/<str:agent_id>/tokens",
        PersonTokenViewSet.as_view({"get": "list", "post": "create"}, name="Tokens of an agent"),
        name="ui-agent-tokens",
    ),
    path(
        "tokens/<str:token_id>",
        PersonTokenViewSet.as_view({"delete": "destroy"}, name="Token"),
        name="ui-token",
    ),
    path(
        "tokens/<str:token_id>/rotate",
        PersonTokenViewSet.as_view({"post": "rotate"}, name="Rotate a token"),
        name="ui-token-rotate",
    ),
]
