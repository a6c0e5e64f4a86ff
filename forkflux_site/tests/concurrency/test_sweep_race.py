"""A lease that ends at the instant of its holder's call: the sweep has it or the holder, and all records agree."""

import multiprocessing
import random
import time

import pytest

from forkflux_site.tests.concurrency.backstage import Backstage

pytestmark = [pytest.mark.both_databases, pytest.mark.timeout(600)]

AHEAD_SECONDS = 0.03
STEP_SECONDS = 0.004


def _race(board, rounds: int, call, check) -> None:
    """`call(wire, job_id, generation)` by the holder against sweeps, again and again; `check` names the winner."""
    role = board.role()
    holder = board.hand(role)
    # Walks along the edge: whoever won starts later the next time.
    delay = AHEAD_SECONDS
    winners = set()
    with board.wire(board.hand()) as source, board.wire(holder) as wire:
        for _ in range(rounds):
            job_id = source.published(role)
            generation = wire.claim(job_id).body["lease"]["generation"]
            board.backstage.tell("sweep_from_the_gate", job_id=job_id)
            board.records.end_lease(job_id, in_seconds=AHEAD_SECONDS)
            board.backstage.gate.wait(60)
            _spin(delay + random.uniform(0, STEP_SECONDS))
            answer = call(wire, job_id, generation)
            swept = board.backstage.answer()
            assert not swept["errors"]
            if answer.status == 200:
                assert job_id not in swept["expired"]
                check(board, job_id, generation)
                winners.add("holder")
                delay += STEP_SECONDS
            else:
                assert (answer.status, answer.code) == (409, "lease_lost"), answer
                assert swept["expired"].count(job_id) == 1
                _check_lost(board, job_id, generation)
                winners.add("sweep")
                delay = max(delay - STEP_SECONDS, 0)
    assert winners == {"holder", "sweep"}, "one side never won: this was no race"


def _spin(seconds: float) -> None:
    """Wait more exactly than a sleep does."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def _check_lost(board, job_id: int, generation: int) -> None:
    job = board.records.job(job_id)
    assert (job["status"], job["lease_generation"]) == ("published", generation + 1)
    assert (job["result_summary"], job["progress_percent"], job["lease_expiry_count"]) == (None, None, 1)
    assert job["assignee_agent_id"] is None
    assert board.records.story(job_id) == ["task_published", "task_claimed", "task_lease_expired"]


def test_of_sweep_and_completion_exactly_one_wins_and_answer_state_and_events_agree(board, rounds):
    def complete(wire, job_id, generation):
        return wire.move(job_id, "completed", result_summary="Counted", lease_generation=generation)

    def check(board, job_id, generation):
        job = board.records.job(job_id)
        assert (job["status"], job["lease_generation"]) == ("completed", generation)
        assert (job["result_summary"], job["lease_expiry_count"]) == ("Counted", 0)
        assert board.records.story(job_id) == ["task_published", "task_claimed", "task_completed"]

    _race(board, rounds(16, 200), complete, check)


def test_of_sweep_and_heartbeat_exactly_one_wins_and_answer_state_and_events_agree(board, rounds):
    def beat(wire, job_id, generation):
        return wire.heartbeat(job_id, progress_percent=50, lease_generation=generation)

    def check(board, job_id, generation):
        job = board.records.job(job_id)
        assert (job["status"], job["lease_generation"]) == ("in_progress", generation)
        assert (job["progress_percent"], job["lease_expiry_count"]) == (50, 0)
        assert (job["lease_expires_at"] - job["lease_heartbeat_at"]).total_seconds() == job["lease_seconds"]
        assert board.records.story(job_id) == ["task_published", "task_claimed", "task_progress"]

    _race(board, rounds(8, 100), beat, check)


def test_sweeps_of_two_processes_at_once_take_each_job_back_once(board, rounds):
    gate = multiprocessing.get_context("spawn").Barrier(3)
    environment = board.server.environment
    first, second = Backstage(environment, gate=gate), Backstage(environment, gate=gate)
    try:
        role = board.role()
        for _ in range(rounds(2, 20)):
            with board.wire(board.hand(role)) as wire:
                ids = [wire.published(role) for _ in range(30)]
                for job_id in ids:
                    assert wire.claim(job_id).status == 201
            for job_id in ids:
                board.records.end_lease(job_id, in_seconds=-1)
            for sweeper in (first, second):
                sweeper.tell("sweep_from_the_gate", job_id=ids[-1])
            gate.wait(60)
            reports = [sweeper.answer() for sweeper in (first, second)]
            assert [report["errors"] for report in reports] == [[], []]
            # What the one passed over because the other had it locked is not left behind by both.
            # Jobs of the tests before this one may come due meanwhile, too.
            taken_back = sorted(reports[0]["expired"] + reports[1]["expired"])
            assert [job_id for job_id in taken_back if job_id in ids] == ids
            for job_id in ids:
                assert board.records.story(job_id) == ["task_published", "task_claimed", "task_lease_expired"]
                assert board.records.job(job_id)["lease_expiry_count"] == 1
    finally:
        first.close()
        second.close()
