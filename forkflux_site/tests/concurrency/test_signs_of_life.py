"""Which calls keep a lease alive, and for how long: by the real clock, against a server that sweeps."""

from datetime import timedelta

import pytest

from forkflux_site.tests.concurrency.claimers import Call, play
from forkflux_site.tests.concurrency.records import eventually, moment
from forkflux_site.tests.concurrency.wire import Wire

pytestmark = pytest.mark.both_databases

LEASE = 2
TERMS = 4  # beyond so many leases only an explicit heartbeat keeps a job


def _claimed(board, wire: Wire, role: str, *, lease_seconds: int = LEASE) -> int:
    with board.wire(board.hand()) as source:
        source.published(role)
    answer = wire.claim_next(role, lease_seconds=lease_seconds)
    assert answer.status == 201, answer
    return int(answer.body["id"])


def _renewed(board, job_id: int, call) -> bool:
    """Whether calling again and again extended the lease before it ended."""
    first = board.records.job(job_id)

    def settled() -> str | None:
        call()
        job = board.records.job(job_id)
        if job["status"] != "in_progress":
            return "lost"
        return "renewed" if job["lease_expires_at"] > first["lease_expires_at"] else None

    found = eventually(settled, seconds=LEASE + 10, what="a lease renewed or lost")
    if found == "lost":
        expiry = board.records.trail(job_id)[-1]
        assert expiry["event_type"] == "task_lease_expired"
        assert moment(expiry["payload"]["lease_expired_at"]) == first["lease_expires_at"]
        return False
    job = board.records.job(job_id)
    assert job["lease_heartbeat_at"] == first["lease_heartbeat_at"], "taken for an explicit heartbeat"
    assert board.records.story(job_id) == ["task_published", "task_claimed"], "a sign of life is no event"
    return True


@pytest.mark.parametrize("path", ["", "/events", "/artifacts"])
def test_reading_its_job_keeps_the_holders_lease(swept_board, path):
    board = swept_board
    role = board.role()
    with board.wire(board.hand(role)) as wire:
        job_id = _claimed(board, wire, role)

        def read() -> None:
            assert wire.call("GET", f"/jobs/{job_id}{path}").status == 200

        assert _renewed(board, job_id, read)


def test_any_accepted_call_of_the_session_keeps_its_leases(swept_board):
    board = swept_board
    role = board.role()
    with board.wire(board.hand(role), session="alive") as wire:
        job_id = _claimed(board, wire, role)

        def call() -> None:
            assert wire.call("GET", "/agents/me").status == 200

        assert _renewed(board, job_id, call)


def test_reads_by_others_and_refused_calls_by_the_holder_keep_nothing(swept_board):
    board = swept_board
    role = board.role()
    holder, other = board.hands(2, role)
    with (
        board.wire(holder, session="mine") as wire,
        board.wire(holder, session="another") as namesake,
        board.wire(other) as stranger,
    ):
        bystander = stranger.published(board.role())
        job_id = _claimed(board, wire, role)
        generation = board.records.job(job_id)["lease_generation"]

        def call() -> None:
            assert stranger.read(job_id).status == 200
            assert namesake.read(job_id).status == 200
            refused = [
                wire.move(job_id, "pending"),
                wire.move(job_id, "completed", lease_generation=generation + 1),
                wire.heartbeat(job_id, lease_generation=generation + 1),
                wire.heartbeat(job_id, progress_percent=101),
                wire.call("POST", f"/jobs/{job_id}/status", {"status": "finished"}),
                wire.call("PATCH", f"/jobs/{job_id}", {"constraints": ["No more than an hour"]}),
                wire.claim(bystander),
                wire.read(2**40),
                wire.publish("no such role"),
            ]
            assert {answer.status for answer in refused} <= {403, 404, 409, 422}, refused

        assert not _renewed(board, job_id, call)


def test_reading_alone_keeps_a_lease_for_four_terms_and_no_longer(swept_board):
    board = swept_board
    role = board.role()
    with board.wire(board.hand(role), session="reader") as wire:
        job_id = _claimed(board, wire, role, lease_seconds=1)
        beat = board.records.job(job_id)["lease_heartbeat_at"]

        def lost() -> bool:
            assert wire.read(job_id).status == 200
            return bool(board.records.job(job_id)["status"] == "published")

        eventually(lost, seconds=TERMS + 10, what="the lease lost in spite of all reading")
        expired_at = moment(board.records.trail(job_id)[-1]["payload"]["lease_expired_at"])
        assert abs(expired_at - beat - timedelta(seconds=TERMS)) < timedelta(milliseconds=2)


def test_an_explicit_heartbeat_begins_four_new_terms(board):
    role = board.role()
    with board.wire(board.hand(role)) as wire:
        job_id = _claimed(board, wire, role, lease_seconds=60)
        # As after almost four minutes of reading.
        board.records.age("jobs_job", "lease_heartbeat_at", job_id, seconds=60 * TERMS - 1)
        board.records.end_lease(job_id, in_seconds=1)
        assert wire.heartbeat(job_id).status == 200
        job = board.records.job(job_id)
        assert job["lease_expires_at"] - job["lease_heartbeat_at"] == timedelta(seconds=60)
        board.records.age("jobs_job", "lease_expires_at", job_id, seconds=30)
        assert wire.read(job_id).status == 200
        assert board.records.job(job_id)["lease_expires_at"] > job["lease_expires_at"]


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True, scope="session")
def test_a_heartbeat_that_waited_for_the_row_counts_from_when_it_got_it(board, crew):
    role = board.role()
    hand = board.hand(role)
    with board.wire(hand) as wire:
        job_id = _claimed(board, wire, role, lease_seconds=60)
    beat = Call("POST", f"/jobs/{job_id}/heartbeat", {})
    with board.records.locking([job_id]):
        running = crew.start(play, [(board.url, [(hand.token, beat)])])
        board.records.await_waiters(1)
        still_locked = moment(board.records.value("SELECT clock_timestamp()"))
    [[haul]] = crew.finish(running)
    assert haul.answers[0].status == 200, haul.answers
    job = board.records.job(job_id)
    assert job["lease_heartbeat_at"] > still_locked
    assert job["lease_expires_at"] - job["lease_heartbeat_at"] == timedelta(seconds=60)
