"""Addresses of the agent routes, under `/api/v1/mcp/`."""

from django.urls import path

from agents.api.views import AgentsViewSet, RolesViewSet

urlpatterns = [
    path("agents", AgentsViewSet.as_view({"get": "list"}, name="Agents"), name="agents"),
    path("agents/me", AgentsViewSet.as_view({"get": "me"}, name="Who am I"), name="me"),
    path("agents/me/roles", AgentsViewSet.as_view({"get": "my_roles"}, name="My roles"), name="my-roles"),
    path(
        "agents/me/heartbeat",
        AgentsViewSet.as_view({"post": "heartbeat"}, name="Heartbeat of this session"),
        name="my-heartbeat",
    ),
    path("agents/roles", RolesViewSet.as_view({"get": "list"}, name="Roles"), name="roles"),
]
