"""A write repeated under its `Idempotency-Key` has one effect and the same answer, over real connections."""

import pytest

from forkflux_site.tests.concurrency.wire import Answer

pytestmark = pytest.mark.both_databases


def _same(first: Answer, second: Answer) -> None:
    assert (first.status, first.body) == (second.status, second.body)
    assert (first.replayed, second.replayed) == (False, True)


def test_publishing_twice_under_one_key_makes_one_job(board):
    role = board.role()
    with board.wire(board.hand()) as one, board.wire(board.hand()) as another:
        first, second = one.publish(role, key="oak"), one.publish(role, key="oak")
        assert first.status == 201, first
        _same(first, second)
        assert len(board.records.states(role)) == 1
        # A key is its owner's alone.
        theirs = another.publish(role, key="oak")
        assert (theirs.status, theirs.replayed) == (201, False)
        assert theirs.body != first.body
        assert len(board.records.states(role)) == 2


def test_claiming_and_completing_twice_under_one_key_is_done_once(board):
    role = board.role()
    with board.wire(board.hand(role)) as wire:
        ids = [wire.published(role) for _ in range(2)]
        first, second = wire.claim_next(role, key="c"), wire.claim_next(role, key="c")
        _same(first, second)
        assert first.body["id"] == ids[0]
        by_id = wire.claim(ids[1], key="c")  # the same key on another route is another call
        _same(by_id, wire.claim(ids[1], key="c"))
        done = wire.move(ids[0], "completed", result_summary="Counted", key="d")
        again = wire.move(ids[0], "completed", result_summary="Counted", key="d")
        assert done.status == 200, done
        _same(done, again)
        assert board.records.story(ids[0]) == ["task_published", "task_claimed", "task_completed"]
        assert board.records.story(ids[1]) == ["task_published", "task_claimed"]


def test_another_body_under_a_used_key_is_refused_and_changes_nothing(board):
    role = board.role()
    with board.wire(board.hand()) as wire:
        job_id = wire.published(role, key="oak", labels=["a", "b"])
        before = board.records.dump(job_id)
        other = wire.publish(role, key="oak", labels=["b", "a"])
        assert other.status == 422, other
        assert "Idempotency-Key" in str(other.body)
        assert board.records.dump(job_id) == before
        assert wire.publish(role, key="oak", labels=["a", "b"]).body["job_id"] == job_id


def test_after_a_refusal_the_key_is_free(board):
    role = board.role()
    with board.wire(board.hand(role)) as wire:
        job_id = wire.published(role, on_hold=True)
        for _ in range(2):
            refused = wire.claim(job_id, key="claim")
            assert (refused.status, refused.code, refused.replayed) == (409, "on_hold", False)
        assert wire.call("POST", f"/jobs/{job_id}/unhold").status == 200
        claim = wire.claim(job_id, key="claim")
        assert (claim.status, claim.replayed) == (201, False), claim
        invalid = wire.publish("no such role", key="publish")
        assert invalid.status == 422, invalid
        published = wire.publish(role, key="publish")
        assert (published.status, published.replayed) == (201, False), published


@pytest.mark.parametrize("sweeps", [False, True], ids=["still-stored", "swept"])
def test_after_24_hours_the_call_runs_anew(board, sweeps):
    role = board.role()
    key = f"daily {role}"
    with board.wire(board.hand()) as wire:
        first = wire.publish(role, key=key)
        [record] = board.records.rows("SELECT id FROM core_idempotencyrecord WHERE key = %s", key)
        board.records.age("core_idempotencyrecord", "created_at", record["id"], seconds=23.9 * 3600)
        board.sweep()
        _same(first, wire.publish(role, key=key))
        board.records.age("core_idempotencyrecord", "created_at", record["id"], seconds=0.2 * 3600)
        if sweeps:
            board.sweep()
            assert not board.records.rows("SELECT id FROM core_idempotencyrecord WHERE key = %s", key)
        anew = wire.publish(role, key=key)
        assert (anew.status, anew.replayed) == (201, False), anew
        assert anew.body["job_id"] != first.body["job_id"]
        _same(anew, wire.publish(role, key=key))
    assert len(board.records.states(role)) == 2


def test_after_a_restart_of_the_server_the_answer_is_replayed(board):
    role = board.role()
    hand = board.hand(role)
    with board.wire(hand) as wire:
        published = wire.publish(role, key="before", priority=10)
        assert wire.publish(role).status == 201
        claimed = wire.claim_next(role, key="before")
    board.server.restart()
    with board.wire(hand) as wire:
        _same(published, wire.publish(role, key="before", priority=10))
        _same(claimed, wire.claim_next(role, key="before"))
    assert sorted(board.records.states(role).values()) == ["in_progress", "published"]


def test_a_claim_that_is_repeated_after_its_lease_was_lost_is_refused_and_changes_nothing(board):
    role = board.role()
    late, other = board.hands(2, role)
    with board.wire(late) as wire, board.wire(other) as others:
        by_role, by_id = wire.published(role), wire.published(role, priority=10)
        assert wire.claim_next(role, key="lost").body["id"] == by_role
        assert wire.claim(by_id, key="lost").status == 201

        def check(holder: str | None, status: str) -> None:
            for job_id in (by_role, by_id):
                before = board.records.dump(job_id)
                answer = (
                    wire.claim_next(role, key="lost") if job_id == by_role else wire.claim(by_id, key="lost")
                )
                assert (answer.status, answer.code) == (409, "lease_lost"), answer
                assert answer.context["job_id"] == job_id
                assert (answer.context["holder"], answer.context["current_status"]) == (holder, status)
                assert board.records.dump(job_id) == before

        for job_id in (by_role, by_id):
            board.lose_lease(job_id)
        check(None, "published")
        for job_id in (by_role, by_id):
            assert others.claim(job_id).status == 201
        check(other.name, "in_progress")
        for job_id in (by_role, by_id):
            board.lose_lease(job_id)
            assert wire.claim(job_id).status == 201
        # It holds them again, but by claims that were made under no key.
        check(late.name, "in_progress")
