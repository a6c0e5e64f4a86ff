"""The policy of a role holds while many claim at once: its limit, and its pause."""

import pytest

from forkflux_site.tests.concurrency.claimers import Call, ClaimUntilPaused, Part, play
from forkflux_site.tests.concurrency.records import check_claims, eventually

pytestmark = [pytest.mark.both_databases, pytest.mark.timeout(600)]

LIMIT = 2

on_postgresql = pytest.mark.parametrize("kind", ["postgresql"], indirect=True, scope="session")


def test_eight_claims_of_one_agent_at_once_never_exceed_the_limit_of_the_role(board, crew, rounds):
    role = board.role(max_held_per_agent=LIMIT)
    hand = board.hand(role)
    with board.wire(board.hand()) as source, board.wire(hand) as wire:
        failed = [source.published(role, max_retries=20) for _ in range(2)]
        for job_id in failed:
            assert wire.claim(job_id).status == 201
            assert wire.move(job_id, "failed", failure_reason="Windy").status == 200
        for _ in range(rounds(8, 200)):
            # A round restarts each of them at most once, so neither comes to its budget.
            if max(board.records.job(job_id)["retry_count"] for job_id in failed) > 15:
                failed = [_failed(source, wire, role) for _ in failed]
            for _ in range(3):
                source.published(role, priority=40)
            late = [source.published(role, priority=10) for _ in range(3)]
            calls = [Call("POST", "/jobs/claim-next", {"target_role_key": role})] * 3
            calls += [Call("POST", f"/jobs/{job_id}/claim", {}) for job_id in late]
            calls += [Call("POST", f"/jobs/{job_id}/status", {"status": "in_progress"}) for job_id in failed]
            parts: list[Part] = [(hand.token, call) for call in calls]
            shares = [(board.url, parts[start :: crew.size]) for start in range(crew.size)]
            answers = [haul.answers[0] for share in crew.run(play, shares) for haul in share]

            taken = [answer for answer in answers if answer.status in {200, 201}]
            assert len(taken) == LIMIT, answers
            assert {answer.code for answer in answers if answer not in taken} == {"at_capacity"}, answers
            held = _held(board, hand)
            assert len(held) == LIMIT
            for job_id in held:
                back = "failed" if job_id in failed else "published"
                assert wire.move(job_id, back).status == 200


def _failed(source, wire, role: str) -> int:
    job_id: int = source.published(role, max_retries=20)
    assert wire.claim(job_id).status == 201
    assert wire.move(job_id, "failed", failure_reason="Windy").status == 200
    return job_id


def _held(board, hand) -> list[int]:
    held = board.records.rows(
        "SELECT id FROM jobs_job WHERE assignee_agent_id = %s AND status IN ('in_progress', 'blocked', 'unblocked')",
        hand.id,
    )
    return [row["id"] for row in held]


def test_once_a_pause_is_acknowledged_nothing_of_the_role_is_handed_out(board, crew, rounds):
    for _ in range(rounds(2, 20)):
        role = board.role()
        with board.wire(board.hand()) as source:
            ids = tuple(source.published(role) for _ in range(30))
        parts: list[Part] = [
            (hand.token, ClaimUntilPaused(role, ids if number % 3 == 0 else ()))
            for number, hand in enumerate(board.hands(24, role))
        ]
        running = crew.start(play, [(board.url, parts[start :: crew.size]) for start in range(crew.size)])
        eventually(lambda: crew.race.counter.value >= 30, seconds=60, what="thirty claims")
        board.backstage.ask("pause", key=role)
        crew.race.flag.set()
        hauls = [haul for share in crew.finish(running) for haul in share]
        assert all(haul.refusals.count("paused") for haul in hauls)
        trails = board.records.stories(role)
        claims = sum(check_claims(trail) for trail in trails.values())
        assert claims == sum(len(haul.claimed) for haul in hauls) >= 30
        assert set(board.records.states(role).values()) == {"published"}
        board.backstage.ask("resume", key=role)
        with board.wire(board.hand(role)) as wire:
            assert wire.claim_next(role).status == 201


@on_postgresql
def test_a_claim_that_waited_for_its_job_while_the_role_was_paused_is_refused(board, crew):
    role = board.role()
    hand = board.hand(role)
    with board.wire(board.hand()) as source:
        job_id = source.published(role)
    parts = [
        Call("POST", f"/jobs/{job_id}/claim", {}),
        Call("POST", "/jobs/claim-next", {"target_role_key": role}),
    ]
    with board.records.locking([job_id]):
        running = crew.start(play, [(board.url, [(hand.token, part)]) for part in parts])
        board.records.await_waiters(len(parts))
        board.backstage.ask("pause", key=role)
        assert not any(process.done() for process in running)
    by_id, by_role = (haul.answers[0] for share in crew.finish(running) for haul in share)
    assert (by_id.status, by_id.code) == (409, "paused"), by_id
    assert (by_role.status, by_role.code) == (404, "paused"), by_role
    assert board.records.story(job_id) == ["task_published"]
