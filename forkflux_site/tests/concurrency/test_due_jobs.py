"""Jobs that may not be handed out yet become due while many ask for them."""

from datetime import UTC, datetime, timedelta

import pytest

from forkflux_site.tests.concurrency.claimers import ClaimWhenDue, Part, play
from forkflux_site.tests.concurrency.records import check_nothing_was_left, moment

pytestmark = [pytest.mark.both_databases, pytest.mark.timeout(600)]

JOBS = 60
CLAIMERS = 24


@pytest.mark.parametrize("number", [1, 2], ids=["one-role", "two-roles"])
def test_jobs_that_become_due_are_handed_out_once_each_not_before_and_none_is_overlooked(
    board, crew, rounds, number
):
    for _ in range(rounds(1, 10)):
        roles = tuple(board.role() for _ in range(number))
        due = datetime.now(UTC) + timedelta(seconds=1.5)
        with board.wire(board.hand()) as source:
            for count in range(JOBS):
                source.published(roles[count % number], not_before=due.isoformat())
        parts: list[Part] = [
            (hand.token, ClaimWhenDue(roles, due.timestamp())) for hand in board.hands(CLAIMERS, *roles)
        ]
        hauls = [
            haul
            for share in crew.run(
                play, [(board.url, parts[start :: crew.size]) for start in range(crew.size)]
            )
            for haul in share
        ]
        trails = {job_id: trail for role in roles for job_id, trail in board.records.stories(role).items()}
        assert sorted(job_id for haul in hauls for job_id in haul.claimed) == sorted(trails)
        assert len(trails) == JOBS
        for trail in trails.values():
            assert [event["event_type"] for event in trail] == ["task_published", "task_claimed"]
            assert moment(trail[1]["created_at"]) >= due
        for haul in hauls:
            for reason, answered in zip(haul.refusals, haul.emptied, strict=True):
                assert answered > due.timestamp() or reason == "not_due"
        check_nothing_was_left(trails, [haul.emptied[-1] for haul in hauls])
