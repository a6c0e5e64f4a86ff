"""What holds for every address: both forms of it, methods, unknown paths, hosts, forms of the answer, headers."""

import re

import pytest
from django.urls import get_resolver

from testing.people import operator
from testing.wire import NOBODY, Board, job_body

pytestmark = pytest.mark.django_db

ALLOWED = [
    ("/api/v1/health", "GET, HEAD, OPTIONS"),
    ("/api/v1/ready", "GET, HEAD, OPTIONS"),
    ("/api/v1/schema", "GET, HEAD, OPTIONS"),
    ("/api/v1/docs", "GET, HEAD, OPTIONS"),
    ("/agents", "GET, HEAD, OPTIONS"),
    ("/agents/me", "GET, HEAD, OPTIONS"),
    ("/agents/me/roles", "GET, HEAD, OPTIONS"),
    ("/agents/me/heartbeat", "POST, OPTIONS"),
    ("/agents/roles", "GET, HEAD, OPTIONS"),
    ("/jobs", "GET, POST, HEAD, OPTIONS"),
    ("/jobs/claim-next", "POST, OPTIONS"),
    ("/jobs/1", "GET, PATCH, HEAD, OPTIONS"),
    ("/jobs/1/events", "GET, HEAD, OPTIONS"),
    ("/jobs/1/artifacts", "GET, HEAD, OPTIONS"),
    *((f"/jobs/1/{verb}", "POST, OPTIONS") for verb in ("claim", "status", "heartbeat", "release")),
    *((f"/jobs/1/{verb}", "POST, OPTIONS") for verb in ("requeue", "hold", "unhold")),
]
UI = "/api/v1/ui"
READ = "GET, HEAD, OPTIONS"
OF_PEOPLE = [
    (f"{UI}/jobs", "GET, POST, HEAD, OPTIONS"),
    (f"{UI}/jobs/counts", READ),
    (f"{UI}/jobs/1", "GET, PATCH, DELETE, HEAD, OPTIONS"),
    (f"{UI}/jobs/1/events", READ),
    *((f"{UI}/jobs/1/{verb}", "POST, OPTIONS") for verb in ("unblock", "requeue", "reassign", "cancel")),
    *((f"{UI}/jobs/1/{verb}", "POST, OPTIONS") for verb in ("hold", "unhold")),
    (f"{UI}/stats", READ),
    (f"{UI}/stuck", READ),
    (f"{UI}/agents", "GET, POST, HEAD, OPTIONS"),
    (f"{UI}/agents/1", "PATCH, DELETE, OPTIONS"),
    (f"{UI}/agents/1/activate", "POST, OPTIONS"),
    (f"{UI}/agents/1/deactivate", "POST, OPTIONS"),
    (f"{UI}/agents/1/tokens", "GET, POST, HEAD, OPTIONS"),
    (f"{UI}/tokens/1", "DELETE, OPTIONS"),
    (f"{UI}/tokens/1/rotate", "POST, OPTIONS"),
    (f"{UI}/agents/roles", "GET, POST, HEAD, OPTIONS"),
    (f"{UI}/agents/roles/1", "PATCH, DELETE, OPTIONS"),
    (f"{UI}/agents/roles/1/pause", "POST, OPTIONS"),
    (f"{UI}/agents/roles/1/resume", "POST, OPTIONS"),
    (f"{UI}/profile", "GET, POST, HEAD, OPTIONS"),
    (f"{UI}/audit/verify", READ),
]


@pytest.fixture
def board() -> Board:
    return Board()


def test_this_list_has_every_route() -> None:
    listed = {path if path.startswith("/api") else f"/api/v1/mcp{path}" for path, _ in ALLOWED + OF_PEOPLE}
    served = set()
    for group in get_resolver().url_patterns:
        for route in getattr(group, "url_patterns", []):
            pattern = re.sub(r"<str:\w+>", "1", f"/{group.pattern}{route.pattern}")
            served |= {pattern} if pattern.startswith("/api/v1/") else set()
    assert served == listed


@pytest.mark.parametrize(("path", "allowed"), ALLOWED + OF_PEOPLE)
def test_a_method_that_a_route_does_not_have_is_405_with_those_that_it_has(
    board: Board, path: str, allowed: str
) -> None:
    caller = operator() if path.startswith(UI) else board.dev
    for method in ("DELETE", "PUT", "TRACE", "BREW", "GET", "POST", "PATCH"):
        if method in allowed:
            continue
        for form in (path, f"{path}/"):
            refused = caller.call(method, form, b"{")
            assert (refused.status_code, refused.content) == (405, b'{"detail":"Method Not Allowed"}'), method
            assert refused.headers["Allow"] == allowed


@pytest.mark.parametrize(("path", "allowed"), ALLOWED + OF_PEOPLE)
def test_the_method_is_not_told_to_strangers(path: str, allowed: str) -> None:
    if path in ("/api/v1/health", "/api/v1/ready"):
        return
    assert NOBODY.call("DELETE", path).status_code == 401


def test_both_forms_of_an_address_answer_at_once(board: Board) -> None:
    job_id = board.job()
    for path in (
        "/jobs",
        f"/jobs/{job_id}",
        "/agents/me",
        "/agents/roles",
        "/api/v1/ready",
        "/api/v1/health",
    ):
        with_slash, without = board.dev.get(f"{path}/"), board.dev.get(path)
        assert with_slash.status_code == without.status_code < 300
        assert with_slash.content == without.content
    assert board.dev.post("/jobs/", job_body()).status_code == 201
    assert board.qa.post("/jobs/claim-next/", {"target_role_key": "qa"}).status_code == 201
    assert board.dev.patch(f"/jobs/{job_id + 1}/", {"constraints": ["c"]}).status_code == 200


def test_the_query_survives_the_slash(board: Board) -> None:
    board.job()
    refused = board.dev.get("/jobs/?limit=0")
    assert refused.json()["detail"][0]["loc"] == ["query", "limit"]


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/jobs/1/nothing",
        "/jobs/1/claim/more",
        "/jobs//",
        "/jobs//1",
        "//jobs",
        "/jobs/a%2Fb",
        "/jobs/%2e%2e",
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2/health",
        "/api/v1/mcp/../health",
        "/api/v1/%00",
        "/api/v1/%ff",
        "/api/v1/healthy",
        "/API/V1/HEALTH",
    ],
)
def test_an_unknown_path_is_404_in_one_form_with_and_without_a_credential(board: Board, path: str) -> None:
    for caller in (board.dev, NOBODY):
        for method in ("GET", "POST"):
            refused = caller.call(method, path, Accept="text/html")
            if path == "/jobs/%2e%2e":  # an id like any other word
                assert refused.status_code in (401, 405, 422)
                continue
            assert (refused.status_code, refused.content) == (404, b'{"detail":"Not Found"}')
            assert refused.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("host", ["evil.example", "", "localhost:port", "local host", "é", "localhost,evil"])
def test_a_host_that_is_not_served_is_400_and_says_where_to_allow_it(board: Board, host: str) -> None:
    for path in ("/jobs", "/api/v1/health", "/nothing"):
        refused = board.dev.get(path, Host=host)
        assert refused.status_code == 400
        assert refused.headers["Content-Type"] == "application/json"
        assert "ALLOWED_HOSTS" in refused.json()["detail"]


def test_the_forwarded_host_is_not_believed(board: Board) -> None:
    for _ in range(2):
        board.job()
    answer = board.dev.get("/jobs?my_roles_only=false&limit=1", X_Forwarded_Host="evil.example")
    assert answer.headers["Link"].startswith("<http://localhost/api/v1/mcp/jobs?")


@pytest.mark.parametrize("path", [path for path, allowed in ALLOWED if "HEAD" in allowed])
def test_head_is_get_without_the_body(board: Board, path: str) -> None:
    job_id = board.job()
    path = path.replace("/jobs/1", f"/jobs/{job_id}")
    got, head = board.dev.get(path), board.dev.call("HEAD", path)
    assert head.status_code == got.status_code < 300
    assert head.content == b""
    assert head.headers.get("Content-Type") == got.headers.get("Content-Type")


def test_options_tells_what_a_route_takes_and_gives(board: Board) -> None:
    answer = board.dev.call("OPTIONS", "/jobs")
    assert answer.status_code == 200
    assert list(answer.json()) == ["name", "description", "renders", "parses"]
    assert answer.headers["Allow"] == "GET, POST, HEAD, OPTIONS"
    assert NOBODY.call("OPTIONS", "/jobs").status_code == 401


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "*/*",
        "",
        "application/json",
        "text/plain",
        "application/xml",
        "image/png;q=1",
        "garbage",
        ";;;///,,,",
        "application/json;q=é",
        "application/json; indent=x",
        "a/b;" + "c=d;" * 500,
        ",".join(f"a{number}/b" for number in range(200)),
        "x" * 9000,
    ],
)
def test_whatever_a_program_accepts_it_gets_json(board: Board, accept: str | None) -> None:
    answer = board.dev.get("/agents/me", Accept=accept)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.content.startswith(b'{"id":')


@pytest.mark.parametrize("name", ["json", "xml", "", "%00", "%ff", "é"])
def test_the_form_in_the_query_is_a_wish_and_no_ignored_parameter(board: Board, name: str) -> None:
    answer = board.dev.get(f"/jobs?format={name}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert "X-Ignored-Parameters" not in answer.headers


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "application/json; charset=latin-1",
        "application/json; charset=nonsense",
        "garbage",
        "",
        "é/é",
    ],
)
def test_a_body_is_json_whatever_its_content_type_says(board: Board, content_type: str) -> None:
    answer = board.dev.post("/jobs", job_body(summary="Prüfen 😀"), Content_Type=content_type)
    assert answer.status_code == 201
    assert board.dev.get(f"/jobs/{answer.json()['job_id']}").json()["summary"] == "Prüfen 😀"
    form = board.dev.post("/jobs", b"summary=a&priority=20", Content_Type=content_type)
    assert (form.status_code, form.json()["detail"][0]["type"]) == (422, "json_invalid")


def test_a_body_on_a_reading_route_is_passed_over(board: Board) -> None:
    assert board.dev.call("GET", "/agents/me", b"{").status_code == 200
    assert board.dev.call("GET", "/jobs?limit=1", b"\x00\xff").json() == []


def test_answers_are_not_for_guessing_or_framing(board: Board) -> None:
    headers = board.dev.get("/agents/me").headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
