"""What a claim tells of those who had the job before: who, how it ended, why, and how far they came."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.clock import database_moment
from jobs.models import Job
from jobs.selectors import ATTEMPTS_MOST, get_job, previous_attempts
from jobs.services.blocking import block
from jobs.services.claiming import claim
from jobs.services.closing import fail, restart
from jobs.services.leasing import heartbeat
from jobs.services.returning import release, requeue
from jobs.services.sweeping import expire
from jobs.tests.board import PERSON, caller, new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


class Case:
    def __init__(self, **policy: int) -> None:
        self.role = new_role(**policy)
        self.ann, self.ben, self.source = new_agent(self.role), new_agent(self.role), new_agent()
        self.number = published(self.source, self.role).pk

    def attempts(self) -> list[dict[str, object]]:
        return previous_attempts(get_job(self.number))

    def run_out(self) -> None:
        Job.objects.filter(pk=self.number).update(
            lease_expires_at=database_moment().now - timedelta(seconds=1)
        )
        assert expire(job_id=self.number)


def told(attempts: list[dict[str, object]], *keys: str) -> list[tuple[object, ...]]:
    return [tuple(attempt[key] for key in keys) for attempt in attempts]


def test_a_first_claim_has_no_earlier_attempts():
    case = Case()
    claim(job_id=case.number, actor=case.ann)
    assert case.attempts() == []


def test_each_way_to_end_an_attempt_is_named_with_its_reason():
    case = Case()
    claim(job_id=case.number, actor=case.ann)
    release(job_id=case.number, actor=case.ann, reason="no screen")
    claim(job_id=case.number, actor=case.ben)
    case.run_out()
    claim(job_id=case.number, actor=case.ann)
    fail(job_id=case.number, actor=case.ann, failure_reason="no disk")
    restart(job_id=case.number, actor=case.ann)
    block(job_id=case.number, actor=case.ann, blocked_reason="which colour?")
    requeue(job_id=case.number, actor=PERSON, reason="ann is ill")
    claim(job_id=case.number, actor=case.ben)

    attempts = case.attempts()

    assert told(attempts, "agent", "lease_generation", "outcome", "reason") == [
        (case.ann.name, 1, "released", "no screen"),
        (case.ben.name, 3, "lease_expired", None),
        (case.ann.name, 5, "failed", "no disk"),
        (case.ann.name, 6, "requeued", "ann is ill"),
    ]
    times = [time for attempt in attempts for time in (attempt["started_at"], attempt["ended_at"])]
    assert times == sorted(times, key=str)
    assert all(attempt["last_progress"] is None for attempt in attempts)


def test_a_failed_job_that_was_requeued_tells_why_it_failed():
    case = Case()
    claim(job_id=case.number, actor=case.ann)
    fail(job_id=case.number, actor=case.ann, failure_reason="no disk")
    requeue(job_id=case.number, actor=case.source, reason="the disk is there")
    claim(job_id=case.number, actor=case.ben)
    assert told(case.attempts(), "outcome", "reason") == [("failed", "no disk")]


def test_a_lease_that_ran_out_too_often_is_a_failure_with_the_systems_reason():
    case = Case(max_lease_expiries=0)
    claim(job_id=case.number, actor=case.ann)
    case.run_out()
    requeue(job_id=case.number, actor=PERSON)
    claim(job_id=case.number, actor=case.ben)
    [attempt] = case.attempts()
    assert attempt["outcome"] == "failed"
    assert case.ann.name in str(attempt["reason"])


def test_the_last_progress_of_each_attempt_is_kept_with_it():
    case = Case()
    claim(job_id=case.number, actor=case.ben)
    release(job_id=case.number, actor=case.ben)
    claim(job_id=case.number, actor=case.ann)
    heartbeat(job_id=case.number, actor=case.ann, progress_percent=10, note="reading")
    heartbeat(job_id=case.number, actor=case.ann, progress_percent=60, note="writing")
    release(job_id=case.number, actor=case.ann)
    claim(job_id=case.number, actor=case.ben)
    assert told(case.attempts(), "last_progress") == [(None,), ({"percent": 60, "note": "writing"},)]
    # What the one before had done is not the new holder's progress.
    assert get_job(case.number).progress_note is None


def test_only_the_newest_attempts_are_told():
    case = Case()
    for _ in range(ATTEMPTS_MOST + 2):
        claim(job_id=case.number, actor=case.ann)
        release(job_id=case.number, actor=case.ann)
    claim(job_id=case.number, actor=case.ben)
    generations = [attempt["lease_generation"] for attempt in case.attempts()]
    assert generations == [2 * attempt + 1 for attempt in range(2, ATTEMPTS_MOST + 2)]


def test_the_claims_answer_carries_them():
    case = Case()
    claim(job_id=case.number, actor=case.ann)
    release(job_id=case.number, actor=case.ann, reason="no screen")
    answer = caller(case.ben).post(f"/jobs/{case.number}/claim").json()
    assert told(answer["previous_attempts"], "agent", "outcome") == [(case.ann.name, "released")]
    assert answer["lease"]["generation"] == 3
