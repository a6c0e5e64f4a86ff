"""People's token routes: issued and rotated tokens are shown once, revoked ones open nothing more."""

import re

import pytest

from agents.models import AgentToken
from agents.scopes import DEFAULT_SCOPES
from core.models import IdempotencyRecord
from events.models import Event
from testing.people import UI, operator
from testing.wire import Board, Caller, bearer

pytestmark = pytest.mark.django_db

TOKEN = re.compile(r"[\w-]{43}")
KEYS = [
    *("token_id", "name", "prefix", "scopes", "state", "created_at", "expires_at", "revoked_at"),
    "last_used_at",
]


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def anna(board: Board) -> Caller:
    return operator()


@pytest.fixture
def tokens(board: Board) -> str:
    return f"{UI}/agents/{board.qa.agent_id}/tokens"


def test_an_issued_token_opens_what_it_was_issued_for_and_is_listed_without_itself(
    board: Board, anna: Caller, tokens: str
) -> None:
    answer = anna.post(tokens, {"scopes": ["read", "read"], "expires_at": "2030-01-01T00:00:00Z"})
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    issued = answer.json()
    assert list(issued) == [*KEYS, "api_token"]
    assert TOKEN.fullmatch(issued["api_token"])
    assert (issued["scopes"], issued["expires_at"]) == (["read"], "2030-01-01T00:00:00.000000Z")
    caller = bearer(issued["api_token"])
    assert caller.get("/jobs").status_code == 200
    assert caller.post("/jobs/claim-next", {"target_role_key": "qa"}).json()["code"] == "scope_missing"
    listed = anna.get(tokens)
    assert [list(token) for token in listed.json()] == [KEYS, KEYS]
    assert issued["api_token"] not in listed.content.decode()


def test_a_token_without_a_body_has_the_default_scopes(board: Board, anna: Caller, tokens: str) -> None:
    assert anna.post(tokens).json()["scopes"] == [str(scope) for scope in DEFAULT_SCOPES]


def test_a_repeated_issue_makes_one_token_and_does_not_show_it_again(
    board: Board, anna: Caller, tokens: str
) -> None:
    first = anna.post(tokens, {}, Idempotency_Key="k").json()
    again = anna.post(tokens, {}, Idempotency_Key="k")
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.json() == first | {"api_token": None}
    assert AgentToken.objects.filter(agent=board.qa.agent_id).count() == 2
    assert first["api_token"] not in str([*IdempotencyRecord.objects.values(), *Event.objects.values()])


def test_a_revoked_token_is_refused_by_its_next_call(board: Board, anna: Caller, tokens: str) -> None:
    token = anna.get(tokens).json()[0]["token_id"]
    assert board.qa.get("/agents/me").status_code == 200
    first, again = (anna.call("DELETE", f"{UI}/tokens/{token}", None, Idempotency_Key="k") for _ in range(2))
    assert (first.status_code, first.content, again.status_code) == (204, b"", 204)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert board.qa.get("/agents/me").status_code == 401
    assert anna.get(tokens).json()[0]["state"] == "revoked"
    revoked = Event.objects.filter(stream=f"agent:{board.qa.agent_id}", event_type="token_revoked")
    assert [event.actor_name for event in revoked] == ["anna"]


def test_a_rotated_token_leaves_no_gap(board: Board, anna: Caller, tokens: str) -> None:
    token = anna.get(tokens).json()[0]["token_id"]
    answer = anna.post(f"{UI}/tokens/{token}/rotate", {"keep_seconds": 600}, Idempotency_Key="k")
    assert answer.status_code == 201
    new = answer.json()
    assert list(new) == [*KEYS, "api_token"]
    assert board.qa.get("/agents/me").status_code == 200
    assert bearer(new["api_token"]).get("/agents/me").json()["name"] == "qa-agent"
    again = anna.post(f"{UI}/tokens/{token}/rotate", {"keep_seconds": 600}, Idempotency_Key="k").json()
    assert (again["token_id"], again["api_token"]) == (new["token_id"], None)
    assert AgentToken.objects.filter(agent=board.qa.agent_id).count() == 2


def test_a_token_that_opens_nothing_cannot_be_rotated(board: Board, anna: Caller, tokens: str) -> None:
    token = anna.get(tokens).json()[0]["token_id"]
    assert anna.post(f"{UI}/tokens/{token}/rotate", {"keep_seconds": 0}).status_code == 201
    assert board.qa.get("/agents/me").status_code == 401
    refused = anna.post(f"{UI}/tokens/{token}/rotate")
    [entry] = refused.json()["detail"]
    assert (refused.status_code, entry["ctx"]["code"], entry["loc"], entry["input"]) == (
        *(409, "token_inactive", ["path", "token_id"], token),
    )
    assert list(entry) == ["loc", "msg", "type", "input", "ctx"]


@pytest.mark.parametrize(
    ("path", "body", "loc"),
    [
        ("issue", {"scopes": []}, ["body", "scopes"]),
        ("issue", {"scopes": ["everything"]}, ["body", "scopes", 0]),
        ("issue", {"expires_at": "2001-01-01T00:00:00Z"}, ["body", "expires_at"]),
        ("rotate", {"keep_seconds": -1}, ["body", "keep_seconds"]),
        ("rotate", {"keep_seconds": 2_592_001}, ["body", "keep_seconds"]),
        ("rotate", {"expires_at": "2001-01-01T00:00:00Z"}, ["body", "expires_at"]),
    ],
)
def test_a_wrong_token_is_refused_at_its_field(anna: Caller, tokens: str, path: str, body, loc) -> None:
    token = anna.get(tokens).json()[0]["token_id"]
    refused = anna.post(tokens if path == "issue" else f"{UI}/tokens/{token}/rotate", body)
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, loc)
    assert len(anna.get(tokens).json()) == 1


def test_a_token_that_is_not_there_is_404(board: Board, anna: Caller) -> None:
    for answer in (anna.call("DELETE", f"{UI}/tokens/999"), anna.post(f"{UI}/tokens/999/rotate")):
        assert answer.status_code == 404
        assert "There is no token 999" in answer.json()["detail"]
