"""More clients than the server has room for, and slow ones: each gets an answer, no connection is reset."""

import pytest

from forkflux_site.tests.concurrency.records import eventually
from forkflux_site.tests.concurrency.slow_clients import publish_slowly

pytestmark = [pytest.mark.both_databases, pytest.mark.timeout(300)]

CLIENTS = 120
THREADS = 2
QUEUE = 8


def _writes_held_up(board):
    """No job can be written while the block lasts."""
    if board.is_postgresql:
        return board.records.table_locked("jobs_job")
    return board.records.transaction()


def test_a_hundred_and_twenty_slow_clients_get_an_answer_each_and_reset_none(own_board, crew):
    board = own_board(
        "--workers",
        "1",
        FORKFLUX_THREADS=str(THREADS),
        FORKFLUX_QUEUE_MAX=str(QUEUE),
        FORKFLUX_BODY_GRACE_SECONDS="60",
        FORKFLUX_LOCK_TIMEOUT_SECONDS="60",
    )
    role = board.role()
    hands = board.hands(CLIENTS)
    shares = [
        (board.url, role, [hand.token for hand in hands[start :: crew.size]]) for start in range(crew.size)
    ]
    running = crew.start(publish_slowly, shares)
    answered = crew.race.counter

    def await_count(number: int, what: str) -> None:
        eventually(
            lambda: answered.value >= number or any(process.done() for process in running),
            seconds=60,
            what=what,
        )

    await_count(CLIENTS, "every client in the middle of its body")
    with board.wire(board.hand()) as wire:
        # None of them has cost a thread so far.
        wire.published(board.role())
        with _writes_held_up(board):
            crew.race.flag.set()
            await_count(2 * CLIENTS - THREADS - QUEUE, "a refusal for all for whom there is no room")
            assert wire.call("GET", "/agents/me").status == 503
        tries = [one for share in crew.finish(running) for one in share]
        assert wire.call("GET", "/agents/me").status == 200
    refused = [answer for one in tries for answer in one[:-1]]
    assert len([one for one in tries if len(one) > 1]) >= CLIENTS - THREADS - QUEUE
    assert all(answer.status == 503 and int(answer.headers["retry-after"]) >= 1 for answer in refused), (
        refused
    )
    # Every client repeated its call on the same connection until there was room; none was served twice.
    published = [one[-1].body["job_id"] for one in tries]
    assert sorted(published) == sorted(board.records.states(role))
    assert len(published) == CLIENTS
