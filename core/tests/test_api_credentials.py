"""Who gets in: missing and wrong credentials, HTTP Basic, scopes, and pages of other sites."""

import base64
from datetime import timedelta

import pytest
from django.utils import timezone

from agents.models import Agent, AgentToken
from agents.scopes import DEFAULT_SCOPES
from core.errors import Unauthenticated
from jobs.models import Job
from testing.wire import NOBODY, Board, another_token, basic_headers, bearer, job_body

pytestmark = pytest.mark.django_db

ROUTES = [
    ("GET", "/agents/me"),
    ("GET", "/agents/me/roles"),
    ("GET", "/agents"),
    ("POST", "/agents/me/heartbeat"),
    ("GET", "/jobs"),
    ("POST", "/jobs"),
    ("POST", "/jobs/claim-next"),
    ("GET", "/jobs/1"),
    ("PATCH", "/jobs/1"),
    ("GET", "/jobs/1/events"),
    ("GET", "/jobs/1/artifacts"),
    *(("POST", f"/jobs/1/{verb}") for verb in ("claim", "status", "heartbeat", "release", "requeue")),
    *(("POST", f"/jobs/1/{verb}") for verb in ("hold", "unhold")),
    ("GET", "/api/v1/schema"),
    ("GET", "/api/v1/docs"),
]
INVALID = {"detail": "Invalid or expired token"}


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_asks_for_a_credential_before_anything_else(method: str, path: str) -> None:
    for body in (None, b"{", b"\xff", {"priority": "none"}):
        refused = NOBODY.call(method, path, body)
        assert refused.status_code == 401
        assert refused.json() == {"detail": Unauthenticated().message}
        assert refused.headers["WWW-Authenticate"] == "Bearer"
        assert refused.headers["Content-Type"] == "application/json"
    wrong = bearer("wrong").call(method, path, b"{")
    assert (wrong.status_code, wrong.json()) == (401, INVALID)
    assert wrong.headers["WWW-Authenticate"] == "Bearer"


def test_a_wrong_credential_comes_before_a_wrong_id_and_a_wrong_query(board: Board) -> None:
    for path in ("/jobs/abc", "/jobs?limit=0", "/jobs/99999999999999999999", "/jobs?status=%00"):
        assert bearer("wrong").get(path).status_code == 401
        assert NOBODY.get(path).status_code == 401


@pytest.mark.parametrize("header", ["Bearer {}", "bearer {}", "BEARER   {}", "Bearer {}  "])
def test_the_scheme_is_read_without_regard_to_case_and_blanks(board: Board, header: str) -> None:
    assert NOBODY.get("/agents/me", Authorization=header.format(board.dev.token)).status_code == 200


@pytest.mark.parametrize(
    "header", ["{}", "Token {}", "Digest {}", "Bearer", "Bearer ", "Basic", "Basic ", "", " ", "Bearer\t{}"]
)
def test_what_is_no_bearer_value_is_a_missing_credential(board: Board, header: str) -> None:
    refused = NOBODY.get("/agents/me", Authorization=header.format(board.dev.token))
    assert refused.status_code == 401
    assert refused.json() == {"detail": Unauthenticated().message}


@pytest.mark.parametrize(
    "value", ["é", "x" * 8000, "\x01", "{}\x00", "{},Bearer {}", "{} {}", "None", "null", "'; DROP TABLE x"]
)
def test_a_token_that_does_not_exist_is_refused(board: Board, value: str) -> None:
    refused = bearer(value.replace("{}", board.dev.token)).get("/agents/me")
    assert (refused.status_code, refused.json()) == (401, INVALID)


def test_a_stored_hash_is_no_token(board: Board) -> None:
    stored = AgentToken.objects.filter(agent__name=board.dev.name).values_list("token_hash", flat=True)
    for value in stored:
        assert bearer(value).get("/agents/me").status_code == 401


def test_a_token_ends_with_its_revocation_its_time_and_its_agent(board: Board) -> None:
    agent = Agent.objects.get(name=board.dev.name)
    short = another_token(agent, expires_at=timezone.now() + timedelta(hours=1))
    assert short.get("/agents/me").status_code == 200
    AgentToken.objects.update(expires_at=timezone.now() - timedelta(seconds=5))
    assert short.get("/agents/me").json() == INVALID
    AgentToken.objects.update(expires_at=None)
    AgentToken.objects.filter(token_hash__isnull=False).update(revoked_at=timezone.now())
    assert short.get("/agents/me").json() == INVALID
    AgentToken.objects.update(revoked_at=None)
    assert short.get("/agents/me").status_code == 200
    Agent.objects.filter(pk=agent.pk).update(is_active=False)
    assert short.get("/agents/me").json() == INVALID


def test_basic_takes_the_agents_name_and_its_token(board: Board) -> None:
    answer = board.dev.basic.get("/agents/me")
    assert (answer.status_code, answer.json()["name"]) == (200, "dev-agent")
    assert board.dev.basic.post("/jobs", job_body()).status_code == 201


@pytest.mark.parametrize(
    "pair",
    [
        b"dev-agent",
        b"dev-agent:",
        b":TOKEN",
        b"qa-agent:TOKEN",
        b"Dev agent:TOKEN",
        b"DEV-AGENT:TOKEN",
        b"dev-agent:TOKEN:",
        b"dev-agent\x00:TOKEN",
        b"\xff\xfe:TOKEN",
        "prüfer:TOKEN".encode(),
        b"",
    ],
)
def test_basic_with_another_pair_is_refused_and_asked_again_for_basic(board: Board, pair: bytes) -> None:
    value = base64.b64encode(pair.replace(b"TOKEN", board.dev.token.encode())).decode()
    refused = NOBODY.get("/agents/me", Authorization=f"Basic {value}")
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == 'Basic realm="ForkFlux"'


@pytest.mark.parametrize("value", ["!!!", "a", "====", "ZGV2LWFnZW50", "é", "\x01", "Zm9v:Zm9v"])
def test_basic_that_is_no_base64_of_a_pair_is_refused(board: Board, value: str) -> None:
    refused = NOBODY.get("/agents/me", Authorization=f"Basic {value}")
    assert (refused.status_code, refused.json()) == (401, INVALID)
    assert refused.headers["WWW-Authenticate"] == 'Basic realm="ForkFlux"'


def test_basic_is_asked_for_only_by_who_sent_it_or_opens_a_page() -> None:
    assert NOBODY.get("/jobs", Accept="text/html,*/*;q=0.8").headers["WWW-Authenticate"].startswith("Basic ")
    for accept in ("*/*", "application/json", "text/plain", None):
        assert NOBODY.get("/jobs", Accept=accept).headers["WWW-Authenticate"] == "Bearer"
    # A script that sends a bearer token is a program, whatever it accepts.
    assert bearer("wrong").get("/jobs", Accept="application/json").headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("scope", "method", "path"),
    [
        ("publish", "POST", "/jobs"),
        ("publish or claim", "PATCH", "/jobs/1"),
        ("publish", "POST", "/jobs/1/requeue"),
        ("publish", "POST", "/jobs/1/hold"),
        ("publish", "POST", "/jobs/1/unhold"),
        ("claim", "POST", "/jobs/claim-next"),
        ("claim", "POST", "/jobs/1/claim"),
        ("claim or publish", "POST", "/jobs/1/status"),
        ("claim", "POST", "/jobs/1/heartbeat"),
        ("claim", "POST", "/jobs/1/release"),
        ("claim", "POST", "/agents/me/heartbeat"),
        ("read", "GET", "/jobs"),
        ("read", "GET", "/jobs/1"),
        ("read", "GET", "/jobs/1/events"),
        ("read", "GET", "/jobs/1/artifacts"),
        ("read", "GET", "/agents"),
        ("read", "GET", "/agents/me"),
        ("read", "GET", "/agents/me/roles"),
        ("read", "GET", "/agents/roles"),
        ("read", "GET", "/api/v1/schema"),
        ("read", "GET", "/api/v1/docs"),
    ],
)
def test_a_token_without_the_scope_is_told_which_one_it_lacks(
    board: Board, scope: str, method: str, path: str
) -> None:
    agent = Agent.objects.get(name="dev-agent")
    lacking = another_token(agent, scopes=[name for name in DEFAULT_SCOPES if name not in scope.split()])
    # Not even the form of the request is looked at: neither the body nor whether there is such a job.
    refused = lacking.call(method, path, b"{")
    assert refused.status_code == 403
    body = refused.json()
    assert list(body) == ["detail", "code"]
    assert body["code"] == "scope_missing"
    assert f"`{scope}`" in body["detail"]
    assert "operator" in body["detail"]
    assert "WWW-Authenticate" not in refused.headers


def test_a_token_with_nothing_but_the_scope_is_enough(board: Board) -> None:
    agent = Agent.objects.get(name="qa-agent")
    job_id = board.job()
    assert another_token(agent, scopes=["read"]).get(f"/jobs/{job_id}").status_code == 200
    assert another_token(agent, scopes=["claim"]).post(f"/jobs/{job_id}/claim").status_code == 201
    assert another_token(agent, scopes=["publish"]).post("/jobs", job_body()).status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://localhost:81"},
        {"Origin": "http://[::1"},
        {"Origin": "http://[bad]"},
        {"Origin": "é"},
        {"Referer": "https://evil.example/form"},
        {"Sec_Fetch_Site": "cross-site", "Origin": "http://localhost"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": ""},
    ],
)
def test_another_sites_page_cannot_write_with_the_credentials_of_the_browser(
    board: Board, headers: dict[str, str]
) -> None:
    job_id = board.job()
    for path, body in (("/jobs", job_body()), (f"/jobs/{job_id}/hold", None), ("/jobs", b"{")):
        refused = board.dev.basic.post(path, body, **headers)
        assert refused.status_code == 403
        assert refused.json()["code"] == "cross_origin"
        assert "bearer token" in refused.json()["detail"]
    assert Job.objects.count() == 1
    # Reading does no harm: the browser does not show the answer to the other page.
    assert board.dev.basic.get("/agents/me", **headers).status_code == 200
    # What a script sends as a bearer token, no browser adds by itself.
    assert board.dev.post("/jobs", job_body(), **headers).status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://localhost"},
        {"Origin": "http://LOCALHOST"},
        {"Origin": "https://board.example"},
        {"Sec_Fetch_Site": "same-origin", "Origin": "https://behind.a.proxy"},
        {"Sec_Fetch_Site": "none"},
        {"Referer": "http://localhost/api/v1/mcp/jobs"},
    ],
)
def test_our_own_pages_may_write_with_basic(board: Board, settings, headers: dict[str, str]) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://board.example"]
    assert board.dev.basic.post("/jobs", job_body(), **headers).status_code == 201


def test_a_credential_is_noticed_as_presence_once_a_minute(board: Board) -> None:
    board.dev.get("/agents/me")
    first = Agent.objects.get(name="dev-agent").last_seen_at
    assert first is not None
    board.dev.get("/agents/me")
    assert Agent.objects.get(name="dev-agent").last_seen_at == first
    AgentToken.objects.update(last_used_at=first - timedelta(minutes=2))
    board.dev.get("/agents/me")
    later = Agent.objects.get(name="dev-agent").last_seen_at
    assert later is not None
    assert later > first
    bearer("wrong").get("/agents/me")
    NOBODY.get("/agents/me", **basic_headers("qa-agent", board.dev.token))
    assert Agent.objects.get(name="qa-agent").last_seen_at is None
