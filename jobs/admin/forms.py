"""What a job is published and edited with."""

from __future__ import annotations

from typing import Any

from django import forms

from agents.models import Agent
from core.admin.forms import JSONTextField, LinesField, ReasonForm, RefusableForm
from jobs.lifecycle import Priority
from jobs.models import Job
from roles.models import Role

_PRIORITIES = [(int(priority), priority.name.title()) for priority in Priority]
_TIME_HELP = "In UTC. Empty: none."
_ARTIFACT_PARTS = 2


class MomentField(forms.DateTimeField):
    """A time in UTC, as the browser's own control gives it."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}, format="%Y-%m-%dT%H:%M:%S")


class JobForm(RefusableForm):
    """What both forms ask for. Bounds are those of `jobs.inputs`, which is asked by `given`."""

    wire_names = {"context_payload": "context", "target_role_key": "role"}

    summary = forms.CharField(widget=forms.TextInput(attrs={"class": "vLargeTextField", "autofocus": True}))
    role = forms.ChoiceField()
    priority = forms.TypedChoiceField(choices=_PRIORITIES, coerce=int, initial=int(Priority.NORMAL))
    constraints = LinesField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="When it counts as done. One a line.",
    )
    context = JSONTextField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 8, "class": "vLargeTextField ff-code", "spellcheck": "false"}),
        help_text="What one must know to do it: a JSON object.",
    )
    labels = LinesField(
        required=False, widget=forms.Textarea(attrs={"rows": 2}), help_text="Words to find it by. One a line."
    )
    not_before = MomentField(required=False, label="Not before", help_text=_TIME_HELP)
    expires_at = MomentField(required=False, label="Expires if unclaimed", help_text=_TIME_HELP)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        keys = (
            Role.objects.filter(is_deleted=False).order_by("role_key").values_list("role_key", "role_label")
        )
        role: Any = self.fields["role"]
        role.choices = [(key, key if key == label else f"{key} ({label})") for key, label in keys]

    def given(self) -> dict[str, Any]:
        """The fields as the inputs name them."""
        data = self.cleaned_data
        return {
            "summary": data["summary"],
            "target_role_key": data["role"],
            "priority": data["priority"],
            "constraints": data["constraints"],
            "context_payload": {} if data["context"] is None else data["context"],
            "labels": data["labels"],
            "not_before": data["not_before"],
            "expires_at": data["expires_at"],
        }


class PublishForm(JobForm):
    on_hold = forms.BooleanField(
        required=False, label="Hold back", help_text="Do not hand it out until somebody releases it."
    )
    max_retries = forms.IntegerField(
        initial=3,
        min_value=0,
        max_value=20,
        label="Retries",
        help_text="How often its holder may restart it.",
    )
    artifacts = LinesField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What it is about, as TYPE=URI such as git_branch=git://shop/login. One a line.",
    )

    def clean_artifacts(self) -> list[dict[str, Any]]:
        found = []
        for number, line in enumerate(self.cleaned_data["artifacts"], start=1):
            parts = line.split("=", 1)
            if len(parts) != _ARTIFACT_PARTS:
                raise forms.ValidationError(f"Line {number} has no =; write TYPE=URI.")
            found.append({"type": parts[0], "uri": parts[1], "checksum": None, "metadata_json": {}})
        return found

    def given(self) -> dict[str, Any]:
        data = self.cleaned_data
        return super().given() | {
            "parent_job_id": None,
            "on_hold": data["on_hold"],
            "max_retries": data["max_retries"],
            "artifacts": data["artifacts"],
        }


class EditForm(JobForm):
    """`version` makes sure that nobody else's edit is overwritten unseen."""

    version = forms.IntegerField(widget=forms.HiddenInput)

    @staticmethod
    def of(job: Job) -> dict[str, Any]:
        """What the form starts with."""
        return {
            "summary": job.summary,
            "role": job.target_role.role_key,
            "priority": job.priority,
            "constraints": job.constraints,
            "context": job.context_payload,
            "labels": job.labels,
            "not_before": job.not_before,
            "expires_at": job.expires_at,
            "version": job.version,
        }


class ReassignForm(ReasonForm):
    """To whom. A role may have more agents than a list is good for: then the name is typed."""

    agent_name = forms.CharField(
        label="Agent",
        widget=forms.TextInput(attrs={"list": "ff-agents"}),
        help_text="The name of an active agent of the role.",
    )
    field_order = ("agent_name", "reason")

    @staticmethod
    def candidates(role_ids: set[int]) -> list[str]:
        """The active agents that hold all of these roles, for the list that the browser offers."""
        agents = Agent.objects.filter(is_active=True)
        for role_id in role_ids:
            agents = agents.filter(roles=role_id)
        return list(agents.order_by("name").values_list("name", flat=True)[:500])
