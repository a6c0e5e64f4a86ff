"""Claim-next says that there is nothing only when that is so, whatever others do with the rows meanwhile."""

import concurrent.futures
import functools
import random
import threading

import pytest

from forkflux_site.tests.concurrency.claimers import (
    ClaimNext,
    Part,
    PublishChildren,
    TakeAndReturnAlways,
    play,
)
from forkflux_site.tests.concurrency.records import check_claims, eventually

pytestmark = [pytest.mark.both_databases, pytest.mark.timeout(600)]

on_postgresql = pytest.mark.parametrize("kind", ["postgresql"], indirect=True, scope="session")
"""SQLite locks no rows: what these tests prove has no counterpart there."""

CLAIMERS = 24


def _published(board, *roles: str, number: int = 1) -> list[int]:
    with board.wire(board.hand()) as wire:
        return [wire.published(role) for role in roles for _ in range(number)]


@on_postgresql
@pytest.mark.parametrize("number", [1, 2], ids=["one-role", "two-roles"])
def test_a_job_that_an_open_insert_refers_to_is_handed_out_at_once(board, number):
    roles = [board.role() for _ in range(number)]
    ids = _published(board, *roles, number=5)
    with board.records.referencing(ids), board.wire(board.hand(*roles)) as wire:
        answers = [wire.claim_next(*roles) for _ in ids]
    assert sorted(answer.body.get("id", answer) for answer in answers) == ids


@on_postgresql
def test_a_job_that_an_open_insert_refers_to_can_be_claimed_by_its_id(board):
    role = board.role()
    [job_id] = _published(board, role)
    with board.records.referencing([job_id]), board.wire(board.hand(role)) as wire:
        assert wire.claim(job_id).status == 201


@on_postgresql
@pytest.mark.parametrize("number", [1, 2], ids=["one-role", "two-roles"])
def test_claimers_wait_for_jobs_that_others_hold_locked_and_get_them_when_nothing_comes_of_it(
    board, crew, number
):
    roles = [board.role() for _ in range(number)]
    ids = _published(board, *roles, number=8 // number)
    hands = board.hands(len(ids), *roles)
    claim_one = TakeAndReturnAlways(tuple(roles), times=1)
    shares = [
        (board.url, [(hand.token, claim_one) for hand in hands[start :: crew.size]])
        for start in range(crew.size)
    ]
    with board.records.locking(ids):
        running = crew.start(play, shares)
        board.records.await_waiters(len(ids))
        assert not any(process.done() for process in running)
    hauls = [haul for share in crew.finish(running) for haul in share]
    assert [len(haul.claimed) for haul in hauls] == [1] * len(ids)


@on_postgresql
def test_claimers_that_waited_for_a_job_which_is_then_held_back_learn_why_there_is_none(board, crew):
    role = board.role()
    [job_id] = _published(board, role)
    hands = board.hands(crew.size, role)
    with board.records.transaction(end="COMMIT") as run:
        run("UPDATE jobs_job SET on_hold = true WHERE id = %s", job_id)
        running = crew.start(play, [(board.url, [(hand.token, ClaimNext((role,)))]) for hand in hands])
        board.records.await_waiters(len(hands))
        assert not any(process.done() for process in running)
    hauls = [haul for share in crew.finish(running) for haul in share]
    assert [haul.refusals for haul in hauls] == [["on_hold"]] * len(hands)


@on_postgresql
def test_a_claimer_that_waits_for_one_job_keeps_nobody_from_working_on_another(board, crew):
    role = board.role()
    first, second = _published(board, role, number=2)
    with board.records.transaction() as touch_second:
        [(process,)] = touch_second("SELECT pg_backend_pid()").fetchall()
        touch_second("SELECT id FROM jobs_job WHERE id = %s FOR NO KEY UPDATE", second)
        with board.records.transaction(end="COMMIT") as hold_back_first:
            hold_back_first("UPDATE jobs_job SET on_hold = true WHERE id = %s", first)
            claim_one = TakeAndReturnAlways((role,), times=1)
            running = crew.start(play, [(board.url, [(board.hand(role).token, claim_one)])])
            board.records.await_waiters(1)
        # It waited for the first job in vain, and now it waits for the second one.
        board.records.await_blocked_by(process)
        free = board.records.rows("SELECT id FROM jobs_job WHERE id = %s FOR UPDATE SKIP LOCKED", first)
        assert free == [{"id": first}]
        assert not running[0].done()
    [[haul]] = crew.finish(running)
    assert haul.claimed == [second]


@pytest.mark.parametrize("number", [1, 3], ids=["one-role", "three-roles"])
def test_of_one_job_more_than_claimers_there_is_always_one_left(board, crew, rounds, number):
    """Children are published and rows locked and referred to all the time; every claim must find a job."""
    roles = tuple(board.role() for _ in range(number))
    ids = _published(board, *roles, number=(CLAIMERS + number) // number)
    assert len(ids) > CLAIMERS
    hands = board.hands(CLAIMERS, *roles)
    elsewhere = board.role()
    times = rounds(5, 100)
    parts: list[Part] = [(hand.token, TakeAndReturnAlways(roles, times)) for hand in hands]
    parts.append((hands[0].token, PublishChildren(elsewhere, tuple(ids))))
    shares = [(board.url, parts[start :: crew.size]) for start in range(crew.size)]
    running = crew.start(play, shares)
    touched = _touch_rows(board, crew, running, ids, until_claims=CLAIMERS * times)
    hauls = [haul for share in crew.finish(running) for haul in share]
    assert touched > 5
    claims = sum(len(haul.claimed) for haul in hauls)
    assert claims == CLAIMERS * times
    trails = [trail for role in roles for trail in board.records.stories(role).values()]
    assert sum(check_claims(trail) for trail in trails) == claims


def _touch_rows(board, crew, running, ids: list[int], *, until_claims: int) -> int:
    """Take and let go of locks until there were so many claims; answers in how many transactions."""
    claims = crew.race.counter

    def finished() -> bool:
        return claims.value >= until_claims or any(process.done() for process in running)

    def claimed_since(before: int) -> bool:
        return claims.value > before or finished()

    def touch() -> int:
        touched = 0
        while not finished():
            some = sorted(random.sample(ids, len(ids) // 2))
            hold = random.choice([board.records.referencing, board.records.locking])
            before = claims.value
            with hold(some):
                # The moment that somebody else's transaction stays open.
                threading.Event().wait(random.uniform(0, 0.01))
            touched += 1
            # SQLite has one writer and no queue for it: without this pause all turns would be ours.
            eventually(functools.partial(claimed_since, before), seconds=60, what="a claim")
        return touched

    lockers = 3 if board.is_postgresql else 1
    with concurrent.futures.ThreadPoolExecutor(lockers) as threads:
        touching = [threads.submit(touch) for _ in range(lockers)]
    crew.race.flag.set()
    return sum(one.result() for one in touching)
