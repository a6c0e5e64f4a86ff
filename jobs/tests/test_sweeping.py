"""The sweep: it takes back what is due and nothing else, and one bad row never stops the rest."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.clock import database_moment
from core.models import IdempotencyRecord
from events.models import Event
from jobs import transitions
from jobs.models import Job
from jobs.selectors import get_job
from jobs.services.blocking import block, unblock
from jobs.services.claiming import claim
from jobs.services.closing import complete
from jobs.services.leasing import heartbeat
from jobs.services.returning import release
from jobs.services.sweeping import BATCH, expire, lapse, sweep_once
from jobs.tests.board import PERSON, age, copies, in_session, new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")
TERM = 1800


class Case:
    def __init__(self, **policy: int) -> None:
        self.role = new_role(**policy)
        self.agent = new_agent(self.role)

    def new(self, **fields) -> int:
        return published(self.agent, self.role, **fields).pk

    def held(self, **fields) -> int:
        number = self.new(**fields)
        claim(job_id=number, actor=in_session(self.agent, "desk"))
        return number

    def age(self, seconds: float) -> None:
        age(Job.objects.filter(target_role=self.role), seconds)


def in_an_hour():
    return database_moment().now + timedelta(hours=1)


def test_it_takes_back_what_ran_out_and_cancels_what_nobody_claimed_and_leaves_the_rest():
    case = Case()
    expired = case.held()
    answered = case.held()
    block(job_id=answered, actor=case.agent, blocked_reason="?")
    unblock(job_id=answered, actor=PERSON, unblock_reason="!")
    overdue = case.new(expires_at=in_an_hour())
    overdue_on_hold = case.new(expires_at=in_an_hour(), on_hold=True)
    waiting = case.held()
    block(job_id=waiting, actor=case.agent, blocked_reason="?")
    claimed_once = case.held(expires_at=in_an_hour())
    release(job_id=claimed_once, actor=case.agent)
    done = case.held()
    complete(job_id=done, actor=case.agent)
    plain = case.new()
    case.age(4000)
    fresh = case.held()
    untouched = [waiting, claimed_once, done, plain, fresh]
    before = list(Job.objects.filter(pk__in=untouched).order_by("pk").values())

    report = sweep_once()

    assert report.expired == [expired, answered]
    assert report.lapsed == [overdue, overdue_on_hold]
    assert report.errors == []
    assert report.did_something
    assert list(Job.objects.filter(pk__in=untouched).order_by("pk").values()) == before
    assert sweep_once().did_something is False


def test_an_expired_job_is_published_again_without_its_holder_who_is_told():
    case = Case()
    number = case.held()
    case.age(TERM + 1)
    sweep_once()
    job = get_job(number)
    assert (job.status, job.assignee_agent, job.lease_generation) == ("published", None, 2)
    assert (job.lease_expiry_count, job.retry_count) == (1, 0)
    assert (job.last_holder_id, job.lost_session) == (case.agent.agent_id, "desk")
    event = Event.objects.filter(job_id=number).order_by("-sequence")[0]
    assert (event.event_type, event.actor_kind, event.previous_status) == (
        "task_lease_expired",
        "system",
        "in_progress",
    )
    assert event.payload["holder"] == case.agent.name


def test_a_lease_that_runs_out_more_often_than_the_role_allows_fails_the_job():
    case = Case(max_lease_expiries=2)
    number = case.held()
    for times in (1, 2):
        case.age(TERM + 1)
        sweep_once()
        assert (get_job(number).status, get_job(number).lease_expiry_count) == ("published", times)
        claim(job_id=number, actor=case.agent)
    case.age(TERM + 1)
    sweep_once()
    job = get_job(number)
    assert (job.status, job.lease_expiry_count, job.lease_generation) == ("failed", 3, 6)
    assert job.assignee_agent is None
    assert job.failure_reason is not None
    assert case.agent.name in job.failure_reason
    assert case.role.role_key in job.failure_reason


def test_an_expiry_decides_again_under_the_lock():
    """Between the sweep's look and its lock a heartbeat or a completion may have slipped in."""
    case = Case()
    alive, done, gone = case.held(), case.held(), 10**9
    case.age(TERM + 1)
    heartbeat(job_id=alive, actor=case.agent)
    complete(job_id=done, actor=case.agent)
    before = list(Job.objects.filter(pk__in=[alive, done]).order_by("pk").values())
    assert [expire(job_id=number) for number in (alive, done, gone)] == [False, False, False]
    assert [lapse(job_id=number) for number in (alive, done, gone)] == [False, False, False]
    assert list(Job.objects.filter(pk__in=[alive, done]).order_by("pk").values()) == before


def test_one_bad_row_never_stops_the_rest(monkeypatch, caplog):
    case = Case()
    numbers = [case.held() for _ in range(3)]
    overdue = [case.new(expires_at=in_an_hour()) for _ in range(3)]
    case.age(4000)
    bad = {numbers[0], overdue[1]}
    move = transitions.move

    def stumbling(job, *args, **kwargs):
        if job.pk in bad:
            raise ZeroDivisionError(f"job {job.pk} cannot be moved")
        move(job, *args, **kwargs)

    monkeypatch.setattr(transitions, "move", stumbling)

    report = sweep_once()

    assert report.expired == numbers[1:]
    assert report.lapsed == [overdue[0], overdue[2]]
    assert set(report.errors) == bad
    assert [log.msg for log in caplog.records] == ["sweep_failed"] * 2
    monkeypatch.undo()
    # Nothing is forgotten: the next sweep takes them up again.
    again = sweep_once()
    assert (again.expired, again.lapsed) == ([numbers[0]], [overdue[1]])


@pytest.mark.slow
def test_more_than_a_batch_is_swept_in_one_sweep():
    case = Case()
    number = case.held()
    overdue = case.new(expires_at=in_an_hour())
    more = copies(get_job(overdue), BATCH + 20)
    case.age(4000)

    report = sweep_once()

    assert report.expired == [number]
    assert report.lapsed == [overdue, *more]
    assert Job.objects.filter(target_role=case.role, status="cancelled").count() == BATCH + 21


def test_it_forgets_idempotency_keys_after_a_day_and_not_before():
    now = database_moment().now
    for hours in (23, 25):
        IdempotencyRecord.objects.create(
            actor_key="agent:1",
            route="POST /sweep",
            key=f"{hours} hours",
            fingerprint="",
            result={},
            created_at=now - timedelta(hours=hours),
        )
    assert sweep_once().forgotten_keys == 1
    kept = IdempotencyRecord.objects.filter(route="POST /sweep").values_list("key", flat=True)
    assert list(kept) == ["23 hours"]
