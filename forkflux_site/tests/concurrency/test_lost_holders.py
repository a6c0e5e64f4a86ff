"""A holder that is gone loses its job in time, and one that comes back late changes nothing."""

import time
from datetime import timedelta
from typing import Any

import pytest

from forkflux_site.tests.concurrency.holder import Holder
from forkflux_site.tests.concurrency.records import eventually, moment
from forkflux_site.tests.concurrency.wire import Wire

pytestmark = pytest.mark.both_databases

LATE_CALLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "complete": ("POST", "status", {"status": "completed", "result_summary": "Done, if late"}),
    "fail": ("POST", "status", {"status": "failed", "failure_reason": "Out of time"}),
    "block": ("POST", "status", {"status": "blocked", "blocked_reason": "Which oak?"}),
    "unblock": ("POST", "status", {"status": "unblocked", "unblock_reason": "The old one"}),
    "resume": ("POST", "status", {"status": "in_progress"}),
    "give back": ("POST", "status", {"status": "published"}),
    "cancel": ("POST", "status", {"status": "cancelled", "reason": "No use"}),
    "heartbeat": ("POST", "heartbeat", {"progress_percent": 99, "note": "Nearly done"}),
    "release": ("POST", "release", {"reason": "Too tall"}),
    "update": ("PATCH", "", {"context_payload": {"leaves": 200_000}}),
}
HOLDERS_ONLY = ("complete", "fail", "block", "heartbeat", "release")


def _claimed(board, wire: Wire, role: str, **fields) -> dict[str, Any]:
    with board.wire(board.hand()) as source:
        source.published(role)
    answer = wire.claim_next(role, **fields)
    assert answer.status == 201, answer
    claimed: dict[str, Any] = answer.body
    return claimed


def _late_call(wire: Wire, verb: str, job_id: int, **fields):
    method, action, body = LATE_CALLS[verb]
    return wire.call(method, f"/jobs/{job_id}/{action}".rstrip("/"), body | fields)


def test_the_job_of_a_killed_holder_is_published_again_in_time_and_finished_by_another(swept_board):
    board = swept_board
    role = board.role()
    lease_seconds = 2
    first, second = board.hands(2, role)
    with board.wire(board.hand()) as source:
        job_id = source.published(role)
    with Holder(board.url, first.token, role, lease_seconds=lease_seconds, session="first-life") as holder:
        assert holder.job["id"] == job_id
        claimed = board.records.job(job_id)
        eventually(
            lambda: board.records.job(job_id)["lease_heartbeat_at"] > claimed["lease_heartbeat_at"],
            seconds=10,
            what="a heartbeat of the living holder",
        )
        holder.kill()
    killed = time.monotonic()
    with board.wire(second) as wire:

        def claim():
            answer = wire.claim_next(role)
            return answer if answer.status == 201 else None

        claim_answer = eventually(claim, seconds=lease_seconds + 10, what="the job on the board again")
        assert time.monotonic() - killed <= lease_seconds + 10
        [attempt] = claim_answer.body["previous_attempts"]
        assert (attempt["agent"], attempt["outcome"]) == (first.name, "lease_expired")
        generation = claim_answer.body["lease"]["generation"]
        done = wire.move(job_id, "completed", result_summary="Counted", lease_generation=generation)
        assert done.status == 200, done
        assert wire.read(job_id).body["result_summary"] == "Counted"
    assert [kind for kind in board.records.story(job_id) if kind != "task_progress"] == [
        "task_published", "task_claimed", "task_lease_expired", "task_claimed", "task_completed",
    ]  # fmt: skip


@pytest.mark.parametrize("verb", LATE_CALLS)
def test_a_holder_that_comes_back_late_hears_that_its_lease_is_lost_and_changes_nothing(board, verb):
    role = board.role()
    late, other = board.hands(2, role)
    with board.wire(late, session="late") as wire, board.wire(other) as others:
        job = _claimed(board, wire, role)
        generation = job["lease"]["generation"]
        board.lose_lease(job["id"])
        before = board.records.dump(job["id"])
        fenced = _late_call(wire, verb, job["id"], lease_generation=generation)
        assert (fenced.status, fenced.code) == (409, "lease_lost"), fenced
        assert (fenced.context["current_status"], fenced.context["holder"]) == ("published", None)
        assert "claim it by id again" in fenced.body["detail"][0]["msg"]
        unfenced = _late_call(wire, verb, job["id"])
        assert (unfenced.status, unfenced.code) == (409, "lease_lost"), unfenced
        assert board.records.dump(job["id"]) == before

        assert others.claim(job["id"]).status == 201
        before = board.records.dump(job["id"])
        fenced = _late_call(wire, verb, job["id"], lease_generation=generation)
        assert (fenced.status, fenced.code) == (409, "lease_lost"), fenced
        assert (fenced.context["current_status"], fenced.context["holder"]) == ("in_progress", other.name)
        if verb in HOLDERS_ONLY:
            unfenced = _late_call(wire, verb, job["id"])
            assert (unfenced.status, unfenced.code) == (409, "not_holder"), unfenced
            assert unfenced.context["holder"] == other.name
        assert board.records.dump(job["id"]) == before


def test_a_holder_that_lost_its_lease_can_claim_the_job_again_by_id_if_nobody_took_it(board):
    role = board.role()
    with board.wire(board.hand(role), session="late") as wire:
        job = _claimed(board, wire, role)
        board.lose_lease(job["id"])
        again = wire.claim(job["id"])
        assert again.status == 201, again
        assert again.body["lease"]["generation"] > job["lease"]["generation"]
        # The claim before is no key to this one.
        stale = _late_call(wire, "complete", job["id"], lease_generation=job["lease"]["generation"])
        assert stale.code == "lease_lost", stale
        generation = again.body["lease"]["generation"]
        assert _late_call(wire, "complete", job["id"], lease_generation=generation).status == 200


def test_a_second_process_with_the_same_token_is_not_the_holder(board):
    role = board.role()
    hand = board.hand(role)
    with board.wire(hand, session="one") as one, board.wire(hand, session="two") as two:
        job = _claimed(board, one, role)
        before = board.records.dump(job["id"])
        for verb in LATE_CALLS:
            answer = _late_call(two, verb, job["id"])
            assert (answer.status, answer.code) == (409, "lease_lost"), (verb, answer)
        again = two.claim(job["id"])
        assert (again.status, again.code, again.context["yours"]) == (409, "already_claimed", True)
        assert board.records.dump(job["id"]) == before
        assert _late_call(one, "complete", job["id"]).status == 200


def test_a_restarted_worker_that_only_polls_does_not_keep_the_job_of_its_dead_predecessor(swept_board):
    board = swept_board
    lives = [(None, None), (None, "second"), ("first", None), ("first", "second"), ("first", "first")]
    pollers: list[tuple[Wire, str]] = []
    claims = {}
    for first_life, second_life in lives:
        role, empty = board.role(), board.role()
        hand = board.hand(role, empty)
        with board.wire(hand, session=first_life) as wire:
            claimed = _claimed(board, wire, role, lease_seconds=2)
            claims[claimed["id"]] = claimed["lease"]["expires_at"]
        pollers.append((board.wire(hand, session=second_life), empty))

    def poll() -> bool:
        for wire, empty in pollers:
            assert wire.claim_next(empty).code == "empty"
            listed = wire.call("GET", "/jobs?status=in_progress")
            assert listed.status == 200, listed
        return all("task_lease_expired" in board.records.story(job_id) for job_id in claims)

    eventually(poll, seconds=12, what="all five jobs on the board again")
    for wire, _ in pollers:
        wire.close()
    for job_id, expires_at in claims.items():
        expiry = next(
            event for event in board.records.trail(job_id) if event["event_type"] == "task_lease_expired"
        )
        assert expiry["payload"]["lease_expired_at"] == expires_at, "polling has extended the lease"


def test_a_lease_is_taken_back_within_the_interval_of_the_sweep(swept_board):
    board = swept_board
    role = board.role()
    with board.wire(board.hand(role)) as wire:
        job = _claimed(board, wire, role, lease_seconds=1)
    eventually(
        lambda: board.records.job(job["id"])["status"] == "published",
        seconds=11,
        what="the job published again",
    )
    expiry = board.records.trail(job["id"])[-1]
    late = board.records.job(job["id"])["updated_at"] - moment(expiry["payload"]["lease_expired_at"])
    assert timedelta(0) <= late < timedelta(seconds=10)
