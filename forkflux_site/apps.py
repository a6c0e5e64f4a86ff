"""Registers the wiring as an app, so that its commands and checks are found."""

from typing import Any

from django.apps import AppConfig, apps
from django.db import connections
from django.db.models.signals import pre_migrate


class ForkfluxSiteConfig(AppConfig):
    """The site: no models, only commands (`serve`, `init`) and system checks."""

    name = "forkflux_site"
    verbose_name = "ForkFlux"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from forkflux_site import checks  # noqa: F401 - registers itself on import

        # An app without models hears nothing of migrations; any app with models stands for all.
        pre_migrate.connect(_refuse_original, sender=apps.get_app_config("core"))


def _refuse_original(*, using: str, **_: Any) -> None:
    """Stop `migrate`, by whatever way it was called, before it makes its first table."""
    from forkflux_site.original import refuse_original_tables

    connection = connections[using]
    refuse_original_tables(
        set(connection.introspection.table_names()), where=f"database {connection.settings_dict['NAME']}"
    )
