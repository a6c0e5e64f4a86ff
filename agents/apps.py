"""Registers the app `agents`."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """The app's name and defaults."""

    name = "agents"
    default_auto_field = "django.db.models.BigAutoField"
