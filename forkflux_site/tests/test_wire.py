"""The wire of the original, route by route: status, fields and their order, and where we answer otherwise on purpose.

One table to hold beside the contract. Ours may follow the original's fields, never precede or replace one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from core.models import Installation
from forkflux_site.tests.who_may_table import TABLE as EVERY_ROUTE
from jobs.services.blocking import block
from jobs.services.claiming import claim
from jobs.services.closing import complete, fail
from jobs.tests.board import new_agent, new_role, published
from testing.committed import database_of_one_test  # noqa: F401 - the fixture `db`
from testing.people import operator
from testing.wire import ITEM_KEYS, JOB_KEYS, NOBODY, Caller, another_token, bearer

pytestmark = pytest.mark.usefixtures("db")

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
WITHOUT_CTX = ["type", "loc", "msg", "input"]
WITH_CTX = [*WITHOUT_CTX, "ctx"]
UI_ARTIFACT = ["id", "artifact_type", "artifact_uri", "artifact_checksum", "metadata_json", "created_at"]
UI_EVENT = ["event_type", "current_status", "actor_agent_label", "payload_json", "created_at"]
FIVE_KEYS = ["loc", "msg", "type", "input", "ctx"]
ROLE = ["role_key", "role_label"]
UI_ROLE = ["id", "role_key", "role_label", "created_at"]
UI_ITEM = [
    *("id", "parent_job_id", "parent_job_summary", "summary", "status", "priority", "source_agent_label"),
    *("assignee_agent_label", "target_role_label", "retry_count", "max_retries", "created_at"),
]
UI_JOB = [
    *("id", "parent_job_id", "parent_job_summary", "summary", "context_payload", "status", "priority"),
    *("source_agent_label", "assignee_agent_label", "target_role_label", "constraints", "routing_rules"),
    *(
        "retry_count",
        "max_retries",
        "artifacts",
        "events",
        "failure_reason",
        "blocked_reason",
        "unblock_reason",
    ),
    *("upstream_dependencies", "downstream_dependencies", "published_at", "started_at", "completed_at"),
    *("failed_at", "blocked_at", "unblocked_at", "cancelled_at", "expires_at", "created_at", "updated_at"),
]
PUBLISH = {
    "parent_job_id": None, "summary": "s", "context_payload": {"a": 1}, "target_role_key": "{role}",
    "constraints": ["c1"], "priority": 20,
    "artifacts": [{"type": "file", "uri": "file:///x", "checksum": None, "metadata_json": {"k": 1}}],
}  # fmt: skip


@dataclass(frozen=True)
class Exchange:
    """A call by the holder of the role (people's routes: by an operator), and the answer to it.

    `keys` are those of the object, or of the first item at `within`. `told` are values that it must have.
    """

    call: str
    status: int
    keys: list[str] = field(default_factory=list)
    body: Any = None
    state: str = "published"
    within: str = ""
    told: dict[str, Any] = field(default_factory=dict)


MOVED = ["job_id", "previous_status", "new_status"]


def move(state: str, to: str, **given: Any) -> Exchange:
    """One row of the original's life table."""
    told = {"previous_status": state, "new_status": to}
    return Exchange("POST /mcp/jobs/{job}/status", 200, MOVED, {"status": to} | given, state, told=told)


def refused(state: str, to: str, **given: Any) -> Exchange:
    """A change that no verb makes: the original says 422, we say 409."""
    told = {"type": "handoff_job_status.invalid", "loc": ["body", "status"], "input": to}
    return Exchange(
        "POST /mcp/jobs/{job}/status", 409, FIVE_KEYS, {"status": to} | given, state, "detail", told
    )


WIRE = [
    Exchange("GET /health", 204),
    Exchange("GET /mcp/agents/me", 200, ["id", "agent_label", "tool_family"]),
    Exchange("GET /mcp/agents/me/roles", 200, ROLE, within="*"),
    Exchange("GET /mcp/agents/roles", 200, ROLE, within="*"),
    Exchange("POST /mcp/jobs", 201, ["job_id"], PUBLISH),
    Exchange("GET /mcp/jobs?limit=200&status=published&order=priority_desc", 200, ITEM_KEYS, within="*"),
    Exchange("GET /mcp/jobs?my_roles_only=false&target_role_key={role}", 200, ITEM_KEYS, within="*"),
    Exchange("POST /mcp/jobs/claim-next", 201, JOB_KEYS, {"target_role_key": "{role}"}, told={"status": "in_progress"}),
    Exchange("GET /mcp/jobs/{job}", 200, JOB_KEYS, told={"context_payload": {"branch": "login"}}),
    Exchange("POST /mcp/jobs/{job}/claim", 201, JOB_KEYS, told={"status": "in_progress"}),
    Exchange("PATCH /mcp/jobs/{job}", 200, ["job_id", "message"], {"context_payload": {"b": 2}}, "in_progress"),
    # The life of a job, as the original lets its holder change it …
    move("in_progress", "completed"),
    move("in_progress", "failed", failure_reason="r"),
    move("in_progress", "failed", failure_reason=None),
    move("in_progress", "blocked", blocked_reason="r"),
    move("in_progress", "blocked"),
    move("blocked", "unblocked", unblock_reason="r"),
    move("blocked", "failed"),
    move("blocked", "cancelled"),
    move("failed", "in_progress"),
    # … what it promises and refuses …
    move("in_progress", "cancelled"),
    move("blocked", "in_progress"),
    # … and what nobody can do.
    *(refused("completed", to) for to in ("completed", "failed", "in_progress", "cancelled", "published")),
    *(refused("in_progress", to) for to in ("in_progress", "pending")),
    Exchange("POST /mcp/jobs/{job}/status", 422, WITH_CTX, {"status": "done"}, within="detail",
             told={"type": "enum", "loc": ["body", "status"]}),
    Exchange("POST /mcp/jobs/{job}/status", 422, WITHOUT_CTX, {}, within="detail",
             told={"type": "missing", "loc": ["body", "status"], "msg": "Field required"}),
    Exchange("POST /mcp/jobs/{job}/claim", 409, FIVE_KEYS, None, "in_progress", "detail",
             {"type": "handoff_job_claim.invalid", "loc": ["path", "job_id"]}),
    Exchange("GET /mcp/jobs?limit=0", 422, WITH_CTX, within="detail",
             told={"type": "greater_than_equal", "loc": ["query", "limit"], "input": "0", "ctx": {"ge": 1}}),
    Exchange("GET /mcp/jobs/abc", 422, WITHOUT_CTX, within="detail",
             told={"type": "int_parsing", "loc": ["path", "job_id"], "input": "abc"}),
    Exchange("GET /mcp/jobs/999999", 404, ["detail"], told={"detail": "Handoff job not found."}),
    Exchange("POST /mcp/jobs/999999/claim", 404, ["detail"]),
    Exchange("POST /mcp/jobs", 422, FIVE_KEYS, PUBLISH | {"target_role_key": "none-such"}, within="detail",
             told={"type": "target_role.invalid", "loc": ["body", "target_role_key"], "input": "none-such", "ctx": {}}),
    Exchange("POST /mcp/jobs", 422, FIVE_KEYS, PUBLISH | {"parent_job_id": 999999}, within="detail",
             told={"type": "parent_job.invalid", "msg": "Parent job is invalid.", "input": 999999}),
    Exchange("PATCH /mcp/jobs/{job}", 422, WITH_CTX, {}, within="detail",
             told={"type": "value_error", "loc": ["body"], "input": {}, "ctx": {"error": {}}}),
    Exchange("POST /mcp/jobs/claim-next", 404, ["detail", "reason"], {"target_role_key": "{empty}"},
             told={"detail": "No published jobs available for the given target role.", "reason": "empty"}),
    Exchange("GET /mcp/nothing", 404, ["detail"], told={"detail": "Not Found"}),
    Exchange("PUT /mcp/jobs", 405, ["detail"], told={"detail": "Method Not Allowed"}),
    # People's routes.
    Exchange("GET /ui/agents", 200, ["id", "agent_label", "tool_family", "created_at", "roles"], within="*"),
    Exchange("POST /ui/agents", 201, ["agent_id", "agent_label", "tool_family", "target_role_ids", "api_token"],
             {"agent_label": "New", "target_role_ids": ["{role_id}"]}),
    Exchange("POST /ui/agents", 422, FIVE_KEYS, {"agent_label": "New", "target_role_ids": [999999]}, within="detail",
             told={"type": "target_role.not_found", "loc": ["body", "target_role_ids"], "input": [999999]}),
    Exchange("GET /ui/agents/roles", 200, UI_ROLE, within="*"),
    Exchange("POST /ui/agents/roles", 201, UI_ROLE, {"role_key": "k", "role_label": "K"}),
    Exchange("POST /ui/agents/roles", 409, FIVE_KEYS, {"role_key": "{role}", "role_label": "K"}, within="detail",
             told={"type": "target_role.conflict", "loc": ["body", "role_key"]}),
    Exchange("PATCH /ui/agents/roles/{role_id}", 200, UI_ROLE, {"role_key": "{role}", "role_label": "Other"}),
    Exchange("PATCH /ui/agents/roles/999999", 422, FIVE_KEYS, {"role_key": "k", "role_label": "K"}, within="detail",
             told={"type": "target_role.not_found", "loc": ["path", "role_id"]}),
    Exchange("DELETE /ui/agents/roles/{empty_id}", 204),
    Exchange("GET /ui/jobs?limit=200&offset=0&order=created_at_asc", 200, UI_ITEM, within="items"),
    Exchange("GET /ui/jobs", 200, ["items", "total", "limit", "offset"]),
    Exchange("GET /ui/jobs/counts", 200, ["counts"], told={"counts": {
        "pending": 0, "published": 1, "in_progress": 0, "blocked": 0, "unblocked": 0, "completed": 0, "failed": 0,
        "cancelled": 0,
    }}),
    Exchange("GET /ui/jobs/{job}", 200, UI_JOB, told={"target_role_label": "{role}"}),
    Exchange("GET /ui/jobs/{job}", 200, UI_ARTIFACT,
             within="artifacts"),
    Exchange("GET /ui/jobs/{job}", 200, UI_EVENT,
             within="events"),
    Exchange("GET /ui/jobs/999999", 404, ["detail"]),
    Exchange("POST /ui/jobs/{job}/unblock", 200, [*MOVED, "unblock_reason"], {"unblock_reason": " go "}, "blocked",
             told={"previous_status": "blocked", "new_status": "unblocked", "unblock_reason": "go"}),
    Exchange("POST /ui/jobs/{job}/unblock", 409, FIVE_KEYS, {"unblock_reason": "go"}, within="detail"),
    Exchange("GET /ui/profile", 200, ["is_onboarded"], told={"is_onboarded": False}),
    Exchange("POST /ui/profile", 201, ["is_onboarded"], {"is_onboarded": True}, told={"is_onboarded": True}),
]  # fmt: skip


class Wire:
    """A role with a job in the wanted state, an empty role, an agent that holds the first, and an operator."""

    def __init__(self, state: str) -> None:
        role, empty = new_role(), new_role()
        worker = new_agent(role, empty)
        artifact: dict[str, Any] = {"type": "file", "uri": "file:///x", "checksum": None, "metadata_json": {}}
        job = published(worker, role, artifacts=[artifact], constraints=["c"])
        if state != "published":
            claim(job_id=job.pk, actor=worker)
        if state == "blocked":
            block(job_id=job.pk, actor=worker, blocked_reason="?")
        if state == "failed":
            fail(job_id=job.pk, actor=worker, failure_reason="?")
        if state == "completed":
            complete(job_id=job.pk, actor=worker)
        self.names = {
            "role": role.role_key, "role_id": role.pk, "job": job.pk, "empty": empty.role_key, "empty_id": empty.pk,
        }  # fmt: skip
        self.agent = another_token(Agent.objects.get(name=worker.name))
        self.person = operator()

    def filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.filled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner) for inner in value]
        name = value.strip("{}") if isinstance(value, str) else ""
        return self.names[name] if value == f"{{{name}}}" else value

    def caller(self, path: str) -> Caller:
        return self.person if path.startswith("/api/v1/ui") else self.agent


@pytest.fixture(autouse=True)
def nobody_stays(db):
    yield
    User.objects.all().delete()
    Installation.objects.update(is_onboarded=False)


def moments(value: Any) -> list[str]:
    """Every time in an answer: the fields that end in `_at`."""
    if isinstance(value, list):
        return [found for item in value for found in moments(item)]
    if not isinstance(value, dict):
        return []
    mine = [inner for name, inner in value.items() if name.endswith("_at") and inner is not None]
    return mine + [found for inner in value.values() for found in moments(inner)]


@pytest.mark.parametrize(
    "exchange", WIRE, ids=[f"{number} {each.call} {each.status}" for number, each in enumerate(WIRE)]
)
def test_an_exchange_is_as_the_contract_has_it(exchange: Exchange):
    wire = Wire(exchange.state)
    method, path = exchange.call.split(" ", 1)
    path = "/api/v1" + path.format(**wire.names)
    for form in (path, path + "/" if "?" not in path and method == "GET" else path):
        answer = wire.caller(path).call(method, form, wire.filled(exchange.body))
        assert answer.status_code == exchange.status, answer.content
        if exchange.status == 204:
            assert answer.content == b""
            return
        assert answer["Content-Type"] == "application/json"
        document = answer.json()
        assert b'": ' not in answer.content
        found = document
        if exchange.within:
            found = (document if exchange.within == "*" else document[exchange.within])[0]
        assert list(found)[: len(exchange.keys)] == exchange.keys
        for name, value in wire.filled(exchange.told).items():
            assert found[name] == value, name
        assert all(MOMENT.fullmatch(moment) for moment in moments(document))
        if method != "GET":
            return


def test_every_route_of_the_original_that_is_here_is_in_the_table():
    played = {re.sub(r"\{\w+\}", "{}", each.call.partition("?")[0]) for each in WIRE if each.status < 400}
    ours = {
        re.sub(r"\{\w+\}", "{}", row.call.partition("?")[0]).replace("/api/v1", "") for row in EVERY_ROUTE
    }
    assert played <= ours
    assert len(played) == 23


@pytest.mark.parametrize(
    ("caller", "status", "detail", "challenge"),
    [
        (NOBODY, 401, "Not authenticated: send the header `Authorization: Bearer <agent token>`.", "Bearer"),
        (bearer("wrong"), 401, "Invalid or expired token", "Bearer"),
        (Caller({"Authorization": "Bearer"}), 401, None, "Bearer"),
        (Caller({"Authorization": "Token x"}), 401, None, "Bearer"),
        (Caller({"Authorization": "Basic eA=="}), 401, None, 'Basic realm="ForkFlux"'),
    ],
    ids=["nobody", "a wrong token", "no value", "another scheme", "a broken Basic"],
)
def test_a_credential_that_is_none_is_asked_for_again(caller, status, detail, challenge):
    answer = caller.get("/jobs")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (status, challenge)
    assert detail is None or answer.json() == {"detail": detail}


def test_the_scheme_is_read_in_any_case_and_blanks_after_it_are_passed_over():
    wire = Wire("published")
    for header in (f"bearer {wire.agent.token}", f"BEARER   {wire.agent.token}  "):
        assert Caller({"Authorization": header}).get("/agents/me").status_code == 200


def test_the_roles_answer_in_the_originals_words_to_a_wrong_key(settings):
    settings.SHARED_API_KEY = "the-shared-key"
    wrong = bearer("wrong").get("/agents/roles")
    assert wrong.json() == {
        "detail": "Invalid authentication credentials (either Bearer token or API key required)"
    }
    assert bearer("the-shared-key").get("/agents/roles").status_code == 200
    assert bearer("the-shared-key").get("/agents/me").status_code == 401
