"""The wire of work in hand: the status route, heartbeats, giving back, holding, and their conflicts."""

import re
from typing import Any

import pytest

from jobs.models import Job
from testing.wire import Board, Caller, agent

pytestmark = pytest.mark.django_db

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
def board() -> Board:
    return Board()


def test_each_status_maps_to_its_verb(board: Board) -> None:
    job_id = board.claimed()
    steps: list[tuple[Caller, dict[str, Any], str]] = [
        (board.qa, {"status": "blocked", "blocked_reason": "which colour?"}, "in_progress"),
        (board.dev, {"status": "unblocked", "unblock_reason": "blue"}, "blocked"),
        (board.qa, {"status": "in_progress"}, "unblocked"),
        (board.qa, {"status": "blocked"}, "in_progress"),
        (board.qa, {"status": "in_progress"}, "blocked"),
        (board.qa, {"status": "failed", "failure_reason": None}, "in_progress"),
        (board.qa, {"status": "in_progress"}, "failed"),
        (board.qa, {"status": "published", "reason": "lunch"}, "in_progress"),
    ]
    for caller, body, previous in steps:
        answer = caller.post(f"/jobs/{job_id}/status", body)
        assert answer.status_code == 200, body
        expected = f'{{"job_id":{job_id},"previous_status":"{previous}","new_status":"{body["status"]}"}}'
        assert answer.content.decode() == expected
    board.qa.post(f"/jobs/{job_id}/claim")
    board.moved(job_id, "failed", failure_reason="broken")
    assert board.dev.post(f"/jobs/{job_id}/status", {"status": "published"}).status_code == 200  # requeue
    board.qa.post(f"/jobs/{job_id}/claim")
    board.moved(job_id, "completed", result_summary="all well", result={"commits": ["4f1c"]})
    job = board.dev.get(f"/jobs/{job_id}").json()
    assert (job["status"], job["result_summary"]) == ("completed", "all well")
    assert job["result"] == {"commits": ["4f1c"]}
    assert MOMENT.fullmatch(job["completed_at"])
    assert job["retry_count"] == 1
    cancelled = board.moved(board.job(), "cancelled", board.dev, reason="not needed")
    assert board.dev.get(f"/jobs/{cancelled}").json()["cancel_reason"] == "not needed"


def test_reasons_are_read_back_while_they_hold_and_cleared_after(board: Board) -> None:
    job_id = board.moved(board.claimed(), "blocked", blocked_reason="which colour?")
    job = board.dev.get(f"/jobs/{job_id}").json()
    assert (job["blocked_reason"], job["lease"]) == ("which colour?", None)
    assert MOMENT.fullmatch(job["blocked_at"])
    board.moved(job_id, "unblocked", board.dev, unblock_reason="blue")
    job = board.dev.get(f"/jobs/{job_id}").json()
    assert (job["blocked_reason"], job["blocked_at"], job["unblock_reason"]) == (None, None, "blue")
    assert job["lease"]["generation"] == 1
    board.moved(job_id, "in_progress")
    board.moved(job_id, "failed", failure_reason="no blue left")
    job = board.dev.get(f"/jobs/{job_id}").json()
    assert (job["unblock_reason"], job["failure_reason"]) == (None, "no blue left")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, b'"result":null'),
        ([], b'"result":[]'),
        ("", b'"result":""'),
        (False, b'"result":false'),
        (0, b'"result":0'),
        ([1, {"a": None}], b'"result":[1,{"a":null}]'),
    ],
)
def test_any_json_is_a_result(board: Board, result: object, text: bytes) -> None:
    job_id = board.moved(board.claimed(), "completed", result=result)
    assert text in board.dev.get(f"/jobs/{job_id}").content


STATUSES = (
    "'pending', 'published', 'in_progress', 'blocked', 'unblocked', 'completed', 'failed' or 'cancelled'"
)


@pytest.mark.parametrize(
    ("body", "entry"),
    [
        (b"", {"type": "missing", "loc": ["body"], "msg": "Field required", "input": None}),
        ({}, {"type": "missing", "loc": ["body", "status"]}),
        ({"status": "done"}, {"type": "enum", "msg": f"Input should be {STATUSES}", "input": "done"}),
        ({"status": None}, {"type": "enum", "loc": ["body", "status"]}),
        ({"status": "COMPLETED"}, {"type": "enum"}),
        ({"status": "failed", "failure_reason": "x" * 20_001}, {"type": "string_too_long"}),
        ({"status": "completed", "result_summary": 5}, {"type": "string_type"}),
        ({"status": "completed", "lease_generation": -1}, {"type": "greater_than_equal", "ctx": {"ge": 0}}),
        ({"status": "completed", "lease_generation": "x"}, {"type": "int_parsing"}),
        ({"status": "unblocked"}, {"type": "value_error", "loc": ["body"]}),
        ({"status": "unblocked", "unblock_reason": " "}, {"type": "value_error"}),
    ],
)
def test_a_wrong_change_of_status_is_refused_naming_place_and_bound(board: Board, body, entry) -> None:
    job_id = board.claimed()
    refused = board.qa.post(f"/jobs/{job_id}/status", body)
    assert refused.status_code == 422
    [found] = refused.json()["detail"]
    assert found | entry == found
    assert Job.objects.get().status == "in_progress"


def test_a_result_above_its_bound_is_refused_with_both_sizes(board: Board) -> None:
    most = 1024 * 1024
    job_id = board.claimed()
    for size, status in ((most + 1, 422), (most, 200)):
        answer = board.qa.post(f"/jobs/{job_id}/status", {"status": "completed", "result": "x" * (size - 2)})
        assert answer.status_code == status
        if status == 422:
            [entry] = answer.json()["detail"]
            assert (entry["type"], entry["loc"]) == ("json_too_large", ["body", "result"])
            assert entry["ctx"] == {"max_bytes": most, "actual_bytes": most + 1}


def test_a_forbidden_transition_is_a_conflict_at_the_status(board: Board) -> None:
    job_id = board.moved(board.claimed(), "completed")
    for status, input_ in (("failed", "failed"), ("in_progress", "in_progress"), ("pending", "pending")):
        refused = board.qa.post(f"/jobs/{job_id}/status", {"status": status})
        assert refused.status_code == 409
        [entry] = refused.json()["detail"]
        assert list(entry) == ["loc", "msg", "type", "input", "ctx"]
        assert (entry["loc"], entry["input"]) == (["body", "status"], input_)
        assert entry["type"] == "handoff_job_status.invalid"
        assert entry["msg"].startswith("Handoff job status transition is invalid: ")
        assert entry["msg"].endswith("completed is final.")
        ctx = entry["ctx"]
        assert (ctx["code"], ctx["current_status"], ctx["allowed"]) == ("wrong_status", "completed", [])


def test_a_conflict_says_what_is_possible_now_and_by_whom(board: Board) -> None:
    job_id = board.claimed()
    [entry] = board.qa.post(f"/jobs/{job_id}/status", {"status": "unblocked", "unblock_reason": "x"}).json()[
        "detail"
    ]
    assert "complete by the holder" in entry["msg"]
    allowed = {option["verb"]: option for option in entry["ctx"]["allowed"]}
    assert allowed["complete"] == {"verb": "complete", "to": "completed", "by": ["the holder"]}
    assert allowed["heartbeat"]["to"] is None
    assert "expire" not in allowed


def test_who_does_not_hold_a_job_is_told_who_does(board: Board) -> None:
    rival = agent("Rival", "qa")
    job_id = board.claimed()
    for path, body in (("status", {"status": "completed"}), ("heartbeat", {}), ("release", {})):
        refused = rival.post(f"/jobs/{job_id}/{path}", body)
        assert refused.status_code == 409
        [entry] = refused.json()["detail"]
        assert (entry["ctx"]["code"], entry["ctx"]["holder"]) == ("not_holder", "qa-agent")
        assert "held by qa-agent, not by you" in entry["msg"]


def test_an_old_generation_changes_nothing_and_is_told_so(board: Board) -> None:
    job_id = board.claimed()
    board.qa.post(f"/jobs/{job_id}/release")
    for path, body in (
        ("status", {"status": "completed", "lease_generation": 1}),
        ("heartbeat", {"lease_generation": 1}),
        ("release", {"lease_generation": 1}),
    ):
        [entry] = board.qa.post(f"/jobs/{job_id}/{path}", body).json()["detail"]
        assert (entry["ctx"]["code"], entry["ctx"]["holder"]) == ("lease_lost", None)
        assert "claim it by id again" in entry["msg"]
    board.qa.post(f"/jobs/{job_id}/claim")
    [entry] = board.qa.post(f"/jobs/{job_id}/heartbeat", {"lease_generation": 1}).json()["detail"]
    assert (entry["ctx"]["code"], entry["ctx"]["lease_generation"]) == ("lease_lost", 3)


def test_another_session_of_the_same_token_is_not_the_holder(board: Board) -> None:
    job_id = board.job()
    board.qa.post(f"/jobs/{job_id}/claim", X_ForkFlux_Session="one")
    refused = board.qa.post(f"/jobs/{job_id}/status", {"status": "completed"}, X_ForkFlux_Session="two")
    assert (refused.status_code, refused.json()["detail"][0]["ctx"]["code"]) == (409, "lease_lost")
    assert board.qa.post(f"/jobs/{job_id}/heartbeat", X_ForkFlux_Session="one").status_code == 200


def test_a_cancelled_job_tells_its_holder_who_when_and_why(board: Board) -> None:
    job_id = board.claimed()
    board.moved(job_id, "cancelled", board.dev, reason="plans changed")
    [entry] = board.qa.post(f"/jobs/{job_id}/heartbeat").json()["detail"]
    assert (entry["ctx"]["code"], entry["ctx"]["cancelled_by"]) == ("cancelled", "dev-agent")
    assert MOMENT.fullmatch(entry["ctx"]["cancelled_at"])
    assert "plans changed" in entry["msg"]
    assert "Stop working" in entry["msg"]


def test_a_used_up_retry_budget_says_so(board: Board) -> None:
    job_id = board.claimed(max_retries=0)
    board.moved(job_id, "failed")
    [entry] = board.qa.post(f"/jobs/{job_id}/status", {"status": "in_progress"}).json()["detail"]
    assert (entry["ctx"]["code"], entry["ctx"]["max_retries"]) == ("retry_budget_used", 0)
    assert "requeue" in entry["msg"]


def test_a_heartbeat_answers_the_lease_and_keeps_the_progress(board: Board) -> None:
    job_id = board.claimed()
    answer = board.qa.post(f"/jobs/{job_id}/heartbeat", {"progress_percent": 40, "note": "half", "mood": 1})
    assert answer.status_code == 200
    assert list(answer.json()) == ["lease", "ignored_fields"]
    assert list(answer.json()["lease"]) == ["generation", "expires_at", "heartbeat_seconds"]
    progress = board.dev.get(f"/jobs/{job_id}").json()["progress"]
    assert list(progress) == ["percent", "note", "at"]
    assert (progress["percent"], progress["note"]) == (40, "half")
    board.moved(job_id, "blocked")
    assert board.qa.post(f"/jobs/{job_id}/heartbeat").json() == {"lease": None}


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        ({"progress_percent": 101}, "less_than_equal"),
        ({"progress_percent": -1}, "greater_than_equal"),
        ({"progress_percent": 1.5}, "int_from_float"),
        ({"note": "x" * 2001}, "string_too_long"),
        ({"lease_generation": 1.5}, "int_from_float"),
        ([], "model_attributes_type"),
    ],
)
def test_a_wrong_heartbeat_is_refused(board: Board, body, type_: str) -> None:
    refused = board.qa.post(f"/jobs/{board.claimed()}/heartbeat", body)
    assert (refused.status_code, [entry["type"] for entry in refused.json()["detail"]]) == (422, [type_])


def test_release_requeue_hold_and_unhold_answer_as_the_status_route(board: Board) -> None:
    def answered(caller, job_id: int, verb: str, previous: str, new: str) -> None:
        answer = caller.post(f"/jobs/{job_id}/{verb}", {"reason": "because"})
        expected = f'{{"job_id":{job_id},"previous_status":"{previous}","new_status":"{new}"}}'
        assert (answer.status_code, answer.content.decode()) == (200, expected)

    job_id = board.claimed()
    answered(board.qa, job_id, "release", "in_progress", "published")
    answered(board.dev, job_id, "hold", "published", "published")
    assert board.dev.get(f"/jobs/{job_id}").json()["on_hold"] is True
    answered(board.dev, job_id, "hold", "published", "published")
    answered(board.dev, job_id, "unhold", "published", "published")
    board.qa.post(f"/jobs/{job_id}/claim")
    board.moved(job_id, "failed")
    answered(board.dev, job_id, "requeue", "failed", "published")


@pytest.mark.parametrize("verb", ["hold", "unhold", "requeue"])
def test_a_stranger_is_403_with_who_may(board: Board, verb: str) -> None:
    job_id = board.job()
    refused = board.guest.post(f"/jobs/{job_id}/{verb}")
    assert refused.status_code == 403
    body = refused.json()
    assert list(body)[:2] == ["detail", "code"]
    assert body["code"] == "not_source"
    assert body["detail"].startswith("Only the source agent")
    assert f"job {job_id}" in body["detail"]


def test_a_stranger_may_neither_update_nor_cancel(board: Board) -> None:
    job_id = board.job()
    assert board.guest.patch(f"/jobs/{job_id}", {"constraints": []}).json()["code"] == "not_source"
    cancel = board.guest.post(f"/jobs/{job_id}/status", {"status": "cancelled"})
    assert (cancel.status_code, cancel.json()["code"]) == (403, "not_source")


def test_the_holder_may_change_the_context_and_never_the_constraints(board: Board) -> None:
    job_id = board.claimed()
    assert board.qa.patch(f"/jobs/{job_id}", {"context_payload": {"x": 1}}).status_code == 200
    refused = board.qa.patch(f"/jobs/{job_id}", {"constraints": ["easier"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "constraints_fixed")


def test_fields_that_say_nothing_about_the_wanted_status_are_named(board: Board) -> None:
    job_id = board.claimed()
    answer = board.qa.post(
        f"/jobs/{job_id}/status",
        {"status": "blocked", "blocked_reason": "b", "result": 1, "failure_reason": "f", "x": 1},
    )
    assert sorted(answer.json()["ignored_fields"]) == ["failure_reason", "result", "x"]
    held = board.dev.post(f"/jobs/{board.job()}/hold", {"lease_generation": 1, "y": 1})
    assert held.json()["ignored_fields"] == ["lease_generation", "y"]
