"""The page of people's routes against the code: each route with its permission, each field with its bounds."""

import json
import re

import pytest
from django.urls import get_resolver
from pydantic import BaseModel

from agents import inputs as agent_inputs
from core.inputs import Input
from events.api.people import VerifyInput
from forkflux_site.tests.doc_pages import code, pages
from forkflux_site.tests.test_docs_tables import limits
from jobs import inputs as job_inputs
from roles import inputs as role_inputs

PAGE = "docs/api-reference-people.md"
# Of queries, which no view lists, and of the bodies that the agents' page explains.
QUERIES: list[type[Input]] = [
    job_inputs.PersonListInput,
    job_inputs.StuckInput,
    job_inputs.StatsInput,
    job_inputs.NewestInput,
    agent_inputs.RemoveAgentInput,
    role_inputs.RemoveRoleInput,
    VerifyInput,
]
ELSEWHERE = {job_inputs.PublishInput}


def views():
    """Path below /ui, method, action and class of every route for people that has its place in this page."""
    for group in get_resolver().url_patterns:
        if str(group.pattern) != "api/v1/ui/":
            continue
        for pattern in group.url_patterns:
            path = "/" + re.sub(r"<str:(\w+)>", r"{\1}", str(pattern.pattern))
            for method, action in pattern.callback.actions.items():
                if method != "head":
                    yield path, method.upper(), action, pattern.callback.cls


def bodies() -> set[type[Input]]:
    return {view.inputs[action] for _, _, action, view in views() if action in view.inputs} - ELSEWHERE


def test_every_route_is_told_with_its_permission():
    rows = pages()[PAGE].table("people routes")
    told = {code(route): code(permission) for route, permission, _ in rows}
    assert len(told) == len(rows)
    assert all(meaning for _, _, meaning in rows)
    assert told == {f"{method} {path}": view.permissions[action] for path, method, action, view in views()}


def test_every_body_is_explained():
    shown = set(re.findall(r"<!-- table: input (\w+) -->", pages()[PAGE].path.read_text(encoding="utf-8")))
    assert shown == {model.__name__ for model in bodies() | set(QUERIES)}


@pytest.mark.parametrize("model", [*sorted(bodies(), key=lambda one: one.__name__), *QUERIES])
def test_every_field_is_explained_with_its_bounds(model: type[BaseModel]):
    schema = model.model_json_schema()
    rows = {code(row[0]): row for row in pages()[PAGE].table(f"input {model.__name__}")}
    assert rows.keys() == schema["properties"].keys()
    for name, (_, need, bounds, meaning) in rows.items():
        assert (need == "needed") == (name in schema.get("required", [])), name
        assert meaning, name
        default = schema["properties"][name].get("default")
        # What an edit leaves out stays: its defaults are never read.
        stays = "EditInput" in model.__name__ and need == "as it is"
        assert stays or not isinstance(default, int) or need == json.dumps(default), name
        numbers = set(re.findall(r"\d{1,3}(?:,\d{3})*", f"{bounds} {meaning}"))
        told = {f"{number:,}" for number in limits(schema["properties"][name], schema)}
        assert told <= numbers, (name, bounds)
