"""Which address leads to which door."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    # Tried from the top: what is called most comes first.
    path("api/v1/mcp/", include("jobs.api.urls")),
    path("api/v1/mcp/", include("agents.api.urls")),
    path("api/v1/ui/", include("jobs.api.people_urls")),
    # Before the agents: `agents/roles` is not the agent of that id.
    path("api/v1/ui/", include("roles.api.people_urls")),
    path("api/v1/ui/", include("agents.api.people_urls")),
    path("api/v1/ui/", include("events.api.people_urls")),
    path("api/v1/ui/", include("core.api.people_urls")),
    path("api/v1/", include("core.api.urls")),
    path("admin/", admin.site.urls),
]

handler400 = "core.api.errors.bad_request"
handler404 = "core.api.errors.not_found"
handler500 = "core.api.errors.server_error"
