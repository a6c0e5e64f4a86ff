"""`forkflux audit verify`: an operator asks whether the trail is as it was recorded."""

import json

import pytest

from events.tests.tampering import LENGTH, change, event_at, execute, told_job
from jobs.models import Job
from testing.command_line import forkflux, refusal
from testing.committed import database_of_one_test  # noqa: F401 - the fixture `db`

# Each test has a trail of its own, and sees no other.
pytestmark = pytest.mark.usefixtures("db")


def test_an_intact_trail_is_said_to_be_so(capsys):
    told_job()
    ended = forkflux(capsys, "audit", "verify")
    # Five events of the job, one of the role, two of the agent and its token.
    assert ended.out == "The audit trail is intact: 8 events in 3 streams.\n"
    assert (ended.status, ended.err) == (0, "")
    assert forkflux(capsys, "audit", "verify", "--json").document == {
        "intact": True,
        "streams": 3,
        "events": 8,
        "outlived_streams": 0,
        "damaged_streams": 0,
        "first_fault": None,
        "faults": [],
    }


def test_a_damaged_trail_ends_with_status_1_and_the_name_of_the_event(capsys):
    job = told_job()
    event = event_at(job.stream, 3)
    change(event, actor_name="mallory")
    ended = forkflux(capsys, "audit", "verify")
    assert ended.status == 1
    sentence = f"Event 3 of {job.stream} (id {event.pk}) was changed: its column actor_name is not what its text says."
    assert ended.out == (f"The audit trail is damaged in 1 stream of 8 events in 3 streams:\n  {sentence}\n")
    assert ended.err == f"Error: {sentence}\n"


def test_a_damaged_trail_is_told_as_one_json_document_too(capsys):
    first, second = told_job(), told_job()
    event = event_at(first.stream, 2)
    change(event, actor_name="mallory")
    execute("DELETE FROM events_event WHERE stream = %s AND sequence = %s", second.stream, LENGTH)
    ended = forkflux(capsys, "audit", "verify", "--json")
    assert ended.status == 1
    document = json.loads(ended.out)
    assert document["intact"] is False
    assert document["damaged_streams"] == 2
    assert document["first_fault"] == document["faults"][0]
    by_stream = {fault["stream"]: fault for fault in document["faults"]}
    assert by_stream[first.stream] | {"detail": ""} == {
        "stream": first.stream, "sequence": 2, "event_id": event.pk, "what": "changed", "detail": ""
    }  # fmt: skip
    assert by_stream[second.stream]["what"] == "removed"
    assert by_stream[second.stream]["event_id"] is None


def test_one_stream_can_be_asked_for(capsys):
    damaged, intact = told_job(), told_job()
    change(event_at(damaged.stream, 1), actor_name="mallory")
    assert forkflux(capsys, "audit", "verify", "--stream", intact.stream).status == 0
    assert forkflux(capsys, "audit", "verify", "--stream", damaged.stream).status == 1
    assert (
        forkflux(capsys, "audit", "verify", "--stream", intact.stream, "--json").document["events"] == LENGTH
    )


def test_a_stream_that_does_not_exist_is_named(capsys):
    assert "There is no stream job:999" in refusal(forkflux(capsys, "audit", "verify", "--stream", "job:999"))


def test_trails_of_deleted_jobs_are_mentioned(capsys):
    Job.objects.filter(pk=told_job().pk).delete()
    said = forkflux(capsys, "audit", "verify")
    assert said.status == 0
    assert "1 stream of deleted jobs" in said.out


def test_what_a_forger_wrote_cannot_act_on_the_terminal(capsys):
    job = told_job()
    execute("UPDATE events_event SET stream = %s WHERE stream = %s", "job:\x1b[2J", job.stream)
    ended = forkflux(capsys, "audit", "verify")
    assert ended.status == 1
    assert "\x1b" not in ended.out + ended.err
    assert r"job:\x1b[2J" in ended.out


@pytest.mark.parametrize("arguments", [(), ("repair",), ("verify", "--stream"), ("verify", "job:1")], ids=str)
def test_wrong_usage_has_status_2(capsys, arguments):
    ended = forkflux(capsys, "audit", *arguments)
    assert (ended.status, ended.out) == (2, "")
