"""Every table of the pages against its source: states, events, refusals, variables, routes, fields, commands."""

import argparse
import importlib
import json
import os
import re
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.management import BaseCommand, get_commands, load_command_class
from django.urls import get_resolver
from pydantic import BaseModel

from agents import inputs as agent_inputs
from core.errors import DomainError, InvalidInput
from forkflux_site.tests.doc_pages import code, pages
from forkflux_site.tests.environment_reads import named_in_the_code
from jobs import inputs as job_inputs
from jobs.api import answers as job_answers
from jobs.lifecycle import ARROWS, Status
from testing.installation import ROOT
from testing.source_tree import module_name, product_files

# Set by `serve` for the processes that it starts, and not for anybody else to set.
INTERNAL = {"FORKFLUX_SERVER_PROCESS", "FORKFLUX_SERVE_URL", "FORKFLUX_SERVE_ANNOUNCE_FD"}
# Read, but not ours: described in the text.
FOREIGN = {"APPDATA", "XDG_DATA_HOME", "PYTHONPATH"}


def table(page: str, name: str) -> list[list[str]]:
    return pages()[page].table(name)


def test_the_life_table_is_the_codes():
    told = [
        (verb, frozenset(re.findall(r"`(\w+)`", sources)), target.strip("`"), who)
        for verb, sources, target, who in table("docs/core-concepts.md", "life")
    ]
    real = [
        (
            str(arrow.verb),
            frozenset(map(str, arrow.sources)),
            str(arrow.target or "stays"),
            ", ".join(arrow.who),
        )
        for arrow in ARROWS
    ]
    assert told == real


def test_every_state_is_explained():
    told = [code(row[0]) for row in table("docs/core-concepts.md", "states")]
    assert told == [str(status) for status in Status]
    told = [code(row[0]) for row in table("docs/api-reference.md", "status")]
    assert sorted(told) == sorted(str(status) for status in Status)


def test_every_kind_of_a_jobs_events_is_explained():
    told = {
        kind for row in table("docs/core-concepts.md", "events") for kind in re.findall(r"`(\w+)`", row[0])
    }
    recorded = re.compile(r'"(task_[a-z_]+)"')
    real = {
        kind
        for path in product_files()
        if path.parts[:2] == ("jobs", "services") or path.parts == ("jobs", "transitions.py")
        for kind in recorded.findall((ROOT / path).read_text(encoding="utf-8"))
    }
    assert told == real


def test_every_refusal_is_in_the_table_of_codes():
    for path in product_files():
        if path.name == "errors.py":
            importlib.import_module(module_name(path))
    told = [(status, code(name), sentence) for status, name, sentence in table("docs/errors.md", "errors")]
    real = {
        (str(error.http_status), error.code, (error.__doc__ or "").strip().split("\n", 1)[0])
        for error in refusals(DomainError)
    }
    assert told == sorted(real)


def refusals(of: type[DomainError]) -> set[type[DomainError]]:
    """The classes below, also those that come twice; invalid input has types of its own."""
    found = {error for error in of.__subclasses__() if not issubclass(error, InvalidInput)}
    return found.union(*(refusals(error) for error in found))


def test_every_variable_is_in_the_tables_with_its_default_and_its_bounds():
    told = {}
    for part in ("database", "server", "time", "bounds"):
        for variable, default, allowed, meaning in table("docs/configuration.md", f"environment {part}"):
            assert meaning
            told[code(variable)] = (default, allowed)
    result = subprocess.run(
        [sys.executable, "-m", "forkflux_site.tests.environment_reads"],
        cwd=ROOT,
        env={"PATH": os.defpath, "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        check=True,
    )
    read = json.loads(result.stdout)
    assert not INTERNAL & told.keys()
    in_files = {name for name in read if name.endswith("_FILE")}
    assert all(f"`{name}`" in text_of("docs/configuration.md") for name in in_files)
    assert told.keys() == read.keys() - INTERNAL - in_files
    for name, (default, allowed) in told.items():
        real = read[name]
        assert (default, allowed) == (real["default"], real["allowed"] or allowed), name
    for place, name in named_in_the_code():
        assert name in read.keys() | INTERNAL | FOREIGN, f"{place} reads {name}, which no table has"
    assert all(name in text_of("docs/configuration.md") for name in FOREIGN - {"PYTHONPATH"})


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_every_route_has_its_heading():
    told = [
        heading
        for heading in pages()["docs/api-reference.md"].headings()
        if re.match(r"(GET|POST|PATCH|PUT|DELETE) /", heading)
    ]
    assert len(told) == len(set(told))
    assert set(told) == set(of_agents())


def of_agents():
    """The routes of this page; those of people have a page of their own (test_docs_people)."""
    return [route for route in routes() if " /api/v1/ui/" not in route]


def routes(resolver=None, prefix="/"):
    """`METHOD /path` of every route; `{name}` for what a path takes."""
    found = []
    for pattern in (resolver or get_resolver()).url_patterns:
        path = prefix + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        if path.startswith("/admin/"):
            # Pages, which docs/operating.md is about.
            continue
        if hasattr(pattern, "url_patterns"):
            found += routes(pattern, path)
            continue
        view = pattern.callback
        actions = getattr(view, "actions", None)
        methods = actions or [
            name for name in view.view_class.http_method_names if hasattr(view.view_class, name)
        ]
        found += [f"{method.upper()} {path}" for method in methods if method not in ("head", "options")]
    return found


INPUTS: list[type[BaseModel]] = [
    job_inputs.PublishInput,
    job_inputs.ArtifactInput,
    job_inputs.ListInput,
    job_inputs.UpdateInput,
    job_inputs.ReasonInput,
    job_inputs.ClaimInput,
    job_inputs.ClaimNextInput,
    job_inputs.HeartbeatInput,
    job_inputs.StatusInput,
    job_inputs.TrailInput,
    agent_inputs.AgentHeartbeatInput,
]


@pytest.mark.parametrize("model", INPUTS, ids=lambda model: model.__name__)
def test_every_field_that_a_route_takes_is_explained_with_its_bounds(model):
    schema = model.model_json_schema()
    rows = {code(row[0]): row for row in table("docs/api-reference.md", f"input {model.__name__}")}
    assert rows.keys() == schema["properties"].keys()
    for name, (_, need, bounds, meaning) in rows.items():
        assert (need == "needed") == (name in schema.get("required", [])), name
        assert meaning, name
        default = schema["properties"][name].get("default")
        assert not isinstance(default, int) or need == json.dumps(default), name
        numbers = set(re.findall(r"\d{1,3}(?:,\d{3})*", f"{bounds} {meaning}"))
        assert {f"{number:,}" for number in limits(schema["properties"][name], schema)} <= numbers, (
            name,
            bounds,
        )


def limits(described, schema):
    """Every bound in a field's JSON schema that is one to tell: not the 64 bits of an id, not a minimum of 0 or 1."""
    if isinstance(described, list):
        return {bound for item in described for bound in limits(item, schema)}
    if not isinstance(described, dict):
        return set()
    found = {
        described[word]
        for word in ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
        if word in described
    }
    found |= {bound for item in described.values() for bound in limits(item, schema)}
    return {bound for bound in found if 1 < abs(bound) < 2**63 - 1}


def test_every_route_that_takes_fields_has_them_explained():
    taken = set()
    for pattern in get_resolver().url_patterns:
        for route in getattr(pattern, "url_patterns", []):
            if "/ui/" not in str(pattern.pattern):
                taken |= set(getattr(getattr(route.callback, "cls", None), "inputs", {}).values())
    assert taken <= set(INPUTS)


@pytest.mark.parametrize(
    "model",
    [
        job_answers.JobItem,
        job_answers.JobAnswer,
        job_answers.LeaseAnswer,
        job_answers.AttemptAnswer,
        job_answers.EventAnswer,
    ],
    ids=lambda model: model.__name__,
)
def test_every_field_of_an_answer_is_explained(model):
    rows = table("docs/api-reference.md", f"answer {model.__name__}")
    told = [name for row in rows for name in re.findall(r"`(\w+)`", row[0])]
    assert len(told) == len(set(told))
    assert set(told) == set(model.model_fields)
    assert all(row[1] for row in rows)


def test_every_route_of_the_reference_is_played():
    page = pages()["docs/api-reference.md"]
    played = {
        re.sub(r"/jobs/\d+", "/jobs/{job_id}", " ".join(block.text.splitlines()[0].split()).partition("?")[0])
        for block in page.blocks
        if block.language == "http"
    }
    # The document and its pages are long: test_api_pages and the demo open them.
    assert set(of_agents()) - played == {"GET /api/v1/schema", "GET /api/v1/docs"}


def test_every_command_is_explained_with_its_options():
    told = {}
    for command, options, meaning in table("docs/command-line.md", "commands"):
        assert meaning
        words = [word for word in code(command).split() if word.islower()]
        told[tuple(words)] = set(re.findall(r"`(--[a-z-]+)`", options))
    assert told == dict(commands())


def commands():
    """Words and options of every command of the product; `--json` and what Django gives each command left out."""
    ours = {name for name, app in get_commands().items() if app in settings.FORKFLUX_APPS}
    for name in ours:
        parser = load_command_class(get_commands()[name], name).create_parser("forkflux", name)
        actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if not actions:
            yield (name,), options_of(parser) - options_of(BaseCommand().create_parser("forkflux", name))
        for action in actions:
            for word, subparser in action.choices.items():
                yield (name, word), options_of(subparser)


def options_of(parser):
    return {
        option
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--") and option not in {"--json", "--help"}
    }
