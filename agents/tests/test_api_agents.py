"""The wire of the agent routes: who am I, which roles are there, who else is there, I am alive."""

import re

import pytest
from django.db import connection

from agents.models import Agent
from roles.models import Role
from testing.wire import NOBODY, Board, Caller, agent, bearer, role

pytestmark = pytest.mark.django_db

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
SHARED = "shared-key-of-the-tests"
EITHER = "Invalid authentication credentials (either Bearer token or API key required)"


@pytest.fixture
def board() -> Board:
    return Board()


def test_me_is_the_references_object_followed_by_the_address(board: Board) -> None:
    answer = board.dev.get("/agents/me")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    expected = (
        f'{{"id":{board.dev.agent_id},"agent_label":"Dev agent","tool_family":"claude","name":"dev-agent"}}'
    )
    assert answer.content.decode() == expected


def test_me_of_an_agent_without_a_tool_says_null(board: Board) -> None:
    assert board.guest.get("/agents/me").json()["tool_family"] is None


def test_labels_travel_as_utf_8_and_not_as_escapes(board: Board) -> None:
    caller = agent("Prüferin 質 😀")
    body = caller.get("/agents/me").content
    assert "Prüferin 質 😀".encode() in body
    assert b"\\u" not in body


def test_my_roles_are_the_ones_i_hold_in_order_of_their_keys(board: Board) -> None:
    role("architect")
    both = agent("Both", "qa", "architect")
    answer = both.get("/agents/me/roles")
    assert answer.status_code == 200
    expected = '[{"role_key":"architect","role_label":"Architect"},{"role_key":"qa","role_label":"QA"}]'
    assert answer.content.decode() == expected


def test_an_agent_without_roles_holds_an_empty_list(board: Board) -> None:
    assert board.guest.get("/agents/me/roles").content == b"[]"


def test_my_roles_leave_out_the_open_role_and_deleted_ones(board: Board) -> None:
    role("anyone", is_open=True)
    Role.objects.filter(role_key="qa").update(is_deleted=True)
    assert board.qa.get("/agents/me/roles").json() == []


def test_the_roles_are_all_active_ones(board: Board) -> None:
    role("retired", is_deleted=True)
    answer = board.guest.get("/agents/roles")
    assert answer.status_code == 200
    expected = '[{"role_key":"developer","role_label":"Developer"},{"role_key":"qa","role_label":"QA"}]'
    assert answer.content.decode() == expected


def test_the_shared_key_opens_the_roles_and_nothing_else(board: Board, settings) -> None:
    settings.SHARED_API_KEY = SHARED
    service = bearer(SHARED)
    assert service.get("/agents/roles").json() == board.qa.get("/agents/roles").json()
    for path in ("/agents/me", "/agents/me/roles", "/agents", "/jobs"):
        refused = service.get(path)
        assert (refused.status_code, refused.json()) == (401, {"detail": "Invalid or expired token"}), path
        assert refused.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Basic {SHARED}",
        SHARED,
        f"Bearer {SHARED}x",
        f"Bearer x{SHARED}",
        f"Bearer {SHARED.upper()}",
        "Bearer é",
    ],
)
def test_anything_but_a_token_or_the_shared_key_is_refused_in_the_references_words(
    board: Board, settings, header: str | None
) -> None:
    settings.SHARED_API_KEY = SHARED
    refused = NOBODY.get("/agents/roles", Authorization=header)
    assert (refused.status_code, refused.json()) == (401, {"detail": EITHER})
    expected = 'Basic realm="ForkFlux"' if header and header.startswith("Basic ") else "Bearer"
    assert refused.headers["WWW-Authenticate"] == expected


@pytest.mark.parametrize("key", [None, ""])
def test_a_shared_key_that_is_not_set_is_never_accepted(board: Board, settings, key: str | None) -> None:
    settings.SHARED_API_KEY = key
    for sent in ("", "None", "null"):
        assert bearer(sent).get("/agents/roles").status_code == 401


def test_the_agents_are_listed_with_what_they_hold(board: Board) -> None:
    job_id = board.claimed()
    answer = board.guest.get("/agents")
    assert answer.status_code == 200
    listed = answer.json()
    keys = ["name", "agent_label", "roles", "presence", "status_line", "holds", "last_seen_at"]
    assert [list(item) for item in listed] == [keys] * 3
    assert [item["name"] for item in listed] == ["dev-agent", "qa-agent", "guest"]
    qa = listed[1]
    assert (qa["agent_label"], qa["roles"], qa["presence"]) == ("QA agent", ["qa"], "online")
    assert (qa["holds"], qa["status_line"]) == ([job_id], "")
    assert MOMENT.fullmatch(qa["last_seen_at"])


def test_an_agent_that_never_called_is_offline_and_was_never_seen(board: Board) -> None:
    agent("Never called")
    listed = board.dev.get("/agents").json()[-1]
    assert (listed["presence"], listed["last_seen_at"], listed["holds"]) == ("offline", None, [])


def test_a_heartbeat_tells_state_and_note_and_needs_neither(board: Board) -> None:
    for body in (None, b"", b"  ", b"{}", {"state": None, "note": None}):
        answer = board.qa.post("/agents/me/heartbeat", body)
        assert (answer.status_code, answer.content) == (200, b'{"leases":[],"lost":[]}'), body
    board.qa.post("/agents/me/heartbeat", {"state": "waiting", "note": "Für die Prüfung"})
    found = Agent.objects.get(name="qa-agent")
    assert (found.reported_state, found.status_line) == ("waiting", "Für die Prüfung")
    listed = {item["name"]: item for item in board.dev.get("/agents").json()}
    assert listed["qa-agent"]["status_line"] == "Für die Prüfung"
    board.qa.post("/agents/me/heartbeat", {"note": ""})
    assert board.dev.get("/agents").json()[1]["status_line"] == ""


def test_a_heartbeat_renews_what_its_session_holds_and_names_it(board: Board) -> None:
    job_id = board.job()
    mine = {"X_ForkFlux_Session": "process-1"}
    claimed = board.qa.post(f"/jobs/{job_id}/claim", **mine).json()
    answer = board.qa.post("/agents/me/heartbeat", **mine)
    body = answer.json()
    assert list(body) == ["leases", "lost"]
    [lease] = body["leases"]
    assert list(lease) == ["job_id", "generation", "expires_at"]
    assert (lease["job_id"], lease["generation"]) == (job_id, 1)
    assert MOMENT.fullmatch(lease["expires_at"])
    assert lease["expires_at"] >= claimed["lease"]["expires_at"]
    assert board.qa.post("/agents/me/heartbeat", X_ForkFlux_Session="process-2").json()["leases"] == []
    assert board.qa.post("/agents/me/heartbeat").json()["leases"] == []


@pytest.mark.parametrize(
    ("body", "type_", "loc", "said"),
    [
        ({"state": "asleep"}, "literal_error", ["body", "state"], "'active', 'idle' or 'waiting'"),
        ({"state": 1}, "literal_error", ["body", "state"], "'active', 'idle' or 'waiting'"),
        ({"note": "x" * 2001}, "string_too_long", ["body", "note"], "2000"),
        ({"note": 5}, "string_type", ["body", "note"], "string"),
        ([], "model_attributes_type", ["body"], "dictionary"),
        (b"null", "model_attributes_type", ["body"], "dictionary"),
    ],
)
def test_a_wrong_heartbeat_is_refused_and_changes_nothing(
    board: Board, body, type_: str, loc: list[str], said: str
) -> None:
    refused = board.qa.post("/agents/me/heartbeat", body)
    assert refused.status_code == 422
    [entry] = refused.json()["detail"]
    assert list(entry)[:4] == ["type", "loc", "msg", "input"]
    assert (entry["type"], entry["loc"]) == (type_, loc)
    assert said in entry["msg"]
    assert Agent.objects.get(name="qa-agent").status_line == ""


def test_fields_that_a_heartbeat_does_not_know_are_named(board: Board) -> None:
    answer = board.qa.post("/agents/me/heartbeat", {"note": "n", "mood": "good", "zeal": 1})
    assert list(answer.json()) == ["leases", "lost", "ignored_fields"]
    assert answer.json()["ignored_fields"] == ["mood", "zeal"]


@pytest.mark.parametrize("session", ["", "a b", "é", "\x01", "x" * 65, "tab\there"])
def test_an_odd_session_is_refused_by_name_or_is_none(board: Board, session: str) -> None:
    answer = board.qa.post("/agents/me/heartbeat", X_ForkFlux_Session=session)
    if not session:
        assert answer.json() == {"leases": [], "lost": []}
        return
    [entry] = answer.json()["detail"]
    assert answer.status_code == 422
    assert (entry["type"], entry["loc"]) == ("session.invalid", ["header", "X-ForkFlux-Session"])
    assert "1 to 64 visible ASCII" in entry["msg"]


def test_listing_the_agents_takes_as_many_statements_for_many_as_for_few(
    board: Board, django_assert_max_num_queries
) -> None:
    caller: Caller = board.dev
    caller.get("/agents")
    for number in range(10):
        agent(f"Another {number}", "qa")
    with django_assert_max_num_queries(6, connection=connection):
        assert len(caller.get("/agents").json()) == 13
