"""Registers the app `core`."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """The app's name and defaults."""

    name = "core"
    default_auto_field = "django.db.models.BigAutoField"
