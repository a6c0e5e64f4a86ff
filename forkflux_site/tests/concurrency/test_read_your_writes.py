"""What a write was answered for is there for every connection, whichever process of the server answers it."""

import itertools

import pytest

pytestmark = [pytest.mark.both_databases, pytest.mark.timeout(600)]

READERS = 8


def test_what_was_published_claimed_or_completed_on_one_connection_is_read_on_every_other(board, rounds):
    role = board.role()
    source, worker, reader = board.hands(3, role)
    # Enough connections that each of the server's processes has some of them.
    wires = [board.wire(reader) for _ in range(READERS)]
    others = itertools.cycle(wires)
    with board.wire(source) as publishing, board.wire(worker) as working:
        for _ in range(rounds(60, 500)):
            job_id = publishing.published(role)
            assert next(others).read(job_id).body["status"] == "published"
            generation = working.claim(job_id).body["lease"]["generation"]
            assert next(others).read(job_id).body["status"] == "in_progress"
            done = working.move(job_id, "completed", result={"leaves": 7}, lease_generation=generation)
            assert done.status == 200, done
            read = next(others).read(job_id).body
            assert (read["status"], read["result"]) == ("completed", {"leaves": 7})
            trail = next(others).call("GET", f"/jobs/{job_id}/events").body
            assert [event["event_type"] for event in trail] == [
                "task_published", "task_claimed", "task_completed",
            ]  # fmt: skip
    for wire in wires:
        wire.close()


def test_claim_next_finds_what_was_just_published_on_another_connection(board, rounds):
    role = board.role()
    workers = [board.wire(hand) for hand in board.hands(READERS, role)]
    with board.wire(board.hand()) as publishing:
        for _, worker in zip(range(rounds(60, 500)), itertools.cycle(workers), strict=False):
            job_id = publishing.published(role)
            claim = worker.claim_next(role)
            assert (claim.status, claim.body.get("id")) == (201, job_id), claim
    for worker in workers:
        worker.close()
