"""How answers leave: compact JSON for programs, pages with the right fields for people."""

from __future__ import annotations

import json
from typing import Any

from rest_framework.renderers import BrowsableAPIRenderer as DRFBrowsableAPIRenderer
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request


class CompactJSONRenderer(JSONRenderer):
    """UTF-8 JSON without blanks, not ASCII-escaped, as the reference sends it."""

    compact = True
    ensure_ascii = False


class BrowsableAPIRenderer(DRFBrowsableAPIRenderer):
    """DRF's pages, with a form that already holds an example of the fields that a route takes."""

    def get_raw_data_form(self, data: Any, view: Any, method: str, request: Request) -> Any:
        form = super().get_raw_data_form(data, view, method, request)
        if form is not None:
            action = getattr(view, "action_map", {}).get(method.lower())
            fields = getattr(view, "inputs", {}).get(action)
            if fields is not None:
                form.initial["_content"] = json.dumps(fields.example, indent=2, ensure_ascii=False)
        return form

    def get_filter_form(self, data: Any, view: Any, request: Request) -> None:
        """None: filters are query parameters, described at /api/v1/docs/."""
