"""The server is killed with all its workers while everybody works: what it promised is kept, and nothing is stuck."""

import pytest

from forkflux_site.tests.concurrency.load import LEASE_SECONDS, Promises, work
from forkflux_site.tests.concurrency.records import check_chains, check_claims, eventually

pytestmark = [pytest.mark.both_databases, pytest.mark.timeout(600)]

CLIENTS = 12
ANSWERS_BETWEEN_KILLS = 60
SWEEP_SECONDS = 0.5


def _kill_under_load(board, crew, role: str, *, times: int) -> list[Promises]:
    hands = [(hand.name, hand.token) for hand in board.hands(CLIENTS, role)]
    running = crew.start(work, [(board.url, role, hands[start :: crew.size]) for start in range(crew.size)])
    counter = crew.race.counter

    def await_answers() -> None:
        wanted = counter.value + ANSWERS_BETWEEN_KILLS
        eventually(
            lambda: counter.value >= wanted or any(process.done() for process in running),
            seconds=60,
            what=f"{ANSWERS_BETWEEN_KILLS} answered calls",
        )

    for _ in range(times):
        await_answers()
        board.server.kill()
        board.server.start()
    await_answers()
    crew.race.flag.set()
    return [promises for share in crew.finish(running) for promises in share]


def test_after_every_kill_of_the_server_what_was_acknowledged_is_there_and_nothing_is_stuck(
    own_board, crew, rounds
):
    board = own_board(FORKFLUX_SWEEP_SECONDS=str(SWEEP_SECONDS))
    role = board.role()
    times = rounds(2, 10)
    promises = _kill_under_load(board, crew, role, times=times)
    assert sum(one.losses for one in promises) >= times, "the server was never killed in the middle of work"

    # The holders are gone: each job that one still holds comes back.
    eventually(
        lambda: set(board.records.states(role).values()) <= {"published", "completed"},
        seconds=LEASE_SECONDS + SWEEP_SECONDS + 10,
        what="no job held any more",
    )
    published = {job_id: summary for one in promises for job_id, summary in one.published.items()}
    summaries = {row["id"]: row["summary"] for row in board.records.rows("SELECT id, summary FROM jobs_job")}
    # Neither less nor more: a publication that was repeated after a kill, under its key, is there once.
    assert summaries == published
    completed = {job_id: result for one in promises for job_id, result in one.completed.items()}
    unsure = {job_id: result for one in promises for job_id, result in one.unsure.items()}
    results = {
        row["id"]: row["result_summary"]
        for row in board.records.rows("SELECT id, result_summary FROM jobs_job WHERE status = 'completed'")
    }
    assert completed.items() <= results.items()
    assert (results.items() - completed.items()) <= unsure.items()
    for trail in board.records.stories(role).values():
        check_claims(trail)
        kinds = [event["event_type"] for event in trail]
        assert kinds.count("task_published") == 1
        assert kinds.count("task_completed") == (trail[0]["job_id"] in results)

    assert check_chains(board.records) > len(published)
    board.server.installation.run("audit", "verify")
    if not board.is_postgresql:
        assert board.records.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
        assert board.records.rows("PRAGMA foreign_key_check") == []
