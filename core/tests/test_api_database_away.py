"""A database that is gone, read-only or busy: 503 with Retry-After and an honest sentence, never a 500."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from django.db import DataError, InterfaceError, OperationalError, connection
from django.db.backends.utils import CursorWrapper

from core.errors import Unavailable
from core.models import Installation
from jobs.models import Job
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.wire import NOBODY, Board, agent, job_body

BROWSER = {"Accept": "text/html,*/*;q=0.8"}
AWAY = "may have taken effect"


@pytest.fixture(scope="module")
def board(db: None) -> Board:
    return Board()


@contextmanager
def every_statement(raises: Callable[[], Exception]) -> Iterator[None]:
    """Until the end of the block each statement fails as it does when the connection is lost."""

    def fail(*args: object, **kwargs: object) -> None:
        raise raises()

    with patch.object(CursorWrapper, "execute", fail), patch.object(CursorWrapper, "executemany", fail):
        yield


def lost() -> Exception:
    return OperationalError("server closed the connection unexpectedly: host=10.0.0.5 password=secret")


def closed() -> Exception:
    return InterfaceError("connection already closed")


def routes(job_id: int) -> list[tuple[str, str, object]]:
    verbs = ("claim", "heartbeat", "release", "requeue", "hold", "unhold")
    return [
        *(
            ("GET", path, None)
            for path in ("/agents", "/agents/me", "/agents/me/roles", "/agents/roles", "/jobs")
        ),
        *(("GET", f"/jobs/{job_id}{tail}", None) for tail in ("", "/events", "/artifacts")),
        *(("GET", path, None) for path in ("/api/v1/schema", "/api/v1/docs")),
        ("POST", "/agents/me/heartbeat", {}),
        ("POST", "/jobs", job_body()),
        ("POST", "/jobs/claim-next", {"target_role_key": "qa"}),
        ("PATCH", f"/jobs/{job_id}", {"constraints": []}),
        ("POST", f"/jobs/{job_id}/status", {"status": "completed"}),
        *(("POST", f"/jobs/{job_id}/{verb}", {}) for verb in verbs),
    ]


@pytest.mark.parametrize("raises", [lost, closed])
def test_every_route_answers_503_while_the_database_is_away(
    board: Board, raises: Callable[[], Exception]
) -> None:
    job_id = board.claimed()
    for method, path, body in routes(job_id):
        with every_statement(raises):
            answer = board.qa.call(method, path, body, Idempotency_Key="k")
        assert answer.status_code == 503, path
        assert answer.headers["Retry-After"] == "1"
        assert answer.headers["Content-Type"] == "application/json"
        assert list(answer.json()) == ["detail", "code"]
        assert answer.json()["code"] == "database_away"
        assert AWAY in answer.json()["detail"]
        assert "Idempotency-Key" in answer.json()["detail"]
        assert b"secret" not in answer.content
    assert board.qa.get(f"/jobs/{job_id}").json()["status"] == "in_progress"


def test_pages_answer_503_too(board: Board) -> None:
    job_id = board.claimed()
    for path in ("/jobs", f"/jobs/{job_id}", "/jobs/claim-next", "/agents/me"):
        for caller in (board.qa.basic, board.qa):
            with every_statement(lost):
                page = caller.get(path, **BROWSER)
            assert (page.status_code, page.headers["Retry-After"]) == (503, "1")
            assert AWAY in page.json()["detail"]


def test_who_is_refused_without_asking_the_database_is_refused_all_the_same(board: Board) -> None:
    with every_statement(lost):
        assert NOBODY.get("/jobs").status_code == 401
        assert NOBODY.get("/api/v1/health").status_code == 204
        assert NOBODY.get("/nothing").status_code == 404


def test_ready_says_no_and_health_does_not_ask(board: Board) -> None:
    for raises in (lost, closed, lambda: DataError("odd"), lambda: Unavailable(retry_after_seconds=1)):
        with every_statement(raises):
            for path in ("/api/v1/ready", "/api/v1/ready/"):
                answer = NOBODY.get(path)
                assert (answer.status_code, answer.content) == (503, b'{"ready":false}')
                assert answer.headers["Retry-After"] == "1"
            assert NOBODY.get("/api/v1/ready", **BROWSER).status_code == 503
            assert NOBODY.get("/api/v1/health").status_code == 204
    answer = NOBODY.get("/api/v1/ready")
    assert (answer.status_code, answer.content) == (200, b'{"ready":true}')
    assert "Retry-After" not in answer.headers


def test_ready_is_about_our_own_tables(board: Board) -> None:
    Installation.objects.all().delete()
    answer = NOBODY.get("/api/v1/ready")
    Installation.objects.create(pk=1)
    assert (answer.status_code, answer.content) == (503, b'{"ready":false}')


@contextmanager
def read_only() -> Iterator[None]:
    """The real thing: until the end of the block the database refuses to write."""
    switch = {"sqlite": "PRAGMA query_only = {}", "postgresql": "SET default_transaction_read_only = {}"}
    with connection.cursor() as cursor:
        cursor.execute(switch[connection.vendor].format("on"))
        try:
            yield
        finally:
            cursor.execute(switch[connection.vendor].format("off"))


def test_a_read_only_database_is_not_ready(board: Board) -> None:
    with read_only():
        answer = NOBODY.get("/api/v1/ready")
    assert (answer.status_code, answer.content) == (503, b'{"ready":false}')


@pytest.mark.parametrize("path", ["/jobs", "/agents/me/heartbeat", "/jobs/claim-next"])
def test_writing_to_a_read_only_database_is_503(board: Board, path: str) -> None:
    body = {
        "/jobs": job_body(),
        "/agents/me/heartbeat": {"note": "n"},
        "/jobs/claim-next": {"target_role_key": "qa"},
    }
    board.job()
    with read_only():
        answer = board.qa.post(path, body[path])
    assert (answer.status_code, answer.json()["code"]) == (503, "database_away")


def test_reading_goes_on_while_nothing_can_be_written(board: Board) -> None:
    job_id = board.job()
    never_seen = agent("Never seen", "qa")
    with read_only():
        assert never_seen.get("/agents/me").status_code == 200
        assert board.qa.get(f"/jobs/{job_id}").status_code == 200
        assert board.qa.get("/jobs").status_code == 200


def test_an_accepted_call_is_not_called_busy_because_its_sign_of_life_was_not_written(board: Board) -> None:
    job_id = board.claimed()
    with patch("core.api.views.sign_of_life", side_effect=Unavailable(retry_after_seconds=1)):
        answer = board.qa.post(f"/jobs/{job_id}/status", {"status": "completed"})
        assert answer.status_code == 200
        assert board.qa.get(f"/jobs/{job_id}").status_code == 200
        assert board.qa.get("/agents/me").status_code == 200
        assert board.dev.post("/jobs", job_body()).status_code == 201
    assert Job.objects.get(pk=job_id).status == "completed"


def test_a_busy_database_says_that_nothing_was_changed(board: Board) -> None:
    with patch("jobs.api.board.publish", side_effect=Unavailable(retry_after_seconds=1)):
        answer = board.dev.post("/jobs", job_body())
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert answer.json()["code"] == "unavailable"
    assert "nothing was changed" in answer.json()["detail"]


def test_a_fault_of_ours_is_a_500_that_tells_nothing_of_the_inside(board: Board) -> None:
    for fault in (DataError("column secret_column"), ValueError("secret"), KeyError("secret")):
        with patch("jobs.api.board.publish", side_effect=fault):
            answer = board.dev.post("/jobs", job_body())
        assert (answer.status_code, answer.content) == (500, b'{"detail":"Internal Server Error"}')
        assert answer.headers["Content-Type"] == "application/json"
