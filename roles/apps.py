"""Registers the app `roles`."""

from django.apps import AppConfig


class RolesConfig(AppConfig):
    """The app's name and defaults."""

    name = "roles"
    default_auto_field = "django.db.models.BigAutoField"
