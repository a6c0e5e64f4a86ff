"""Registers the app `artifacts`."""

from django.apps import AppConfig


class ArtifactsConfig(AppConfig):
    """The app's name and defaults."""

    name = "artifacts"
    default_auto_field = "django.db.models.BigAutoField"
