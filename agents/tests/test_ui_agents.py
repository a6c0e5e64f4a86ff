"""People's agent routes: made, listed, changed, kept out and let in again."""

import re

import pytest

from agents.models import Agent, AgentToken
from core.models import IdempotencyRecord
from events.models import Event
from jobs.models import Job
from roles.models import Role
from testing.people import UI, actor_of, operator, viewer
from testing.wire import Board, Caller, agent, bearer, role

pytestmark = pytest.mark.django_db

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
TOKEN = re.compile(r"[\w-]{43}")


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def anna(board: Board) -> Caller:
    return operator()


def last_event(agent_id: int) -> Event:
    return Event.objects.filter(stream=f"agent:{agent_id}").latest("sequence")


def test_the_list_has_the_references_fields_first_and_only_active_roles(board: Board, anna: Caller) -> None:
    job_id = board.claimed()
    role("retired", is_deleted=False)
    agent("Both", "qa", "retired")
    Role.objects.filter(role_key="retired").update(is_deleted=True)
    answer = anna.get(f"{UI}/agents")
    assert answer.status_code == 200
    dev, qa, _, both = answer.json()
    assert list(qa) == [
        *("id", "agent_label", "tool_family", "created_at", "roles"),
        *("name", "is_active", "presence", "status_line", "holds", "last_seen_at"),
    ]
    assert (dev["id"], dev["agent_label"], dev["tool_family"]) == (board.dev.agent_id, "Dev agent", "claude")
    assert qa["roles"] == [{"role_key": "qa", "role_label": "QA"}]
    assert (qa["name"], qa["is_active"], qa["presence"], qa["holds"]) == (
        "qa-agent",
        True,
        "online",
        [job_id],
    )
    assert MOMENT.fullmatch(qa["created_at"])
    assert [one["role_key"] for one in both["roles"]] == ["qa"]


def test_listing_takes_as_many_statements_for_many_as_for_few(
    board: Board, anna: Caller, django_assert_max_num_queries
) -> None:
    for number in range(10):
        agent(f"Another {number}", "qa")
    with django_assert_max_num_queries(10):
        assert len(anna.get(f"{UI}/agents").json()) == 13


def test_a_new_agent_is_answered_as_the_reference_does_and_its_token_opens_the_door(
    board: Board, anna: Caller
) -> None:
    qa, dev = Role.objects.get(role_key="qa").pk, Role.objects.get(role_key="developer").pk
    body = {"agent_label": "Reviewer", "tool_family": "codex", "target_role_ids": [qa, dev, qa], "x": 1}
    answer = anna.post(f"{UI}/agents", body)
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    made = answer.json()
    assert list(made) == [
        *("agent_id", "agent_label", "tool_family", "target_role_ids", "api_token", "name", "ignored_fields"),
    ]
    assert (made["agent_label"], made["tool_family"], made["target_role_ids"]) == (
        "Reviewer",
        "codex",
        [qa, dev],
    )
    assert TOKEN.fullmatch(made["api_token"])
    me = bearer(made["api_token"]).get("/agents/me").json()
    assert (me["id"], me["name"]) == (made["agent_id"], made["name"])
    event = Event.objects.get(stream=f"agent:{made['agent_id']}", event_type="agent_created")
    assert (event.actor_kind, event.actor_user_id) == ("person", actor_of(anna).user_id)
    assert event.payload["roles"] == ["qa", "developer"]


def test_a_repeated_making_names_the_same_agent_and_its_token_is_stored_nowhere(
    board: Board, anna: Caller
) -> None:
    body = {"agent_label": "Reviewer", "target_role_ids": [Role.objects.get(role_key="qa").pk]}
    first = anna.post(f"{UI}/agents", body, Idempotency_Key="k").json()
    again = anna.post(f"{UI}/agents", body, Idempotency_Key="k")
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.json() == first | {"api_token": None}
    assert Agent.objects.filter(agent_label="Reviewer").count() == 1
    assert first["api_token"] not in str([*IdempotencyRecord.objects.values(), *Event.objects.values()])


@pytest.mark.parametrize(
    ("body", "type_", "field"),
    [
        ({}, "missing", "agent_label"),
        ({"agent_label": "", "target_role_ids": [1]}, "string_too_short", "agent_label"),
        ({"agent_label": "x" * 256, "target_role_ids": [1]}, "string_too_long", "agent_label"),
        (
            {"agent_label": "a", "tool_family": "x" * 256, "target_role_ids": [1]},
            "string_too_long",
            "tool_family",
        ),
        ({"agent_label": "a", "target_role_ids": []}, "too_short", "target_role_ids"),
        ({"agent_label": "a", "target_role_ids": None}, "list_type", "target_role_ids"),
        ({"agent_label": "a", "target_role_ids": ["x"]}, "int_parsing", "target_role_ids"),
        ({"agent_label": "a", "target_role_ids": [999]}, "target_role.not_found", "target_role_ids"),
        ([], "model_attributes_type", None),
    ],
)
def test_a_wrong_agent_is_refused_at_its_field(
    board: Board, anna: Caller, body, type_: str, field: str | None
) -> None:
    refused = anna.post(f"{UI}/agents", body)
    assert refused.status_code == 422
    entry = refused.json()["detail"][0]
    assert entry["type"] == type_
    assert entry["loc"][:2] == (["body", field] if field else ["body"])
    assert Agent.objects.count() == 3


def test_an_unknown_role_lists_those_that_exist(board: Board, anna: Caller) -> None:
    [entry] = anna.post(f"{UI}/agents", {"agent_label": "a", "target_role_ids": [999]}).json()["detail"]
    qa = Role.objects.get(role_key="qa").pk
    assert entry["msg"].startswith("One or more target roles were not found: Target role not found.")
    assert f"{qa} (qa)" in entry["msg"]
    assert (entry["loc"], entry["input"]) == (["body", "target_role_ids"], [999])
    assert list(entry) == ["loc", "msg", "type", "input", "ctx"]


def test_an_edit_changes_what_it_names_and_answers_the_agent(board: Board, anna: Caller) -> None:
    answer = anna.patch(f"{UI}/agents/{board.qa.agent_id}", {"agent_label": "Q", "roles": ["developer"]})
    assert answer.status_code == 200
    found = answer.json()
    assert (found["agent_label"], found["name"]) == ("Q", "qa-agent")
    assert [one["role_key"] for one in found["roles"]] == ["developer"]
    assert [one["role_key"] for one in board.qa.get("/agents/me/roles").json()] == ["developer"]
    assert last_event(board.qa.agent_id).payload["changes"]["roles"] == {"old": ["qa"], "new": ["developer"]}
    refused = anna.patch(f"{UI}/agents/{board.qa.agent_id}", {"roles": ["developer", "nobody"]})
    [entry] = refused.json()["detail"]
    assert (refused.status_code, entry["type"], entry["loc"]) == (
        *(422, "target_role.invalid", ["body", "roles", 1]),
    )
    assert "developer, qa" in entry["msg"]


def test_an_agent_that_is_kept_out_gives_back_what_it_holds_and_is_refused_at_once(
    board: Board, anna: Caller
) -> None:
    held, other = board.claimed(), board.job()
    path = f"{UI}/agents/{board.qa.agent_id}/deactivate"
    answer = anna.post(path, {"reason": "The machine is gone"}, Idempotency_Key="k")
    assert answer.status_code == 200
    expected = {"agent_id": board.qa.agent_id, "is_active": False, "returned_job_ids": [held]}
    assert answer.json() == expected
    assert board.qa.get("/agents/me").status_code == 401
    assert {job.pk: job.status for job in Job.objects.all()} == {held: "published", other: "published"}
    assert "The machine is gone" in Event.objects.filter(job_id=held).latest("sequence").payload["reason"]
    event = last_event(board.qa.agent_id)
    assert (event.event_type, event.actor_name) == ("agent_deactivated", "anna")
    assert anna.post(path, {"reason": "The machine is gone"}, Idempotency_Key="k").json() == expected
    refused = anna.post(path, {"reason": "again"})
    [entry] = refused.json()["detail"]
    assert (refused.status_code, entry["ctx"]["code"], entry["loc"], entry["input"]) == (
        *(409, "agent_inactive", ["path", "agent_id"], board.qa.agent_id),
    )
    assert list(entry) == ["loc", "msg", "type", "input", "ctx"]
    back = anna.post(f"{UI}/agents/{board.qa.agent_id}/activate")
    assert (back.status_code, back.json()["is_active"]) == (200, True)
    assert board.qa.get("/agents/me").status_code == 200
    twice = anna.post(f"{UI}/agents/{board.qa.agent_id}/activate")
    assert (twice.status_code, twice.json()["detail"][0]["ctx"]["code"]) == (409, "agent_active")


def test_deleting_an_agent_keeps_it_out_and_deletes_nothing(board: Board, anna: Caller) -> None:
    held = board.claimed()
    answer = anna.call("DELETE", f"{UI}/agents/{board.qa.agent_id}?reason=gone")
    assert (answer.status_code, answer.json()["returned_job_ids"]) == (200, [held])
    assert Agent.objects.get(pk=board.qa.agent_id).is_active is False
    assert last_event(board.qa.agent_id).payload["reason"] == "gone"
    assert anna.call("DELETE", f"{UI}/agents/{board.guest.agent_id}").status_code == 200
    assert last_event(board.guest.agent_id).payload["reason"] == "no reason given"


def test_a_reason_is_asked_for_before_an_agent_is_kept_out(board: Board, anna: Caller) -> None:
    for body in (None, {}, {"reason": " "}, {"reason": None}):
        refused = anna.post(f"{UI}/agents/{board.qa.agent_id}/deactivate", body)
        assert refused.status_code == 422, body
    assert Agent.objects.get(pk=board.qa.agent_id).is_active


def test_an_agent_that_is_not_there_is_404(board: Board, anna: Caller) -> None:
    for method, path in (
        *(("PATCH", ""), ("DELETE", ""), ("POST", "/activate"), ("POST", "/deactivate")),
        *(("GET", "/tokens"), ("POST", "/tokens")),
    ):
        refused = anna.call(method, f"{UI}/agents/999{path}", {"reason": "r"})
        assert refused.status_code == 404, path
        assert "There is no agent with the id 999" in refused.json()["detail"]


def test_a_viewer_sees_agents_and_changes_none(board: Board) -> None:
    vera = viewer()
    assert vera.get(f"{UI}/agents").status_code == 200
    assert vera.get(f"{UI}/agents/{board.qa.agent_id}/tokens").status_code == 200
    token = AgentToken.objects.filter(agent=board.qa.agent_id).first().pk
    before = Event.objects.count()
    for method, path, permission in (
        ("POST", "/agents", "agents.add_agent"),
        ("PATCH", f"/agents/{board.qa.agent_id}", "agents.change_agent"),
        ("DELETE", f"/agents/{board.qa.agent_id}", "agents.delete_agent"),
        ("POST", f"/agents/{board.qa.agent_id}/deactivate", "agents.change_agent"),
        ("POST", f"/agents/{board.qa.agent_id}/activate", "agents.change_agent"),
        ("POST", f"/agents/{board.qa.agent_id}/tokens", "agents.add_agenttoken"),
        ("DELETE", f"/tokens/{token}", "agents.delete_agenttoken"),
        ("POST", f"/tokens/{token}/rotate", "agents.add_agenttoken"),
    ):
        refused = vera.call(method, f"{UI}{path}", {"reason": "r"})
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_missing"), path
        assert permission in refused.json()["detail"]
    assert Event.objects.count() == before
    assert board.qa.get("/agents/me").status_code == 200
