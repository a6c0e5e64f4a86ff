"""The order of checks: 401, scope 403, the request's own form 422, unknown job 404, may not 403, conflict 409."""

from typing import Any

import pytest

from agents.models import Agent
from testing.wire import NOBODY, Board, another_token, bearer, job_body

pytestmark = pytest.mark.django_db

BAD_FORM = b'{"status": "done", "lease_seconds": 1, "reason": 5, "constraints": 5, "note": 5}'
# Of each route that names a job: method, path behind the id, a good body, and who may not (None: nobody is a stranger).
ROUTES = [
    ("PATCH", "", {"constraints": ["c"]}, "guest"),
    ("POST", "/claim", {}, "guest"),
    ("POST", "/status", {"status": "cancelled"}, "guest"),
    ("POST", "/heartbeat", {}, None),
    ("POST", "/release", {}, None),
    ("POST", "/requeue", {}, "guest"),
    ("POST", "/hold", {}, "guest"),
    ("POST", "/unhold", {}, "guest"),
]
UNKNOWN = 10**12


@pytest.mark.parametrize(("method", "path", "body", "stranger"), ROUTES)
def test_each_check_comes_before_the_next(method: str, path: str, body: dict, stranger: str | None) -> None:
    board = Board()
    completed = board.moved(board.claimed(), "completed")
    held_by_nobody = another_token(Agent.objects.get(name="dev-agent"), scopes=["output"])

    def status(caller, job_id, sent, **headers: str) -> int:
        code: int = caller.call(method, f"/jobs/{job_id}{path}", sent, **headers).status_code
        return code

    # Everything is wrong; then from the first check on one thing after the other is put right.
    assert status(NOBODY, "abc", BAD_FORM) == 401
    assert status(bearer("wrong"), "abc", BAD_FORM) == 401
    assert status(held_by_nobody, "abc", BAD_FORM) == 403
    assert status(board.guest, "abc", BAD_FORM) == 422
    assert status(board.guest, UNKNOWN, BAD_FORM) == 422
    assert status(board.guest, UNKNOWN, body, X_ForkFlux_Session="a b") == 422
    assert status(board.guest, UNKNOWN, body, Idempotency_Key="é") == 422
    assert status(board.guest, completed, BAD_FORM) == 422
    assert status(board.guest, UNKNOWN, body) == 404
    if stranger is not None:
        assert status(board.guest, completed, body) == 403
    assert (
        status(board.dev if path in ("", "/requeue", "/hold", "/unhold") else board.qa, completed, body)
        == 409
    )


@pytest.mark.parametrize("path", ["", "/events", "/artifacts"])
def test_reading_checks_in_the_same_order(path: str) -> None:
    board = Board()
    job_id = board.job()
    blind = another_token(Agent.objects.get(name="dev-agent"), scopes=["publish"])
    assert NOBODY.get(f"/jobs/abc{path}").status_code == 401
    assert blind.get(f"/jobs/abc{path}").status_code == 403
    assert board.guest.get(f"/jobs/abc{path}").status_code == 422
    missing = board.guest.get(f"/jobs/{UNKNOWN}{path}")
    assert (missing.status_code, missing.content) == (404, b'{"detail":"Handoff job not found."}')
    assert board.guest.get(f"/jobs/{job_id}{path}").status_code == 200
    if path == "/events":
        assert board.guest.get(f"/jobs/{UNKNOWN}{path}?limit=0").status_code == 422


def test_publishing_checks_parent_then_blockers_then_role_then_rules() -> None:
    board = Board()
    wrong: dict[str, Any] = {
        "parent_job_id": UNKNOWN,
        "blocked_by": [1],
        "target_role_key": "nobody",
        "routing_rules": [{"target_role_key": "nobody"}],
    }
    right: dict[str, Any] = {
        "parent_job_id": None,
        "blocked_by": [],
        "target_role_key": "qa",
        "routing_rules": None,
    }
    for field in wrong:
        [entry] = board.dev.post("/jobs", job_body(**wrong)).json()["detail"]
        assert entry["loc"] == ["body", field]
        wrong[field] = right[field]
    assert board.dev.post("/jobs", job_body(**wrong)).status_code == 201


IDS = [
    ("abc", "int_parsing"),
    ("1.0", "int_parsing"),
    ("1e3", "int_parsing"),
    ("0x1", "int_parsing"),
    ("1_0", "int_parsing"),
    ("%20", "int_parsing"),
    ("1%20", "int_parsing"),
    ("1%0a", "int_parsing"),
    ("%00", "int_parsing"),
    ("%ff", "int_parsing"),
    ("%D9%A3", "int_parsing"),
    ("--1", "int_parsing"),
    ("9" * 19, "int_parsing_size"),
    ("-9223372036854775809", "int_parsing_size"),
    ("9" * 400, "int_parsing_size"),
    ("0" * 300 + "1", "int_parsing_size"),
    ("x" * 3000, "int_parsing"),
]


def test_an_id_that_is_none_is_refused_in_the_references_words_on_every_route() -> None:
    board = Board()
    said = {
        "int_parsing": "Input should be a valid integer, unable to parse string as an integer",
        "int_parsing_size": "Unable to parse input string as an integer, exceeded maximum size",
    }
    routes: list[tuple[str, str, Any]] = [
        ("GET", "", None),
        ("GET", "/events", None),
        ("GET", "/artifacts", None),
    ]
    routes += [(method, path, body) for method, path, body, _ in ROUTES]
    for written, type_ in IDS:
        for method, path, body in routes:
            refused = board.dev.call(method, f"/jobs/{written}{path}", body, Idempotency_Key="k")
            assert refused.status_code == 422, (written, method, path)
            [entry] = refused.json()["detail"]
            assert list(entry) == ["type", "loc", "msg", "input"]
            assert (entry["type"], entry["loc"]) == (type_, ["path", "job_id"])
            assert entry["msg"] == said[type_]


@pytest.mark.parametrize("written", ["+{}", "0{}", "00000000000{}"])
def test_an_id_may_be_written_as_python_reads_integers(written: str) -> None:
    board = Board()
    job_id = board.job()
    assert board.dev.get(f"/jobs/{written.format(job_id)}").json()["id"] == job_id


@pytest.mark.parametrize("written", ["0", "-1", "-0", "9223372036854775807", "-9223372036854775808"])
def test_an_integer_that_is_no_job_is_404(written: str) -> None:
    board = Board()
    for method, path, body, _ in [("GET", "", None, None), *ROUTES]:
        assert board.dev.call(method, f"/jobs/{written}{path}", body).status_code == 404
