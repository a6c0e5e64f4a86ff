"""Registers the app `events`."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """The app's name and defaults."""

    name = "events"
    default_auto_field = "django.db.models.BigAutoField"
