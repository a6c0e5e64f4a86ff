"""The API's addresses, under `/api/v1/`. Each app brings its own."""

from django.urls import path

from core.api.probes import DocsView, HealthView, ReadyView, SchemaView

urlpatterns = [
    path("health", HealthView.as_view(), name="health"),
    path("ready", ReadyView.as_view(), name="ready"),
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", DocsView.as_view(url_name="schema"), name="docs"),
]
