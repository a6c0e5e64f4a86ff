"""Addresses of people's role routes, under `/api/v1/ui/`."""

from django.urls import path

from roles.api.people import PersonRoleViewSet

urlpatterns = [
    path(
        "agents/roles",
        PersonRoleViewSet.as_view({"get": "list", "post": "create"}, name="Roles"),
        name="ui-roles",
    ),
    path(
        "agents/roles/<str:role_id>",
        PersonRoleViewSet.as_view({"patch": "partial_update", "delete": "destroy"}, name="Role"),
        name="ui-role",
    ),
    path(
        "agents/roles/<str:role_id>/pause",
        PersonRoleViewSet.as_view({"post": "pause"}, name="Pause a role"),
        name="ui-role-pause",
    ),
    path(
        "agents/roles/<str:role_id>/resume",
        PersonRoleViewSet.as_view({"post": "resume"}, name="Resume a role"),
        name="ui-role-resume",
    ),
]
