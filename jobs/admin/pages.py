"""The list of jobs, and the page of one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.presence import presence
from artifacts.selectors import artifacts_of
from core.admin.base import BusAdmin, acting_person
from core.admin.forms import ConfirmForm, ReasonForm
from core.admin.showing import badge, lines, readable_json, text
from core.clock import database_moment
from jobs.admin.contents import MARKS, facts, pointer, reasons, told
from jobs.admin.filters import AgeFilter, HolderFilter, LabelFilter, RoleFilter, StateFilter, StuckFilter
from jobs.admin.forms import EditForm, PublishForm, ReassignForm
from jobs.admin.many import delete_many, use_on_many
from jobs.filters import stuck_among
from jobs.inputs import EditInput, PublishInput
from jobs.lifecycle import FINISHED, LEASED, OPEN, Priority, Verb
from jobs.models import Job
from jobs.selectors import trail
from jobs.services.by_persons import BY_PERSONS, PersonVerb, open_to_persons
from jobs.services.publishing import publish
from jobs.services.removing import delete_job
from jobs.services.updating import update
from jobs.stuck import in_words

_PAYLOADS = ("context_payload", "constraints", "result", "routing_rules")
_EVENTS_SHOWN = 200
_CHILDREN_SHOWN = 50


class JobList(ChangeList):
    """The rows of a page, each with the time of the look and the reason why it is stuck, if it is."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        now = database_moment().now
        jobs = list(self.result_list)
        stuck = stuck_among([job.pk for job in jobs], now)
        for job in jobs:
            job.seen_at = now
            job.stuck = stuck.get(job.pk)
        self.result_list = jobs


@admin.register(Job)
class JobAdmin(BusAdmin):
    page_template = "admin/jobs/job/page.html"
    list_display = (
        *("number", "state", "summary_shown", "role", "priority_shown"),
        *("holder", "age", "lease_left", "retries"),
    )
    list_display_links = ("number", "summary_shown")
    list_filter = (StateFilter, StuckFilter, RoleFilter, HolderFilter, AgeFilter, "on_hold", LabelFilter)
    search_fields = ("=id", "summary", "=label_rows__label")
    search_help_text = "A word of the summary, a label, or the number of a job."
    ordering = ("-id",)
    paginator = Paginator
    actions = None

    # --- the list -----------------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return Job.objects.select_related("target_role", "assignee_agent").defer(*_PAYLOADS)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return JobList

    @admin.display(description="Job", ordering="id")
    def number(self, job: Job) -> str:
        return f"#{job.pk}"

    @admin.display(description="Summary")
    def summary_shown(self, job: Any) -> SafeString:
        why = format_html('<span class="ff-why">{}</span>', text(job.stuck.reason)) if job.stuck else ""
        return format_html('<span class="ff-summary">{}</span>{}', text(job.summary), why)

    @admin.display(description="State", ordering="status")
    def state(self, job: Job) -> SafeString:
        return badge(job.status, on_hold=job.on_hold)

    @admin.display(description="Role", ordering="target_role__role_key")
    def role(self, job: Job) -> str:
        return text(job.target_role.role_key)

    @admin.display(description="Priority", ordering="priority")
    def priority_shown(self, job: Job) -> str:
        return MARKS[Priority(job.priority)]

    @admin.display(description="Holder", ordering="assignee_agent__name")
    def holder(self, job: Any) -> SafeString | str:
        agent = job.assignee_agent
        if agent is None:
            return "–"
        there = presence(agent.last_seen_at, job.seen_at)
        return format_html('{} <span class="ff-presence ff-{}">{}</span>', agent.name, there, there)

    @admin.display(description="In state for", ordering="-status_changed_at")
    def age(self, job: Any) -> str:
        return in_words(job.seen_at - job.status_changed_at)

    @admin.display(description="Lease left", ordering="lease_expires_at")
    def lease_left(self, job: Any) -> str:
        if job.state not in LEASED or job.lease_expires_at is None:
            return "–"
        left = job.lease_expires_at - job.seen_at
        return in_words(left) if left.total_seconds() > 0 else "ran out"

    @admin.display(description="Retries")
    def retries(self, job: Job) -> str:
        return f"{job.retry_count}/{job.max_retries}"

    # --- the page of a job --------------------------------------------------------------------------
    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Job | None:
        if not object_id.isdecimal() or len(object_id) > 19:
            return None
        related = ("target_role", "assignee_agent", "source_agent", "parent_job")
        return Job.objects.select_related(*related).filter(pk=int(object_id)).first()

    def page(self, request: HttpRequest, row: Job) -> dict[str, Any]:
        now = database_moment().now
        stuck = stuck_among([row.pk], now).get(row.pk)
        newest = list(trail(row.pk).order_by("-sequence")[: _EVENTS_SHOWN + 1])
        acts = self.may(request, "change")
        return {
            "title": f"Job {row.pk}",
            "state": badge(row.status, on_hold=row.on_hold),
            "why": stuck.reason if stuck else None,
            "facts": facts(row, now),
            "reasons": reasons(row),
            "constraints": [lines(each) for each in row.constraints],
            "context": readable_json(row.context_payload),
            "result": None if row.result is None else readable_json(row.result),
            "summary": text(row.summary),
            "parent": (row.parent_job.pk, text(row.parent_job.summary)) if row.parent_job else None,
            "artifacts": [pointer(artifact) for artifact in artifacts_of(row.pk)],
            "children": [
                (child.pk, text(child.summary))
                for child in row.children.order_by("pk").only("pk", "summary")[:_CHILDREN_SHOWN]
            ],
            "events": [told(event) for event in newest[:_EVENTS_SHOWN]],
            "more_events": len(newest) > _EVENTS_SHOWN,
            "verbs": [self._button(row, entry) for entry in open_to_persons(row)] if acts else [],
            "edit_url": self.address("edit", row.pk) if acts and row.state in OPEN else None,
            "delete_url": (
                self.address("remove", row.pk)
                if self.may(request, "delete") and row.state in FINISHED
                else None
            ),
        }

    def _button(self, job: Job, entry: PersonVerb) -> dict[str, str]:
        return {"label": entry.label, "url": self.address("verb", job.pk, str(entry.verb))}

    # --- what can be done ---------------------------------------------------------------------------
    def deeds(self) -> list[tuple[str, Callable[..., HttpResponseBase], str]]:
        return [
            ("<int:job_id>/edit/", self.edit_view, "edit"),
            ("<int:job_id>/delete-job/", self.remove_view, "remove"),
            ("<int:job_id>/verb/<slug:verb>/", self.verb_view, "verb"),
        ]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Publish a job, as the signed-in person."""
        self.require(request, "add")

        def act(data: dict[str, Any]) -> HttpResponse:
            job = publish(
                actor=acting_person(request), **PublishInput.checked(_given(PublishForm, data)).as_arguments()
            )
            self.message_user(
                request, f"Job {job.pk} was published for the role {text(job.target_role.role_key)}."
            )
            return redirect(self.address("change", job.pk))

        return self.deed(  # type: ignore[return-value]
            request, title="Publish a job", button="Publish", form=PublishForm, act=act,
            back=self.address("changelist"),
        )  # fmt: skip

    def edit_view(self, request: HttpRequest, job_id: int) -> HttpResponseBase:
        self.require(request, "change")
        job: Job = self.existing(request, job_id)

        def act(data: dict[str, Any]) -> str:
            fields = EditInput.checked(_given(EditForm, data) | {"expected_version": data["version"]})
            update(job_id=job_id, actor=acting_person(request), **fields.as_changes())
            return f"Job {job_id} was changed."

        return self.deed(
            request,
            title=f"Edit job {job_id}",
            button="Save",
            form=EditForm,
            initial=EditForm.of(job),
            act=act,
            back=self.address("change", job_id),
        )

    def remove_view(self, request: HttpRequest, job_id: int) -> HttpResponseBase:
        self.require(request, "delete")
        self.existing(request, job_id)

        def act(_: dict[str, Any]) -> HttpResponse:
            delete_job(job_id=job_id, actor=acting_person(request))
            self.message_user(request, f"Job {job_id} was deleted; its events stay.")
            return redirect(self.address("changelist"))

        return self.deed(
            request,
            title=f"Delete job {job_id}",
            button="Delete it",
            form=ConfirmForm,
            act=act,
            back=self.address("change", job_id),
            warning="Its context, result and artifacts are gone for good. Its events stay.",
            harms=True,
        )

    def verb_view(self, request: HttpRequest, job_id: int, verb: str) -> HttpResponseBase:
        """Ask for the reason, then use one verb on one job."""
        self.require(request, "change")
        entry = _verb(verb)
        job: Job = self.existing(request, job_id)

        def act(data: dict[str, Any]) -> str:
            entry.act(job_id=job_id, actor=acting_person(request), **data)
            return f"{entry.label} job {job_id}: done."

        return self.deed(
            request,
            title=f"{entry.label} job {job_id}",
            button=entry.label,
            form=ReassignForm if entry.names_an_agent else ReasonForm,
            act=act,
            back=self.address("change", job_id),
            warning=entry.warning,
            harms=bool(entry.warning),
            subjects=[(job.pk, text(job.summary), badge(job.status, on_hold=job.on_hold))],
            candidates=ReassignForm.candidates({job.target_role_id}) if entry.names_an_agent else [],
        )

    # --- the same on many ---------------------------------------------------------------------------
    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions: dict[str, Any] = {}
        if self.may(request, "change"):
            for verb, entry in BY_PERSONS.items():
                run = functools.partial(use_on_many, entry=entry)
                actions[str(verb)] = (run, str(verb), f"{entry.label} the selected jobs")
        if self.may(request, "delete"):
            actions["delete_jobs"] = (delete_many, "delete_jobs", "Delete the selected finished jobs")
        return actions


def _verb(name: str) -> PersonVerb:
    try:
        return BY_PERSONS[Verb(name)]
    except (ValueError, KeyError):
        raise Http404 from None


def _given(form_class: type[PublishForm | EditForm], data: dict[str, Any]) -> dict[str, Any]:
    form = form_class()
    form.cleaned_data = data
    return form.given()
