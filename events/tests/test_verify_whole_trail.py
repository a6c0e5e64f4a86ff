"""Verification of everything: all streams are read, each damaged one is named, and nobody waits meanwhile."""

import threading

import pytest
from django.db import connections

from events import links, verify
from events.links import Damage
from events.models import Event
from events.tests.tampering import LENGTH, change, event_at, execute, remove, told_job
from jobs.models import Job
from jobs.selectors import stream_heads
from jobs.services import claiming
from jobs.tests.board import PERSON, new_agent, new_role, published
from testing.committed import database_of_one_test  # noqa: F401 - the fixture `db`

# Each test has a trail of its own, and sees no other.
pytestmark = pytest.mark.usefixtures("db")

HEADS = {"job": stream_heads}
STREAMS_OF_A_JOB = 3  # its own, its role's, its agent's


@pytest.fixture(params=[1, 2, 500], ids=lambda size: f"batches of {size}")
def small_batches(request, monkeypatch):
    monkeypatch.setattr(verify, "BATCH", request.param)
    monkeypatch.setattr(links, "_ROWS", request.param)


def test_a_new_installation_has_an_intact_trail():
    report = verify.verify(heads_of=HEADS)
    assert (report.is_intact, report.streams, report.events) == (True, 0, 0)


@pytest.mark.usefixtures("small_batches")
def test_every_stream_and_every_event_is_read():
    for _ in range(3):
        told_job()
    report = verify.verify(heads_of=HEADS)
    assert report.is_intact
    assert report.streams == 3 * STREAMS_OF_A_JOB == Event.objects.values("stream").distinct().count()
    assert report.events == Event.objects.count()


@pytest.mark.usefixtures("small_batches")
def test_each_damaged_stream_is_named_with_its_first_fault():
    jobs = [told_job() for _ in range(5)]
    change(event_at(jobs[0].stream, 4), actor_name="mallory")
    change(event_at(jobs[0].stream, 2), actor_name="mallory")
    remove(event_at(jobs[1].stream, LENGTH))
    execute("DELETE FROM events_event WHERE stream = %s", jobs[2].stream)
    execute("DELETE FROM events_streamhead WHERE stream = %s", f"role:{jobs[3].target_role_id}")
    execute("DELETE FROM events_event WHERE stream = %s", f"role:{jobs[4].target_role_id}")

    report = verify.verify(heads_of=HEADS)
    assert report.damaged_streams == 5
    assert {(fault.stream, fault.what, fault.sequence) for fault in report.faults} == {
        (jobs[0].stream, Damage.CHANGED, 2),
        (jobs[1].stream, Damage.REMOVED, LENGTH),
        (jobs[2].stream, Damage.REMOVED, 1),
        (f"role:{jobs[3].target_role_id}", Damage.REMOVED, 1),
        (f"role:{jobs[4].target_role_id}", Damage.REMOVED, 1),
    }
    assert report.first_fault == report.faults[0]
    # A stream that lost all its events counts as one that there is.
    assert report.streams == 5 * STREAMS_OF_A_JOB


def test_a_report_of_a_ruined_trail_is_bounded(monkeypatch):
    monkeypatch.setattr(verify, "KEPT_FAULTS", 2)
    for _ in range(2):
        told_job()
    execute("UPDATE events_event SET actor_name = 'mallory'")
    report = verify.verify(heads_of=HEADS)
    assert (report.damaged_streams, len(report.faults)) == (2 * STREAMS_OF_A_JOB, 2)


def test_trails_of_deleted_jobs_are_counted():
    Job.objects.filter(pk__in=[told_job().pk, told_job().pk]).delete()
    told_job()
    report = verify.verify(heads_of=HEADS)
    assert (report.is_intact, report.outlived_streams) == (True, 2)


@pytest.mark.parametrize("column", ["stream", "sequence"])
def test_an_event_that_was_moved_to_another_stream_or_number_is_found_in_both(column):
    job = told_job()
    event = event_at(job.stream, LENGTH)
    change(event, **{column: "job:1" if column == "stream" and job.pk != 1 else 77})
    report = verify.verify(heads_of=HEADS)
    assert job.stream in {fault.stream for fault in report.faults}


def test_a_verification_sees_one_moment_and_nobody_waits_for_it():
    role = new_role()
    agent = new_agent(role)
    job = published(PERSON, role)
    waited: list[bool] = []

    def work() -> None:
        claiming.claim(job_id=job.pk, actor=agent)
        published(PERSON, role)
        connections.close_all()

    def heads_after_others_wrote(ids=None):
        # The events have been read by now, the heads have not.
        if not waited:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join(timeout=15)
            waited.append(thread.is_alive())
        return stream_heads(ids)

    report = verify.verify(heads_of={"job": heads_after_others_wrote})
    assert waited == [False], "the writer waits for the verification"
    assert Job.objects.get(pk=job.pk).status == "in_progress"
    assert report.is_intact, report.faults
    assert report.events == 4
    assert verify.verify(heads_of=HEADS).events == 6
