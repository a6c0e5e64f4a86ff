"""Fifty claimers in four processes, two hundred jobs: each is handed out once, whichever way it is asked for."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import pytest

from forkflux_site.tests.concurrency.claimers import (
    Cancel,
    ClaimEach,
    ClaimNext,
    Haul,
    Part,
    Pick,
    Publish,
    TakeAndReturn,
    play,
)
from forkflux_site.tests.concurrency.records import check_claims, check_nothing_was_left

pytestmark = [pytest.mark.both_databases, pytest.mark.timeout(600)]

CLAIMERS = 50
JOBS = 200


def _race(board, crew, parts: Sequence[Part]) -> list[Haul]:
    """Deal the parts to the processes in turn, run them all at once."""
    shares = [(board.url, parts[number :: crew.size]) for number in range(crew.size)]
    return [haul for hauls in crew.run(play, shares) for haul in hauls]


def _publish(board, crew, role: str, number: int = JOBS) -> list[int]:
    parts: list[Part] = [(hand.token, Publish(role, number // crew.size)) for hand in board.hands(crew.size)]
    return sorted(job_id for haul in _race(board, crew, parts) for job_id in haul.published)


def _check_each_was_handed_out_once(board, role: str, ids: list[int], hauls: list[Haul]) -> None:
    claimed = [job_id for haul in hauls for job_id in haul.claimed]
    assert sorted(claimed) == ids
    trails = board.records.stories(role)
    assert sorted(trails) == ids
    for job_id, trail in trails.items():
        assert [event["event_type"] for event in trail] == ["task_published", "task_claimed"], job_id


def test_fifty_claimers_of_the_next_job_get_two_hundred_different_ones(board, crew, rounds):
    for _ in range(rounds(1, 20)):
        role = board.role()
        ids = _publish(board, crew, role)
        hauls = _race(board, crew, [(hand.token, ClaimNext((role,))) for hand in board.hands(CLAIMERS, role)])
        _check_each_was_handed_out_once(board, role, ids, hauls)
        assert {refusal for haul in hauls for refusal in haul.refusals} == {"empty"}
        check_nothing_was_left(board.records.stories(role), [haul.emptied[-1] for haul in hauls])


def test_fifty_claimers_of_the_next_job_of_several_roles_get_two_hundred_different_ones(board, crew, rounds):
    for _ in range(rounds(1, 20)):
        roles = [board.role() for _ in range(3)]
        published = {
            role: _publish(board, crew, role, number)
            for role, number in zip(roles, (100, 80, 20), strict=True)
        }
        hands = board.hands(CLAIMERS, *roles)
        parts = [(hand.token, ClaimNext(tuple(roles[number % 3 :]))) for number, hand in enumerate(hands)]
        hauls = _race(board, crew, parts)
        claimed = Counter(job_id for haul in hauls for job_id in haul.claimed)
        assert sorted(claimed.elements()) == sorted(chain(*published.values()))
        assert {refusal for haul in hauls for refusal in haul.refusals} == {"empty"}
        for place, (role, ids) in enumerate(published.items()):
            trails = board.records.stories(role)
            assert set(trails) == set(ids)
            assert {check_claims(trail) for trail in trails.values()} == {1}
            asked = {hand.token for number, hand in enumerate(hands) if number % 3 <= place}
            check_nothing_was_left(trails, [haul.emptied[-1] for haul in hauls if haul.token in asked])


def test_of_four_claimers_of_an_id_one_gets_it_and_three_learn_who_was_faster(board, crew, rounds):
    for _ in range(rounds(1, 20)):
        role = board.role()
        ids = _publish(board, crew, role)
        hands = board.hands(CLAIMERS, role)
        # Dealing parts in turn puts the four that try the same ids into different processes.
        fours = CLAIMERS // crew.size
        parts: list[Part] = [
            (hand.token, ClaimEach(tuple(ids[number // crew.size :: fours])))
            for number, hand in enumerate(hands[: fours * crew.size])
        ]
        parts += [(hand.token, ClaimEach(tuple(ids[-10:]))) for hand in hands[fours * crew.size :]]
        hauls = _race(board, crew, parts)
        _check_each_was_handed_out_once(board, role, ids, hauls)
        refusals = Counter(refusal for haul in hauls for refusal in haul.refusals)
        assert refusals == {"already_claimed": JOBS * 3 + 10 * (CLAIMERS - fours * crew.size)}
        names = {hand.token: hand.name for hand in hands}
        winners = {job_id: names[haul.token] for haul in hauls for job_id in haul.claimed}
        assert all(winners[job_id] == holder for haul in hauls for job_id, holder in haul.holders)


def test_while_jobs_are_published_and_cancelled_each_ends_with_one_holder_or_cancelled(board, crew, rounds):
    for _ in range(rounds(1, 20)):
        role = board.role()
        publisher, *takers = board.hands(CLAIMERS + 1, role)
        early: list[Part] = [(publisher.token, Publish(role, JOBS // 2 // crew.size))] * crew.size
        ids = [job_id for haul in _race(board, crew, early) for job_id in haul.published]
        publishers = 20
        parts: list[Part] = [(publisher.token, Publish(role, JOBS // 2 // publishers))] * publishers
        # The source itself cancels: nobody else may.
        parts += [(publisher.token, Cancel(role, publishers))] * 2
        parts += [(hand.token, TakeAndReturn(role, publishers)) for hand in takers[:40]]
        parts += [(hand.token, Pick(role, publishers)) for hand in takers[40:]]
        hauls = _race(board, crew, parts)

        ids = sorted(ids + [job_id for haul in hauls for job_id in haul.published])
        assert len(ids) == JOBS
        handed_out = Counter(job_id for haul in hauls for job_id in haul.claimed)
        returned = Counter(job_id for haul in hauls for job_id in haul.released)
        cancelled = [job_id for haul in hauls for job_id in haul.cancelled]
        states = board.records.states(role)
        assert sorted(states) == ids
        for job_id, trail in board.records.stories(role).items():
            kinds = [event["event_type"] for event in trail]
            # What the clients were told is what happened, neither more nor less.
            assert check_claims(trail) == handed_out[job_id], kinds
            assert kinds.count("task_released") == returned[job_id], kinds
            assert kinds.count("task_cancelled") == cancelled.count(job_id) <= 1, kinds
            assert states[job_id] == ("cancelled" if job_id in cancelled else "in_progress"), kinds
            if job_id in cancelled:
                assert kinds[-1] == "task_cancelled", kinds
            else:
                assert handed_out[job_id] == returned[job_id] + 1, kinds
        assert set(states.values()) == {"cancelled", "in_progress"}
