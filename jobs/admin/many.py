"""The same verb on many jobs: goes on past those that refuse it, and tells why they did."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from core.admin.base import BusAdmin, acting_person, tell_outcome
from core.admin.forms import ConfirmForm, ReasonForm
from core.admin.showing import badge, text
from core.errors import DomainError
from jobs.admin.forms import ReassignForm
from jobs.models import Job
from jobs.services.by_persons import PersonVerb
from jobs.services.removing import delete_job


def use_on_many(
    page: BusAdmin, request: HttpRequest, queryset: QuerySet[Job], *, entry: PersonVerb
) -> HttpResponseBase | None:
    """Use a verb on each selected job, past those that refuse it."""
    page.require(request, "change")
    form_class = ReassignForm if entry.names_an_agent else ReasonForm
    form = form_class(request.POST) if "confirmed" in request.POST else form_class()
    jobs = list(queryset.order_by("pk"))
    if form.is_valid():
        actor, done, refusals = acting_person(request), 0, []
        for job in jobs:
            try:
                entry.act(job_id=job.pk, actor=actor, **form.cleaned_data)
            except DomainError as error:
                refusals.append(_refusal(job, error))
            else:
                done += 1
        tell_outcome(request, f"of {len(jobs)} jobs: {entry.label.lower()} done", done, refusals)
        return None
    return _ask(page, request, entry.label, form, jobs, warning=entry.warning, roles=entry.names_an_agent)


def delete_many(page: BusAdmin, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponseBase | None:
    page.require(request, "delete")
    jobs = list(queryset.order_by("pk"))
    if "confirmed" not in request.POST:
        warning = "Their contexts, results and artifacts are gone for good. Their events stay."
        return _ask(page, request, "Delete", ConfirmForm(), jobs, warning=warning)
    done, refusals = 0, []
    # Children before their parents.
    for job in reversed(jobs):
        try:
            delete_job(job_id=job.pk, actor=acting_person(request))
        except DomainError as error:
            refusals.append(_refusal(job, error))
        else:
            done += 1
    tell_outcome(request, f"of {len(jobs)} jobs deleted", done, refusals)
    return None


def _ask(
    page: BusAdmin,
    request: HttpRequest,
    label: str,
    form: ReasonForm | ConfirmForm,
    jobs: list[Job],
    *,
    warning: str,
    roles: bool = False,
) -> HttpResponse:
    return page.render(
        request,
        "admin/forkflux/deed.html",
        title=f"{label} {len(jobs)} job{'s' if len(jobs) != 1 else ''}",
        form=form,
        button=label,
        warning=warning,
        harms=bool(warning),
        back=page.address("changelist"),
        subjects=[(job.pk, text(job.summary), badge(job.status, on_hold=job.on_hold)) for job in jobs],
        action=request.POST.get("action"),
        candidates=ReassignForm.candidates({job.target_role_id for job in jobs}) if roles else [],
    )


def _refusal(job: Job, error: DomainError) -> str:
    told = error.message
    return told if f"{job.pk}" in told else f"Job {job.pk}: {told}"
