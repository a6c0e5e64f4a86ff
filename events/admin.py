"""The audit trail in the admin: to read and to search, never to change."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from core.admin.base import BusAdmin
from core.admin.showing import readable_json, shown, text
from events.models import Event


@admin.register(Event)
class EventAdmin(BusAdmin):
    page_template = "admin/forkflux/event.html"
    list_display = ("number", "at", "kind", "stream", "by", "status")
    list_filter = ("actor_kind", "event_type")
    search_fields = ("=stream", "=actor_name", "=job_id")
    search_help_text = "A stream such as job:7, the name of who acted, or the number of a job."
    ordering = ("-id",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("canonical")

    @admin.display(description="Event", ordering="id")
    def number(self, event: Event) -> str:
        return f"#{event.pk}"

    @admin.display(description="When", ordering="created_at")
    def at(self, event: Event) -> str:
        return shown(event.created_at)

    @admin.display(description="What", ordering="event_type")
    def kind(self, event: Event) -> str:
        return event.event_type.replace("_", " ")

    @admin.display(description="By", ordering="actor_name")
    def by(self, event: Event) -> str:
        return f"{text(event.actor_name)} ({event.actor_kind})"

    @admin.display(description="State after", ordering="current_status")
    def status(self, event: Event) -> str:
        return (event.current_status or "–").replace("_", " ")

    def page(self, request: HttpRequest, row: Event) -> dict[str, Any]:
        by = f"{text(row.actor_name)} ({row.actor_kind})"
        return {
            "title": f"Event {row.sequence} of {row.stream}",
            "facts": [
                ("What", row.event_type),
                ("When", shown(row.created_at)),
                ("By", f"{by}, in its name {text(row.via)}" if row.via else by),
                ("State before", row.previous_status or "–"),
                ("State after", row.current_status or "–"),
                ("Hash", row.hash),
                ("Hash before", row.previous_hash or "–"),
            ],
            "payload": readable_json(row.payload),
        }
