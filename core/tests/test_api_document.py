"""The OpenAPI document: it is valid, it has every route, and real answers are as it says, without a key more."""

import copy
import functools
import re
from typing import Any

import pytest
from django.urls import get_resolver
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import BaseModel, RootModel

from core.examples import Exemplified
from core.inputs import Input
from testing.wire import NOBODY, Board, agent, job_body

pytestmark = pytest.mark.django_db

# Pages about the API are no part of it.
EXCLUDED = {"/api/v1/schema", "/api/v1/docs"}
SCHEMAS = "#/components/schemas/"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@functools.cache
def document() -> Any:
    """The document, with the rule that an object has no keys but those described."""
    GENERATOR_STATS.reset()
    made = SchemaGenerator().get_schema(request=None, public=True)
    warnings = [*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache]
    assert warnings == []
    return made


def strict() -> Any:
    found = copy.deepcopy(document())
    for schema in found["components"]["schemas"].values():
        if "properties" in schema and schema.get("additionalProperties") is None:
            schema["additionalProperties"] = False
    return found


def operations() -> dict[tuple[str, str], Any]:
    return {
        (method, path): operation
        for path, item in document()["paths"].items()
        for method, operation in item.items()
    }


def test_the_document_is_valid_openapi_without_warnings() -> None:
    validate_schema(document())
    assert document()["openapi"].startswith("3.1")


def test_every_route_of_the_urlconf_is_in_it() -> None:
    served = set()
    for group in get_resolver().url_patterns:
        for pattern in getattr(group, "url_patterns", []):
            path = re.sub(r"<str:(\w+)>", r"{\1}", f"/{group.pattern}{pattern.pattern}")
            if not path.startswith("/api/v1/"):
                continue
            actions = getattr(pattern.callback, "actions", None) or {"get": ""}
            served |= {(method, path) for method in actions if method != "head"}
    assert set(operations()) == {one for one in served if one[1] not in EXCLUDED}


def test_every_operation_has_a_sentence_its_refusals_and_a_name_of_its_own() -> None:
    names = [operation["operationId"] for operation in operations().values()]
    assert len(names) == len(set(names))
    for (method, path), operation in operations().items():
        assert operation["summary"], path
        if path in ("/api/v1/health", "/api/v1/ready"):
            continue
        expected = {"401", "403", "422", "503"}
        expected |= {"409", "413"} if method != "get" else set()
        # Of a role that is not there the reference says 422.
        names_one = re.search(r"\{(job|agent|token)_id\}", path)
        expected |= {"404"} if names_one or path.endswith("claim-next") else set()
        assert expected <= set(operation["responses"]), path
        assert operation["security"], path
        headers = {
            parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "header"
        }
        if method != "get":
            assert ("requestBody" in operation) is (method != "delete"), path
            # A session is a process of an agent.
            needed = {"Idempotency-Key"} | ({"X-ForkFlux-Session"} if "/mcp/" in path else set())
            assert needed <= headers, path


def test_one_credential_of_several_is_enough() -> None:
    schemes = document()["components"]["securitySchemes"]
    assert {scheme.get("scheme", scheme.get("in")) for scheme in schemes.values()} == {
        *("bearer", "basic", "cookie")
    }
    for operation in operations().values():
        for alternative in operation.get("security", []):
            assert len(alternative) <= 1


def _content(part: Any) -> Any:
    return part["content"]["application/json"]["schema"]


def _described(schema: Any) -> Any:
    return (
        document()["components"]["schemas"][schema["$ref"].removeprefix(SCHEMAS)]
        if "$ref" in schema
        else schema
    )


def test_every_body_and_every_answer_has_an_example() -> None:
    for (method, path), operation in operations().items():
        parts = [operation["requestBody"]] if "requestBody" in operation else []
        parts += [answer for answer in operation["responses"].values() if "content" in answer]
        for part in parts:
            assert _described(_content(part)).get("examples"), (method, path, _content(part))


def _models(of: type[Any]) -> set[type[Any]]:
    found: set[type[Any]] = set()
    for subclass in of.__subclasses__():
        found |= {subclass} | _models(subclass)
    return found


def test_the_examples_are_what_their_models_accept_and_nothing_more() -> None:
    seen = 0
    for model in _models(Exemplified):
        example = vars(model).get("example")
        if example is None or not issubclass(model, BaseModel):
            continue
        read = model.model_validate(example)
        if not issubclass(model, RootModel):
            assert set(example) <= set(model.model_fields) | set(read.model_extra or {})
        if issubclass(model, Input):
            assert model.read(example) == read
        seen += 1
    assert seen > 15


def test_parameters_of_a_query_say_their_bounds() -> None:
    described: list[dict[str, Any]] = operations()["get", "/api/v1/mcp/jobs"]["parameters"]
    parameters = {one["name"]: one for one in described}
    limit = parameters["limit"]["schema"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 200, 50)
    assert "published" in str(parameters["status"]["schema"])
    assert set(parameters) >= {
        "cursor",
        "offset",
        "count",
        "label",
        "order",
        "my_roles_only",
        "target_role_key",
    }


@pytest.fixture
def board() -> Board:
    return Board()


def _check(path: str, method: str, answer: Any) -> None:
    """The answer is what the document says of this status; every time in it has six digits and Z."""
    operation = operations()[method, path]
    described = operation["responses"][str(answer.status_code)]
    schema = _content(described) | {"components": strict()["components"]}
    Draft202012Validator(schema).validate(answer.json())
    _check_moments(answer.json())


def _check_moments(value: Any) -> None:
    if isinstance(value, dict):
        for key, inside in value.items():
            if key.endswith("_at") and inside is not None:
                assert MOMENT.fullmatch(inside), (key, inside)
            _check_moments(inside)
    elif isinstance(value, list):
        for inside in value:
            _check_moments(inside)


JOB = "/api/v1/mcp/jobs/{job_id}"


def test_real_answers_fit_the_document(board: Board) -> None:
    artifact = {"type": "file", "uri": "u", "checksum": "c", "metadata_json": {"k": [1]}}
    _check("/api/v1/mcp/jobs", "post", board.dev.post("/jobs", job_body(unknown=1)))
    job_id = board.job(artifacts=[artifact], labels=["a"], not_before="2026-01-01T00:00:00Z")
    _check(JOB, "patch", board.dev.patch(f"/jobs/{job_id}", {"constraints": ["c"], "x": 1}))
    _check(f"{JOB}/hold", "post", board.dev.post(f"/jobs/{job_id}/hold"))
    _check(f"{JOB}/unhold", "post", board.dev.post(f"/jobs/{job_id}/unhold", {"lease_generation": 1}))
    _check(JOB, "get", board.dev.get(f"/jobs/{job_id}"))
    session = {"X_ForkFlux_Session": "s"}
    _check(f"{JOB}/claim", "post", board.qa.post(f"/jobs/{job_id}/claim", {"x": 1}, **session))
    _check(
        f"{JOB}/heartbeat",
        "post",
        board.qa.post(f"/jobs/{job_id}/heartbeat", {"progress_percent": 1, "x": 1}),
    )
    _check(
        "/api/v1/mcp/agents/me/heartbeat", "post", board.qa.post("/agents/me/heartbeat", {"x": 1}, **session)
    )
    _check(JOB, "get", board.qa.get(f"/jobs/{job_id}"))
    _check(f"{JOB}/release", "post", board.qa.post(f"/jobs/{job_id}/release", {"reason": "r"}))
    _check(f"{JOB}/claim", "post", agent("Rival", "qa").post(f"/jobs/{job_id}/claim"))
    board.qa.post("/jobs/claim-next", {"target_role_key": "qa"})
    _check(
        "/api/v1/mcp/jobs/claim-next", "post", board.qa.post("/jobs/claim-next", {"target_role_key": "qa"})
    )
    board.job()
    claimed = board.qa.post("/jobs/claim-next", {"target_role_key": "qa"})
    _check("/api/v1/mcp/jobs/claim-next", "post", claimed)
    failed = claimed.json()["id"]
    moved = board.qa.post(f"/jobs/{failed}/status", {"status": "failed", "failure_reason": "f", "result": 1})
    _check(f"{JOB}/status", "post", moved)
    _check(f"{JOB}/requeue", "post", board.dev.post(f"/jobs/{failed}/requeue"))
    for path in ("/jobs?my_roles_only=false", "/agents", "/agents/me", "/agents/me/roles", "/agents/roles"):
        _check(f"/api/v1/mcp{path.partition('?')[0]}", "get", board.qa.get(path))
    _check(f"{JOB}/events", "get", board.qa.get(f"/jobs/{failed}/events"))
    _check(f"{JOB}/artifacts", "get", board.qa.get(f"/jobs/{job_id}/artifacts"))
    _check("/api/v1/ready", "get", NOBODY.get("/api/v1/ready"))


def test_real_refusals_fit_the_document(board: Board) -> None:
    job_id = board.moved(board.claimed(), "completed")
    claim = f"{JOB}/claim"
    for answer, status in (
        (NOBODY.post(f"/jobs/{job_id}/claim"), 401),
        (board.guest.post(f"/jobs/{job_id}/claim"), 403),
        (board.qa.post("/jobs/999999/claim"), 404),
        (board.qa.post(f"/jobs/{job_id}/claim"), 409),
        (board.qa.post(f"/jobs/{job_id}/claim", {"lease_seconds": 1}), 422),
        (board.qa.post(f"/jobs/{job_id}/claim", b"{"), 422),
    ):
        assert answer.status_code == status
        _check(claim, "post", answer)


def test_the_document_is_json_unless_yaml_is_asked_for(board: Board) -> None:
    for accept in (None, "application/json", "text/html"):
        answer = board.guest.get("/api/v1/schema", Accept=accept)
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.json()["info"]["title"] == "ForkFlux API"
    assert board.guest.get("/api/v1/schema", Accept="application/yaml").content.startswith(b"openapi: ")
