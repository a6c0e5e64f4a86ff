"""The browsable pages: one for every route, with an example in its form, safe to look at, and from this server only."""

import html
import json
import re

import pytest
from django.contrib.staticfiles import finders

from testing.wire import NOBODY, Board, job_body

pytestmark = pytest.mark.django_db

# What browsers send when an address is typed in.
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}
FOREIGN = re.compile(r"""(?:href|src|action|url)\s*[=(]\s*["']?\s*(?:[a-z]+:)?//[^"'\s)]*""", re.IGNORECASE)
FORM = re.compile(r'<textarea[^>]*name="_content"[^>]*>(.*?)</textarea>', re.DOTALL)
VERBS = ("claim", "status", "heartbeat", "release", "requeue", "hold", "unhold")


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.mark.parametrize(
    ("path", "has_form"),
    [
        ("/api/v1/ready", False),
        ("/agents", False),
        ("/agents/me", False),
        ("/agents/me/roles", False),
        ("/agents/roles", False),
        ("/agents/me/heartbeat", True),
        ("/jobs", True),
        ("/jobs/claim-next", True),
        ("/jobs/JOB", True),
        ("/jobs/JOB/events", False),
        ("/jobs/JOB/artifacts", False),
        *((f"/jobs/JOB/{verb}", True) for verb in VERBS),
    ],
)
def test_every_route_has_a_page_with_an_example_that_the_route_accepts(
    board: Board, path: str, has_form: bool
) -> None:
    path = path.replace("JOB", str(board.claimed()))
    page = board.qa.basic.get(path, **BROWSER)
    text = page.content.decode()
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert page.headers["X-Frame-Options"] == "DENY"
    assert "<title>" in text
    assert "ForkFlux" in text
    assert FOREIGN.findall(text) == []
    forms = FORM.findall(text)
    assert len(forms) == has_form
    if has_form:
        example = json.loads(html.unescape(forms[0]))
        method = "PATCH" if path.count("/") == 2 and path != "/jobs/claim-next" else "POST"
        answer = board.qa.call(method, path, example)
        # Well formed: a job in another state is another matter.
        assert answer.status_code != 422, answer.content
        assert "ignored_fields" not in (answer.json() if answer.status_code < 300 else {})


def test_a_page_names_the_caller_and_nothing_else_of_it(board: Board) -> None:
    text = board.dev.basic.get("/agents/me", **BROWSER).content.decode()
    assert '<li class="navbar-text">dev-agent</li>' in text
    for inside in ("Actor(", "token_id", "frozenset", "HeldRole", board.dev.token):
        assert inside not in text


def test_a_page_asks_for_name_and_token_and_shows_what_was_wrong(board: Board) -> None:
    for caller in (NOBODY, board.dev.basic):
        page = caller.get("/jobs", **BROWSER) if caller is NOBODY else caller.get("/jobs?limit=0", **BROWSER)
        assert page.status_code == (401 if caller is NOBODY else 422)
        assert page.headers["Content-Type"].startswith("text/html")
        assert FOREIGN.findall(page.content.decode()) == []
    assert NOBODY.get("/jobs", **BROWSER).headers["WWW-Authenticate"] == 'Basic realm="ForkFlux"'
    assert "greater than or equal to 1" in board.dev.basic.get("/jobs?limit=0", **BROWSER).content.decode()


def test_a_page_of_a_route_that_takes_post_says_so_and_programs_get_405(board: Board) -> None:
    page = board.qa.basic.get("/jobs/claim-next", **BROWSER)
    assert "takes POST" in page.content.decode()
    assert board.qa.get("/jobs/claim-next").status_code == 405
    assert board.qa.basic.call("DELETE", "/jobs/claim-next", **BROWSER).status_code == 405


def test_health_is_204_for_browsers_too() -> None:
    answer = NOBODY.get("/api/v1/health", **BROWSER)
    assert (answer.status_code, answer.content) == (204, b"")


def test_what_agents_write_is_shown_and_never_run(board: Board) -> None:
    script = "<script>alert(1)</script>"
    job_id = board.job(
        summary=f"{script} javascript:alert(1)",
        context_payload={
            '"><img src=x onerror=alert(1)>': f"</script>{script}",
            "a": "</pre>{{7*7}}{% now 'Y' %}",
        },
        labels=["<b>x</b>"],
    )
    for path in (f"/jobs/{job_id}", "/jobs?my_roles_only=false", f"/jobs/{job_id}/events"):
        text = board.dev.basic.get(path, **BROWSER).content.decode()
        for live in (script, "<img src=x", "<b>x</b>", "</pre>{{7*7}}"):
            assert live not in text, path
    assert "{{7*7}}" in board.dev.basic.get(f"/jobs/{job_id}", **BROWSER).content.decode()


def test_a_write_answers_a_page_to_who_works_with_pages(board: Board) -> None:
    page = board.dev.basic.post("/jobs", job_body(), Origin="http://localhost", **BROWSER)
    assert page.status_code == 201
    assert "&quot;job_id&quot;" in page.content.decode()
    wrong = board.dev.basic.post("/jobs", b"{", Origin="http://localhost", **BROWSER)
    assert wrong.status_code == 422
    assert "json_invalid" in wrong.content.decode()


def test_the_session_of_a_page_can_be_looked_at_as_json_too(board: Board) -> None:
    page = board.dev.basic.get("/jobs", **BROWSER).content.decode()
    assert "format=json" in page
    answer = board.dev.basic.get("/jobs?format=json", **BROWSER)
    assert answer.headers["Content-Type"] == "application/json"
    assert board.dev.get("/jobs?format=api").headers["Content-Type"].startswith("text/html")


def test_a_large_job_has_a_page_in_reasonable_time(board: Board) -> None:
    # Texts that made link finders take minutes.
    payload = {
        "a": "http://a.b/" + "(" * 200_000,
        "b": "www." * 50_000,
        "c": "a@" * 100_000,
        "d": "&lt;" * 50_000,
    }
    job_id = board.job(context_payload=payload)
    assert board.dev.basic.get(f"/jobs/{job_id}", **BROWSER).status_code == 200


def test_the_documentation_is_served_from_here_and_asks_for_a_credential(board: Board) -> None:
    for path in ("/api/v1/docs", "/api/v1/docs/", "/api/v1/schema", "/api/v1/schema/"):
        assert NOBODY.get(path).status_code == 401
        refused = NOBODY.get(path, **BROWSER)
        assert (refused.status_code, refused.headers["Content-Type"]) == (401, "application/json")
        assert refused.headers["WWW-Authenticate"] == 'Basic realm="ForkFlux"'
    page = board.guest.basic.get("/api/v1/docs/", **BROWSER)
    text = page.content.decode()
    assert page.status_code == 200
    assert FOREIGN.findall(text) == []
    assert "/api/v1/schema" in text
    for source in re.findall(r'(?:src|href)="([^"]+)"', text):
        assert finders.find(source.removeprefix("/static/")), source


@pytest.mark.parametrize(
    "query", ["version=%22%3C/script%3E%3Cscript%3Ealert(1)", "lang=%0d%0aX:1", "version=%00"]
)
def test_what_the_query_says_is_not_run_by_the_documentation(board: Board, query: str) -> None:
    page = board.guest.basic.get(f"/api/v1/docs?{query}", **BROWSER)
    assert page.status_code == 200
    assert "<script>alert" not in page.content.decode()
    schema = board.guest.get(f"/api/v1/schema?{query}")
    assert schema.status_code == 200
    assert schema.headers["Content-Disposition"] == 'inline; filename="ForkFlux API.json"'
