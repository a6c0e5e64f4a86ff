"""The wire of changing a job's content, of its trail, and of what it points to."""

import re

import pytest

from testing.wire import Board

pytestmark = pytest.mark.django_db

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
def board() -> Board:
    return Board()


def test_a_patch_answers_in_the_references_words_and_counts_versions(board: Board) -> None:
    job_id = board.job()
    answer = board.dev.patch(f"/jobs/{job_id}", {"constraints": ["a", "b"], "context_payload": None})
    message = f"job with job_id {job_id} updated successfully"
    assert answer.status_code == 200
    assert list(answer.json()) == ["job_id", "message", "version"]
    assert answer.json() == {"job_id": job_id, "message": message, "version": 2}
    job = board.dev.get(f"/jobs/{job_id}").json()
    assert (job["constraints"], job["context_payload"], job["version"]) == (
        ["a", "b"],
        {"branch": "login"},
        2,
    )


def test_a_patch_replaces_the_whole_value_also_by_an_empty_one(board: Board) -> None:
    job_id = board.job()
    assert board.dev.patch(f"/jobs/{job_id}", {"constraints": [], "context_payload": {}}).status_code == 200
    job = board.dev.get(f"/jobs/{job_id}").json()
    assert (job["constraints"], job["context_payload"]) == ([], {})


def test_true_and_one_are_not_the_same_content(board: Board) -> None:
    job_id = board.job(context_payload={"a": 1, "b": [1]})
    board.dev.patch(f"/jobs/{job_id}", {"context_payload": {"a": True, "b": [1.0]}})
    assert b'"context_payload":{"a":true,"b":[1.0]}' in board.dev.get(f"/jobs/{job_id}").content


@pytest.mark.timeout(20)
def test_a_large_update_of_lines_that_repeat_is_told_without_comparing_them_all(board: Board) -> None:
    # Telling these two apart line by line took minutes, in which the job stayed locked.
    job_id = board.job(context_payload={"a": [number % 3_000 for number in range(120_000)]})
    changed = {"context_payload": {"a": [(number * 7 + 1) % 3_000 for number in range(120_000)]}}
    assert board.dev.patch(f"/jobs/{job_id}", changed).status_code == 200
    [told] = [event for event in board.dev.get(f"/jobs/{job_id}/events").json() if event["sequence"] == 2]
    change = told["payload_json"]["changes"]["context_payload"]
    assert set(change) == {"old", "new", "difference"}
    assert change["old"]["bytes"] > 100_000
    assert 0 < len(change["difference"]) <= 80
    assert {line[0] for line in change["difference"]} <= {"-", "+", " "}


@pytest.mark.parametrize("body", [{}, {"context_payload": None}, {"constraints": None, "summary": "x"}])
def test_a_patch_of_nothing_is_refused_in_the_references_words(board: Board, body) -> None:
    refused = board.dev.patch(f"/jobs/{board.job()}", body)
    assert refused.status_code == 422
    [entry] = refused.json()["detail"]
    assert list(entry) == ["type", "loc", "msg", "input", "ctx"]
    assert (entry["type"], entry["loc"], entry["ctx"]) == ("value_error", ["body"], {"error": {}})
    assert entry["msg"] == "Value error, At least one of context_payload or constraints must be provided"


def test_a_stale_version_is_a_conflict_that_names_the_current_one(board: Board) -> None:
    job_id = board.job()
    board.dev.patch(f"/jobs/{job_id}", {"constraints": ["a"], "expected_version": 1})
    refused = board.dev.patch(f"/jobs/{job_id}", {"constraints": ["b"], "expected_version": 1})
    assert refused.status_code == 409
    [entry] = refused.json()["detail"]
    assert list(entry) == ["loc", "msg", "type", "input", "ctx"]
    assert (entry["type"], entry["loc"], entry["input"]) == (
        "handoff_job_update.invalid",
        ["path", "job_id"],
        job_id,
    )
    assert (entry["ctx"]["code"], entry["ctx"]["version"]) == ("version_mismatch", 2)


def test_the_trail_tells_what_happened_oldest_first(board: Board) -> None:
    job_id = board.moved(board.claimed(), "completed", result_summary="done")
    answer = board.guest.get(f"/jobs/{job_id}/events")
    events = answer.json()
    keys = ["id", "stream", "sequence", "event_type", "job_id", "actor", "previous_status", "current_status"]
    assert [list(event) for event in events] == [[*keys, "payload_json", "created_at"]] * 3
    kinds = ["task_published", "task_claimed", "task_completed"]
    assert [event["event_type"] for event in events] == kinds
    assert [event["sequence"] for event in events] == [1, 2, 3]
    assert events[0]["actor"] == {"kind": "agent", "name": "dev-agent", "via": None}
    assert events[1]["previous_status"] == "published"
    assert {event["stream"] for event in events} == {f"job:{job_id}"}
    assert all(MOMENT.fullmatch(event["created_at"]) for event in events)
    assert all(MOMENT.fullmatch(event["payload_json"]["timestamp"]) for event in events[1:])


def test_the_artifacts_are_listed_in_the_order_of_attachment(board: Board) -> None:
    artifacts = [
        {"type": "file", "uri": f"file:///{number}", "checksum": None, "metadata_json": {"n": number}}
        for number in range(3)
    ]
    job_id = board.job(artifacts=artifacts)
    answer = board.guest.get(f"/jobs/{job_id}/artifacts")
    assert (answer.status_code, answer.json()) == (200, artifacts)
    assert board.guest.get(f"/jobs/{board.job()}/artifacts").content == b"[]"


def test_a_trail_is_paged_by_sequence(board: Board) -> None:
    job_id = board.claimed()
    for percent in range(1, 5):
        board.qa.post(f"/jobs/{job_id}/heartbeat", {"progress_percent": percent})
    first = board.dev.get(f"/jobs/{job_id}/events?limit=4")
    assert [event["sequence"] for event in first.json()] == [1, 2, 3, 4]
    assert first.headers["Link"].endswith('after=4>; rel="next"')
    rest = board.dev.get(f"/jobs/{job_id}/events?after=4")
    assert [event["sequence"] for event in rest.json()] == [5, 6]
    assert "Link" not in rest.headers
