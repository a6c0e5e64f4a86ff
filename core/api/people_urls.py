"""Addresses of the installation's own facts, under `/api/v1/ui/`."""

from django.urls import path

from core.api.profile import ProfileViewSet

urlpatterns = [
    path(
        "profile",
        ProfileViewSet.as_view({"get": "retrieve", "post": "create"}, name="Profile"),
        name="ui-profile",
    ),
]
