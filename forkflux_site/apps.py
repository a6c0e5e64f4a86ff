"""Registers the wiring as an app, so that its commands and checks are found."""

from django.apps import AppConfig


class ForkfluxSiteConfig(AppConfig):
    """The site: no models, only commands (`serve`, `init`) and system checks."""

    name = "forkflux_site"
    verbose_name = "ForkFlux"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from forkflux_site import checks  # noqa: F401 - registers itself on import
