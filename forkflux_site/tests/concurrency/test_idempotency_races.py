"""The same key at the same time: one call does the work, the others wait for what it comes to."""

from collections import Counter

import pytest

from forkflux_site.tests.concurrency.claimers import Call, call_at_once, play
from forkflux_site.tests.concurrency.wire import publication

pytestmark = [pytest.mark.both_databases, pytest.mark.timeout(600)]

on_postgresql = pytest.mark.parametrize("kind", ["postgresql"], indirect=True, scope="session")
"""On SQLite a second writer waits for the first one's whole transaction, so there is no middle to look at."""

ROUTE = "/api/v1/mcp/jobs"


def test_processes_that_call_with_one_key_at_once_have_one_effect_and_one_answer(board, crew, rounds):
    role = board.role()
    hand = board.hand(role)
    keys = [f"{role} {number}" for number in range(rounds(15, 200))]
    calls = [("POST", "/jobs", publication(role)), ("POST", "/jobs/claim-next", {"target_role_key": role})]
    for call in calls:
        shares = [(board.url, hand.token, call, keys)] * crew.size
        for answers in zip(*crew.run(call_at_once, shares), strict=True):
            assert {answer.status for answer in answers} == {201}, answers
            assert len({str(answer.body) for answer in answers}) == 1, answers
            assert Counter(answer.replayed for answer in answers) == {False: 1, True: crew.size - 1}
    stories = board.records.stories(role)
    assert len(stories) == len(keys)
    for trail in stories.values():
        assert [event["event_type"] for event in trail] == ["task_published", "task_claimed"]


@on_postgresql
def test_a_call_that_comes_while_the_first_one_runs_waits_for_it_and_gets_its_answer(board, crew):
    role = board.role()
    hand = board.hand(role)
    with board.wire(hand) as wire:
        job_id = wire.published(role)
        assert wire.claim(job_id).status == 201
    part = (hand.token, Call("POST", f"/jobs/{job_id}/status", {"status": "completed"}, "done"))
    with board.records.locking([job_id]):
        running = crew.start(play, [(board.url, [part]), (board.url, [part])])
        # One waits for the job, and the other one for the first.
        board.records.await_waiters(2)
        assert not any(process.done() for process in running)
    answers = [haul.answers[0] for share in crew.finish(running) for haul in share]
    assert [answer.status for answer in answers] == [200, 200], answers
    assert answers[0].body == answers[1].body
    assert sorted(answer.replayed for answer in answers) == [False, True]
    assert board.records.story(job_id) == ["task_published", "task_claimed", "task_completed"]


@on_postgresql
def test_a_call_whose_first_one_does_not_end_in_time_is_refused_and_the_key_stays_good(board):
    role = board.role()
    hand = board.hand(role)
    with board.wire(hand) as wire:
        with board.records.transaction() as first_call:
            # What a first call that runs long has written so far.
            first_call(
                "INSERT INTO core_idempotencyrecord (actor_key, route, key, fingerprint, created_at) "
                "VALUES (%s, %s, 'slow', 'x', CURRENT_TIMESTAMP)",
                f"agent:{hand.id}",
                f"POST {ROUTE}",
            )
            refused = wire.publish(role, key="slow")
            assert (refused.status, refused.code) == (409, "in_flight"), refused
            assert not board.records.states(role)
        published = wire.publish(role, key="slow")
        assert (published.status, published.replayed) == (201, False), published
