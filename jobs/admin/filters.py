"""By what the list of jobs is narrowed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from agents.models import Agent
from core.clock import database_moment
from jobs.lifecycle import Status
from jobs.models import Job, JobLabel
from jobs.stuck import stuck_jobs
from roles.models import Role

_AGES = {
    "1h": ("at least an hour", timedelta(hours=1)),
    "1d": ("at least a day", timedelta(days=1)),
    "7d": ("at least a week", timedelta(days=7)),
}
MOST_CHOICES = 200


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(status), str(status).replace("_", " ")) for status in Status]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(status=self.value()) if self.value() in list(Status) else queryset


class StuckFilter(admin.SimpleListFilter):
    """The same jobs that `forkflux stuck` and the counts mean."""

    title = "stuck"
    parameter_name = "stuck"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "needs a person")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        if self.value() != "yes":
            return queryset
        return queryset.filter(pk__in=stuck_jobs(database_moment().now).order_by().values("pk"))


class RoleFilter(admin.SimpleListFilter):
    title = "role"
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        keys = Role.objects.filter(is_deleted=False).order_by("role_key").values_list("role_key", flat=True)
        return [(key, key) for key in keys[:MOST_CHOICES]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(target_role__role_key=self.value()) if self.value() else queryset


class HolderFilter(admin.SimpleListFilter):
    title = "holder"
    parameter_name = "holder"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = Agent.objects.filter(is_active=True).order_by("name").values_list("name", flat=True)
        return [(name, name) for name in names[:MOST_CHOICES]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(assignee_agent__name=self.value()) if self.value() else queryset


class AgeFilter(admin.SimpleListFilter):
    """For how long a job has been in its state."""

    title = "time in this state"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, word) for value, (word, _) in _AGES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        found = _AGES.get(self.value() or "")
        return queryset.filter(status_changed_at__lte=database_moment().now - found[1]) if found else queryset


class LabelFilter(admin.SimpleListFilter):
    """Only offered by an address: there may be thousands of labels."""

    title = "label"
    parameter_name = "label"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        chosen = request.GET.get(self.parameter_name)
        return [(chosen, chosen)] if chosen else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        if not self.value():
            return queryset
        return queryset.filter(Exists(JobLabel.objects.filter(job=OuterRef("pk"), label=self.value())))
