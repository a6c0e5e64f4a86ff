"""The two doors of the admin: the pages behind a job's buttons, and the actions on a list of jobs."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client, RequestFactory
from django.urls import reverse

from forkflux_site.tests.doors_scene import ARGUMENTS, SUMMARY, Refusal, Scene
from jobs.admin.forms import EditForm
from jobs.models import Job
from jobs.services.by_persons import BY_PERSONS

_PAGES = {"edit": {"edit"}, "remove": {"delete"}, "verb": {str(verb) for verb in BY_PERSONS}}
_ACTIONS = {"delete_jobs": "delete"}


def offered_as_buttons() -> set[str]:
    """What has a page of its own, and the form to publish."""
    return {verb for _, _, name in _pages().deeds() for verb in _PAGES[name]} | {"publish"}


def offered_as_actions() -> set[str]:
    """What somebody who may do everything can choose in the list."""
    request = RequestFactory().get("/")
    request.user = User(is_active=True, is_staff=True, is_superuser=True)
    return {_ACTIONS.get(name, name) for name in _pages().get_actions(request)}


def by_button(browser: Client, scene: Scene, verb: str) -> Refusal | None:
    """Fill the page in and send it. A refusal is shown above the form, with what was typed."""
    if verb == "publish":
        before = set(Job.objects.values_list("pk", flat=True))
        answer = browser.post(reverse("admin:jobs_job_add"), _new_job(scene))
        if answer.status_code == 302:
            [scene.job_id] = set(Job.objects.values_list("pk", flat=True)) - before
    elif verb == "edit":
        answer = browser.post(reverse("admin:jobs_job_edit", args=[scene.job_id]), _edited(scene))
    elif verb == "delete":
        answer = browser.post(reverse("admin:jobs_job_remove", args=[scene.job_id]))
    else:
        answer = browser.post(reverse("admin:jobs_job_verb", args=[scene.job_id, verb]), _asked(scene, verb))
    if answer.status_code == 302:
        _look_at(browser)
        return None
    errors: Any = answer.context["form"].errors
    assert set(errors) == {"__all__"}, errors
    return Refusal(None, scene.plain(errors.get_json_data()["__all__"][0]["message"]))


def by_action(browser: Client, scene: Scene, verb: str) -> Refusal | None:
    """Choose the job in the list. A refusal is told in a message, after the others were done."""
    names = {told: name for name, told in _ACTIONS.items()}
    chosen = {"action": names.get(verb, verb), "_selected_action": scene.job_id, "confirmed": "yes"}
    answer = browser.post(reverse("admin:jobs_job_changelist"), {**chosen, **_asked(scene, verb)})
    assert answer.status_code == 302, answer.content[:500]
    [told] = get_messages(answer.wsgi_request)
    _look_at(browser)
    if told.level == messages.SUCCESS:
        return None
    return Refusal(None, scene.plain(str(told).removeprefix(f"Job {scene.job_id}: ")))


def _look_at(browser: Client) -> None:
    """Open a page (one that costs little), which shows what was told: it is told once."""
    assert browser.get(reverse("admin:password_change")).status_code == 200


def _pages() -> Any:
    return admin.site._registry[Job]


def _asked(scene: Scene, verb: str) -> dict[str, Any]:
    """What the page of a verb asks for."""
    if verb == "delete":
        return {}
    [reason] = [value for name, value in ARGUMENTS[verb].items() if name.endswith("reason")]
    named = {"agent_name": scene.callers["rival"].name} if verb == "reassign" else {}
    return {"reason": reason, **named}


def _new_job(scene: Scene) -> dict[str, Any]:
    return {
        "summary": SUMMARY,
        "role": scene.role.role_key,
        "priority": 20,
        "constraints": "Every field has a label",
        "context": '{"sails": 3}',
        "max_retries": 3,
    }


def _edited(scene: Scene) -> dict[str, Any]:
    """The form as it was shown, with what the edit changes."""
    form = EditForm(initial=EditForm.of(Job.objects.get(pk=scene.job_id)))
    shown = {field.name: field.value() for field in form}
    given = ARGUMENTS["edit"]
    return {name: value for name, value in shown.items() if value is not None} | {
        "priority": given["priority"],
        "labels": "\n".join(given["labels"]),
    }
