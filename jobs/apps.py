"""Registers the app `jobs`."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The app's name and defaults."""

    name = "jobs"
    default_auto_field = "django.db.models.BigAutoField"
