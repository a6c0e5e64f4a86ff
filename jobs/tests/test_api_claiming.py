"""The wire of claims: by id and the next one, what they answer, and why there is nothing."""

import re

import pytest

from jobs.models import Job
from roles.models import Role
from testing.wire import JOB_KEYS, Board, agent, role

pytestmark = pytest.mark.django_db

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
NOTHING = "No published jobs available for the given target role."


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.mark.parametrize("next_one", [False, True])
def test_a_claim_answers_the_whole_job_its_lease_and_earlier_attempts(board: Board, next_one: bool) -> None:
    job_id = board.job()
    if next_one:
        answer = board.qa.post("/jobs/claim-next", {"target_role_key": "qa"})
    else:
        answer = board.qa.post(f"/jobs/{job_id}/claim")
    job = answer.json()
    assert answer.status_code == 201
    assert list(job)[: len(JOB_KEYS)] == JOB_KEYS
    assert list(job)[-2:] == ["lease", "previous_attempts"]
    assert (job["id"], job["status"], job["assignee_agent_label"]) == (job_id, "in_progress", "QA agent")
    assert list(job["lease"]) == ["generation", "expires_at", "heartbeat_seconds"]
    assert (job["lease"]["generation"], job["lease"]["heartbeat_seconds"]) == (1, 600.0)
    assert MOMENT.fullmatch(job["lease"]["expires_at"])
    assert MOMENT.fullmatch(job["started_at"])
    assert job["previous_attempts"] == []
    assert board.qa.get(f"/jobs/{job_id}").json() | {"previous_attempts": []} == job


@pytest.mark.parametrize("body", [None, b"", b" \n", b"{}", b'{"lease_seconds":null}'])
def test_a_claim_by_id_needs_no_body(board: Board, body: bytes | None) -> None:
    assert board.qa.post(f"/jobs/{board.job()}/claim", body).status_code == 201


def test_the_length_of_the_lease_is_the_callers_within_bounds(board: Board) -> None:
    for seconds, expected in ((30, 10.0), ("90", 30.0), (86_400, 28_800.0)):
        job = board.qa.post(f"/jobs/{board.job()}/claim", {"lease_seconds": seconds}).json()
        assert job["lease"]["heartbeat_seconds"] == expected
    job_id = board.job()
    for wrong, type_ in ((29, "greater_than_equal"), (86_401, "less_than_equal"), (31.5, "int_from_float")):
        refused = board.qa.post(f"/jobs/{job_id}/claim", {"lease_seconds": wrong})
        [entry] = refused.json()["detail"]
        assert (refused.status_code, entry["type"]) == (422, type_)
        assert entry["loc"] == ["body", "lease_seconds"]


def test_the_next_job_is_the_most_urgent_then_the_oldest(board: Board) -> None:
    low, first, second, urgent = (board.job(priority=priority) for priority in (10, 20, 20, 40))
    taken = [board.qa.post("/jobs/claim-next", {"target_role_key": "qa"}).json()["id"] for _ in range(4)]
    assert taken == [urgent, first, second, low]


def test_several_roles_are_one_queue_and_labels_narrow_it(board: Board) -> None:
    role("ops")
    worker = agent("Worker", "qa", "ops")
    plain, labelled, other = (
        board.job(labels=["a"]),
        board.job(labels=["a", "b"]),
        board.job(target_role_key="ops", priority=30),
    )
    both = {"target_role_keys": ["qa", "ops"]}
    assert worker.post("/jobs/claim-next", both | {"labels": ["a", "b"]}).json()["id"] == labelled
    assert worker.post("/jobs/claim-next", both).json()["id"] == other
    assert worker.post("/jobs/claim-next", {"target_role_key": "ops", **both}).json()["id"] == plain


def test_an_empty_board_is_404_in_the_references_words_with_a_reason(board: Board) -> None:
    answer = board.qa.post("/jobs/claim-next", {"target_role_key": "qa"})
    assert answer.status_code == 404
    assert answer.content.decode() == f'{{"detail":"{NOTHING}","reason":"empty","retry_after_seconds":5}}'


def test_the_reason_tells_what_would_have_to_happen_first(board: Board) -> None:
    def reason(body: dict[str, object] | None = None) -> str:
        answer = board.qa.post("/jobs/claim-next", {"target_role_key": "qa"} | (body or {}))
        assert answer.status_code == 404, answer.content
        assert list(answer.json()) == ["detail", "reason", "retry_after_seconds"]
        found: str = answer.json()["reason"]
        return found

    held = board.job(on_hold=True)
    assert reason() == "on_hold"
    board.job(not_before="2030-01-01T00:00:00Z")
    assert reason() == "not_due"
    board.dev.post(f"/jobs/{held}/unhold")
    assert reason({"labels": ["x"]}) == "empty"
    Role.objects.filter(role_key="qa").update(paused_at="2026-01-01T00:00:00Z", pause_reason="audit")
    assert reason() == "paused"
    Role.objects.filter(role_key="qa").update(paused_at=None, max_held_per_agent=1)
    assert board.qa.post("/jobs/claim-next", {"target_role_key": "qa"}).status_code == 201
    board.job()
    assert reason() == "at_capacity"


@pytest.mark.parametrize(
    ("body", "entry"),
    [
        (b"", {"type": "missing", "loc": ["body"], "msg": "Field required", "input": None}),
        ({}, {"type": "value_error", "loc": ["body"]}),
        ({"target_role_key": None, "target_role_keys": None}, {"type": "value_error"}),
        ({"target_role_key": 5}, {"type": "string_type", "loc": ["body", "target_role_key"]}),
        (
            {"target_role_keys": []},
            {
                "type": "too_short",
                "msg": "List should have at least 1 item after validation, not 0",
                "ctx": {"field_type": "List", "min_length": 1, "actual_length": 0},
            },
        ),
        ({"target_role_keys": ["qa"] * 51}, {"type": "too_long", "loc": ["body", "target_role_keys"]}),
        ({"target_role_key": "qa", "labels": ["x"] * 21}, {"type": "too_long", "loc": ["body", "labels"]}),
        (
            {"target_role_key": "nobody"},
            {
                "loc": ["body", "target_role_key"],
                "msg": "Target role is invalid: Available roles: qa.",
                "type": "target_role.invalid",
                "input": "nobody",
                "ctx": {},
            },
        ),
        ({"target_role_keys": ["qa", "nobody"]}, {"type": "target_role.invalid", "input": "nobody"}),
        ({"target_role_key": ""}, {"type": "target_role.invalid", "input": ""}),
        ({"target_role_key": "x" * 300}, {"type": "target_role.invalid", "input": None}),
    ],
)
def test_a_wrong_claim_next_is_refused_naming_place_and_bound(board: Board, body, entry) -> None:
    board.job()
    refused = board.qa.post("/jobs/claim-next", body)
    assert refused.status_code == 422
    [found] = refused.json()["detail"]
    assert found | entry == found
    assert Job.objects.get().status == "published"


def test_who_holds_none_of_the_roles_is_told_which_it_holds(board: Board) -> None:
    job_id = board.job()
    for caller, held in ((board.dev, "developer"), (board.guest, "none")):
        by_queue = caller.post("/jobs/claim-next", {"target_role_key": "qa"})
        by_id = caller.post(f"/jobs/{job_id}/claim")
        for refused in (by_queue, by_id):
            assert refused.status_code == 403
            body = refused.json()
            assert list(body)[:2] == ["detail", "code"]
            assert (body["code"], body["role"], body["held"]) == ("role_not_held", "qa", held)
            assert f"you hold: {held}" in body["detail"]
        # The queue names no job to who may not have it; the id was the caller's own word.
        assert ("job_id" in by_queue.json(), by_id.json()["job_id"]) == (False, job_id)


def test_one_held_role_among_several_is_enough(board: Board) -> None:
    job_id = board.job()
    answer = board.qa.post("/jobs/claim-next", {"target_role_keys": ["developer", "qa"]})
    assert (answer.status_code, answer.json()["id"]) == (201, job_id)


def test_a_lost_claim_is_a_conflict_with_the_references_five_keys(board: Board) -> None:
    rival = agent("Rival", "qa")
    job_id = board.claimed()
    for caller, yours, owner in ((rival, False, "qa-agent"), (board.qa, True, "you")):
        refused = caller.post(f"/jobs/{job_id}/claim")
        assert refused.status_code == 409
        [entry] = refused.json()["detail"]
        assert list(entry) == ["loc", "msg", "type", "input", "ctx"]
        assert (entry["loc"], entry["input"]) == (["path", "job_id"], job_id)
        assert entry["type"] == "handoff_job_claim.invalid"
        expected = f"Handoff job claim is invalid: Job {job_id} is already held by {owner}."
        assert entry["msg"].startswith(expected)
        ctx = entry["ctx"]
        assert (ctx["code"], ctx["yours"]) == ("already_claimed", yours)
        assert (ctx["current_status"], ctx["holder"], ctx["lease_generation"]) == (
            "in_progress",
            "qa-agent",
            1,
        )
        assert {"verb": "release", "to": "published", "by": ["the holder"]} in ctx["allowed"]


@pytest.mark.parametrize(
    ("columns", "code", "said"),
    [
        ({"on_hold": True}, "on_hold", "unhold"),
        (
            {"not_before": "2030-01-01T00:00:00Z", "is_deferred": True},
            "not_due",
            "2030-01-01T00:00:00.000000Z",
        ),
        ({"expires_at": "2026-01-01T00:00:00Z"}, "expired", "2026-01-01T00:00:00.000000Z"),
        ({"status": "cancelled", "cancelled_at": "2026-01-01T00:00:00Z"}, "wrong_status", "is final"),
    ],
)
def test_a_job_that_is_not_handed_out_says_why_and_what_to_do(
    board: Board, columns, code: str, said: str
) -> None:
    job_id = board.job()
    Job.objects.filter(pk=job_id).update(**columns)
    refused = board.qa.post(f"/jobs/{job_id}/claim")
    assert refused.status_code == 409
    [entry] = refused.json()["detail"]
    assert entry["ctx"]["code"] == code
    assert said in entry["msg"]
    assert entry["ctx"]["job_id"] == job_id


def test_a_paused_role_and_a_full_agent_are_conflicts_by_id(board: Board) -> None:
    job_id = board.job()
    Role.objects.filter(role_key="qa").update(paused_at="2026-01-01T00:00:00Z", pause_reason="audit")
    [entry] = board.qa.post(f"/jobs/{job_id}/claim").json()["detail"]
    assert (entry["ctx"]["code"], "audit" in entry["msg"]) == ("paused", True)
    Role.objects.filter(role_key="qa").update(paused_at=None, max_held_per_agent=1)
    board.qa.post(f"/jobs/{job_id}/claim")
    [entry] = board.qa.post(f"/jobs/{board.job()}/claim").json()["detail"]
    assert entry["ctx"]["code"] == "at_capacity"
    assert "may (1)" in entry["msg"]


def test_earlier_attempts_tell_who_had_it_and_how_that_ended(board: Board) -> None:
    job_id = board.claimed()
    board.qa.post(f"/jobs/{job_id}/heartbeat", {"progress_percent": 40, "note": "half"})
    board.qa.post(f"/jobs/{job_id}/release", {"reason": "no screen"})
    rival = agent("Rival", "qa")
    [attempt] = rival.post(f"/jobs/{job_id}/claim").json()["previous_attempts"]
    keys = ["agent", "lease_generation", "started_at", "ended_at", "outcome", "reason", "last_progress"]
    assert list(attempt) == keys
    assert MOMENT.fullmatch(attempt["started_at"])
    assert MOMENT.fullmatch(attempt["ended_at"])
    told = {key: attempt[key] for key in ("agent", "lease_generation", "outcome", "reason", "last_progress")}
    assert told == {
        "agent": "qa-agent",
        "lease_generation": 1,
        "outcome": "released",
        "reason": "no screen",
        "last_progress": {"percent": 40, "note": "half"},
    }


def test_fields_that_a_claim_does_not_know_are_named(board: Board) -> None:
    by_id = board.qa.post(f"/jobs/{board.job()}/claim", {"x": 1})
    board.job()
    next_one = board.qa.post("/jobs/claim-next", {"target_role_key": "qa", "z": 1, "y": 2})
    assert by_id.json()["ignored_fields"] == ["x"]
    assert next_one.json()["ignored_fields"] == ["y", "z"]
    assert list(by_id.json())[-1] == "ignored_fields"


def test_a_claim_repeated_under_its_key_is_the_same_claim(board: Board) -> None:
    job_id = board.job()
    first = board.qa.post(f"/jobs/{job_id}/claim", Idempotency_Key="k")
    second = board.qa.post(f"/jobs/{job_id}/claim", Idempotency_Key="k")
    assert (second.status_code, second.json()) == (201, first.json())
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
