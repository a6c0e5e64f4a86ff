"""Forms of the admin: what is typed is checked by the same inputs as a request's body."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from core.errors import DomainError, InvalidInput
from core.inputs import parse_json
from core.limits import LIMITS

_VALUE_ERROR = "Value error, "


class RefusableForm(forms.Form):
    """A form whose refusals come from a service."""

    # Field names of the inputs that are called otherwise here.
    wire_names: dict[str, str] = {}

    @staticmethod
    def tell(form: forms.Form, error: DomainError) -> None:
        """Show a refusal beside the field that it is about, or above the form."""
        if not isinstance(error, InvalidInput):
            form.add_error(None, error.message)
            return
        names = getattr(form, "wire_names", {})
        for entry in error.entries:
            place = [part for part in entry["loc"] if part not in {"body", "query"}]
            name = names.get(str(place[0]), str(place[0])) if place else None
            inner = ".".join(str(part + 1) if isinstance(part, int) else str(part) for part in place[1:])
            message = str(entry["msg"]).removeprefix(_VALUE_ERROR)
            told = f"No. {inner}: {message}" if inner and name in form.fields else message
            form.add_error(name if name in form.fields else None, told)


class ReasonForm(RefusableForm):
    """Why: for whoever reads the trail."""

    wire_names = {"unblock_reason": "reason"}

    reason = forms.CharField(
        max_length=LIMITS.reason_max,
        widget=forms.Textarea(attrs={"rows": 3, "autofocus": True}),
        help_text="For whoever reads the trail, and for the agents that it concerns.",
    )


class OptionalReasonForm(RefusableForm):
    reason = forms.CharField(
        max_length=LIMITS.reason_max, required=False, widget=forms.Textarea(attrs={"rows": 3})
    )


class ConfirmForm(RefusableForm):
    """Nothing to fill in: the button is the answer."""


class LinesField(forms.CharField):
    """A list of texts, one a line."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        return [line.strip() for line in text.splitlines() if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list | tuple) else value


class JSONTextField(forms.CharField):
    """JSON as it is typed: checked for what cannot be kept, and shown again as it was when it is wrong."""

    widget = forms.Textarea

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text.strip():
            return None
        try:
            return parse_json(text.encode())
        except InvalidInput as error:
            entry = error.entries[0]
            where = entry["loc"][1:]
            place = f" at character {where[0]}" if entry["type"] == "json_invalid" and where else ""
            why = entry.get("ctx", {}).get("error") or entry["msg"]
            raise forms.ValidationError(f"This is no JSON that can be kept: {why}{place}.") from error
        except UnicodeEncodeError as error:
            raise forms.ValidationError("This holds a character that is no text.") from error

    def prepare_value(self, value: Any) -> Any:
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
