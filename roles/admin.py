"""Roles in the admin: what waits for each, its policy, and to pause or delete it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.admin.base import BusAdmin, acting_person
from core.admin.forms import OptionalReasonForm, ReasonForm, RefusableForm
from core.admin.showing import mark, shown, text
from core.clock import database_moment
from jobs.services.removing import delete_role
from jobs.stats import figures_by_role
from jobs.stuck import in_words
from roles.inputs import RoleEditInput, RoleInput
from roles.models import Role
from roles.services import create_role, edit_role, pause_role, resume_role


class RoleForm(RefusableForm):
    """A role and its policy."""

    role_key = forms.CharField(label="Key", help_text="What jobs are addressed to, such as qa.")
    role_label = forms.CharField(label="Label", help_text="The name that people read.")
    lease_seconds = forms.IntegerField(
        initial=1800, label="Lease", help_text="Seconds that a claim lasts without a sign of life."
    )
    max_lease_expiries = forms.IntegerField(
        initial=5, label="Leases run out at most", help_text="So often; after that the job fails."
    )
    stuck_after_minutes = forms.IntegerField(
        initial=60, label="Stuck after", help_text="Minutes without progress, or without an agent online."
    )
    max_held_per_agent = forms.IntegerField(
        required=False,
        label="Held at most",
        help_text="Jobs that one agent may hold at once. Empty: no limit.",
    )


class DeleteRoleForm(RefusableForm):
    move_to = forms.ChoiceField(
        required=False,
        label="Unfinished jobs go to",
        help_text="Without one, a role with unfinished jobs stays.",
    )

    def __init__(self, *args: Any, role_key: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others = Role.objects.filter(is_deleted=False).exclude(role_key=role_key).order_by("role_key")
        field: Any = self.fields["move_to"]
        field.choices = [
            ("", "– no other role –"),
            *((key, key) for key in others.values_list("role_key", flat=True)),
        ]


class RoleList(ChangeList):
    """The rows of a page with their figures."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        now = database_moment().now
        figures = {row["role_key"]: row for row in figures_by_role(now)}
        roles = list(self.result_list)
        for role in roles:
            role.seen_at = now
            role.figures = figures[role.role_key]
        self.result_list = roles


@admin.register(Role)
class RoleAdmin(BusAdmin):
    page_template = "admin/roles/role/page.html"
    list_display = ("key", "role_label", "state", "waiting", "oldest", "held", "stuck", "online", "lease")
    list_display_links = ("key",)
    search_fields = ("role_key", "role_label")
    ordering = ("role_key",)
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Role]:
        return Role.objects.filter(is_deleted=False)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return RoleList

    @admin.display(description="Key", ordering="role_key")
    def key(self, role: Role) -> str:
        return text(role.role_key)

    @admin.display(description="State")
    def state(self, role: Role) -> SafeString:
        if role.paused_at is None:
            return mark("done", "●", "Open")
        return mark("blocked", "‖", "Paused")

    @admin.display(description="Waiting")
    def waiting(self, role: Any) -> int:
        count: int = role.figures["waiting"]
        return count

    @admin.display(description="Oldest")
    def oldest(self, role: Any) -> str:
        since = role.figures["oldest_waiting_since"]
        return "–" if since is None else in_words(role.seen_at - since)

    @admin.display(description="Held")
    def held(self, role: Any) -> int:
        count: int = role.figures["held"]
        return count

    @admin.display(description="Stuck")
    def stuck(self, role: Any) -> SafeString | int:
        count: int = role.figures["stuck"]
        return format_html('<b class="ff-why">{}</b>', count) if count else 0

    @admin.display(description="Agents online")
    def online(self, role: Any) -> int:
        count: int = role.figures["agents_online"]
        return count

    @admin.display(description="Lease", ordering="lease_seconds")
    def lease(self, role: Role) -> str:
        return f"{role.lease_seconds} s"

    def page(self, request: HttpRequest, row: Role) -> dict[str, Any]:
        now = database_moment().now
        found = {figures["role_key"]: figures for figures in figures_by_role(now)}.get(row.role_key, {})
        acts = self.may(request, "change")
        verbs = [("Resume", "resume")] if row.paused_at else [("Pause", "pause")]
        buttons = [("Edit", "edit"), *verbs] if acts else []
        if self.may(request, "delete"):
            buttons.append(("Delete", "remove"))
        return {
            "title": f"Role {text(row.role_key)}",
            "state": self.state(row),
            "facts": [
                ("Label", text(row.role_label)),
                ("Waiting", found.get("waiting", 0)),
                ("Held", found.get("held", 0)),
                ("Stuck", found.get("stuck", 0)),
                ("Agents online", found.get("agents_online", 0)),
                ("Lease", f"{row.lease_seconds} s"),
                ("Leases run out at most", row.max_lease_expiries),
                ("Stuck after", f"{row.stuck_after_minutes} min"),
                ("Held at most", row.max_held_per_agent or "no limit"),
                ("Anybody may claim", "yes" if row.is_open else "no"),
                ("Made", shown(row.created_at)),
                ("Paused", shown(row.paused_at)),
                ("Why", text(row.pause_reason)),
            ],
            "agents": row.agents.order_by("name").only("pk", "name")[:200],
            "buttons": [{"label": label, "url": self.address(name, row.pk)} for label, name in buttons],
        }

    def deeds(self) -> list[tuple[str, Callable[..., HttpResponseBase], str]]:
        return [
            ("<int:role_id>/edit/", self.edit_view, "edit"),
            ("<int:role_id>/pause/", self.pause_view, "pause"),
            ("<int:role_id>/resume/", self.resume_view, "resume"),
            ("<int:role_id>/delete-role/", self.remove_view, "remove"),
        ]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        self.require(request, "add")

        def act(data: dict[str, Any]) -> str:
            role = create_role(actor=acting_person(request), **RoleInput.checked(data).as_arguments())
            return f"The role {text(role.role_key)} was made."

        return self.deed(  # type: ignore[return-value]
            request, title="Add a role", button="Add", form=RoleForm, act=act, back=self.address("changelist")
        )

    def edit_view(self, request: HttpRequest, role_id: int) -> HttpResponseBase:
        self.require(request, "change")
        role = self._role(request, role_id)

        def act(data: dict[str, Any]) -> str:
            changes = RoleEditInput.checked(data).as_changes()
            edit_role(actor=acting_person(request), role_key=role.role_key, **changes)
            return "The role was changed."

        return self.deed(
            request,
            title=f"Edit the role {text(role.role_key)}",
            button="Save",
            form=RoleForm,
            initial={name: getattr(role, name) for name in RoleForm.base_fields},
            act=act,
            back=self.address("change", role_id),
        )

    def pause_view(self, request: HttpRequest, role_id: int) -> HttpResponseBase:
        self.require(request, "change")
        role = self._role(request, role_id)

        def act(data: dict[str, Any]) -> str:
            pause_role(actor=acting_person(request), role_key=role.role_key, reason=data["reason"])
            return f"Nothing of {text(role.role_key)} is handed out until it is resumed."

        return self.deed(
            request, title=f"Pause the role {text(role.role_key)}", button="Pause", form=ReasonForm, act=act,
            back=self.address("change", role_id),
            warning="Nothing of it is handed out until it is resumed. What is held goes on.",
        )  # fmt: skip

    def resume_view(self, request: HttpRequest, role_id: int) -> HttpResponseBase:
        self.require(request, "change")
        role = self._role(request, role_id)

        def act(data: dict[str, Any]) -> str:
            resume_role(actor=acting_person(request), role_key=role.role_key, reason=data["reason"])
            return f"The work of {text(role.role_key)} is handed out again."

        return self.deed(
            request, title=f"Resume the role {text(role.role_key)}", button="Resume", form=OptionalReasonForm,
            act=act, back=self.address("change", role_id),
        )  # fmt: skip

    def remove_view(self, request: HttpRequest, role_id: int) -> HttpResponseBase:
        self.require(request, "delete")
        role = self._role(request, role_id)

        def act(data: dict[str, Any]) -> HttpResponse:
            _, moved = delete_role(
                actor=acting_person(request), role_key=role.role_key, move_to=data["move_to"] or None
            )
            told = f" {len(moved)} jobs went to {text(data['move_to'])}." if moved else ""
            self.message_user(request, f"The role {text(role.role_key)} was deleted.{told}")
            return redirect(self.address("changelist"))

        def form(*args: Any, **kwargs: Any) -> DeleteRoleForm:
            return DeleteRoleForm(*args, role_key=role.role_key, **kwargs)

        return self.deed(
            request, title=f"Delete the role {text(role.role_key)}", button="Delete it", form=form, act=act,  # type: ignore[arg-type]
            back=self.address("change", role_id), harms=True,
            warning="Its agents lose it. Jobs that are finished keep its name.",
        )  # fmt: skip

    def _role(self, request: HttpRequest, role_id: int) -> Role:
        role: Role = self.existing(request, role_id)
        return role
