"""Whatever is done to the trail past the application, verification finds it and names the event."""

from datetime import timedelta

import pytest

from events.errors import StreamUnknown
from events.links import Damage, links
from events.models import Event, StreamHead
from events.tests.tampering import (
    LENGTH,
    change,
    event_at,
    execute,
    forged_behind,
    insert_copy,
    remove,
    renumber,
    rewritten,
    told_job,
)
from events.verify import verify as verify_trail
from jobs.models import Job
from jobs.selectors import stream_heads
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")

HEADS = {"job": stream_heads}
ANOTHER = {
    "event_type": "task_cancelled",
    "previous_hash": "0" * 64,
    "actor_kind": "system",
    "actor_name": "mallory",
    "actor_agent_id": 4711,
    "actor_user_id": 4711,
    "job_id": 4711,
    "previous_status": "blocked",
    "current_status": "cancelled",
}


@pytest.fixture
def job():
    return told_job()


def faults(job):
    """What is found wrong with the job's trail, as (what, sequence, event id)."""
    report = verify_trail(heads_of=HEADS, stream=job.stream)
    assert report.damaged_streams == len(report.faults) <= 1
    assert report.is_intact == (not report.faults)
    return [(fault.what, fault.sequence, fault.event_id) for fault in report.faults]


def test_an_untouched_trail_is_intact(job):
    report = verify_trail(heads_of=HEADS, stream=job.stream)
    assert report.is_intact
    assert report.first_fault is None
    assert (report.streams, report.events) == (1, LENGTH)


@pytest.mark.parametrize("sequence", [1, 3, LENGTH])
@pytest.mark.parametrize("column", [*ANOTHER, "created_at"])
def test_a_changed_column_is_found(job, column, sequence):
    event = event_at(job.stream, sequence)
    change(event, **{column: ANOTHER.get(column, event.created_at + timedelta(microseconds=1000))})
    assert faults(job) == [(Damage.CHANGED, sequence, event.pk)]


def test_every_column_is_compared_or_checked_otherwise(job):
    compared = set(next(links(job.stream)).columns)
    checked_otherwise = {"id", "canonical", "hash", "epoch", "feed_tx"}
    assert compared | checked_otherwise == {field.name for field in Event._meta.concrete_fields}
    assert set(ANOTHER) | {"created_at", "stream", "sequence"} == compared


@pytest.mark.parametrize("sequence", [1, 3, LENGTH])
@pytest.mark.parametrize(
    ("column", "value"),
    [("canonical", "{}"), ("canonical", "no JSON"), ("hash", "0" * 64), ("hash", "")],
    ids=["text", "no JSON", "hash", "no hash"],
)
def test_a_changed_text_or_hash_is_found(job, column, value, sequence):
    event = event_at(job.stream, sequence)
    change(event, **{column: value})
    assert faults(job) == [(Damage.CHANGED, sequence, event.pk)]


@pytest.mark.parametrize("sequence", [1, 3, LENGTH])
def test_a_change_in_the_text_alone_is_found(job, sequence):
    event = event_at(job.stream, sequence)
    change(event, canonical=event.canonical.replace('"payload":{', '"payload":{"note":"all is well",'))
    assert faults(job) == [(Damage.CHANGED, sequence, event.pk)]


@pytest.mark.parametrize("sequence", [1, 3, LENGTH - 1, LENGTH])
def test_a_text_that_was_changed_together_with_its_hash_is_found(job, sequence):
    event = event_at(job.stream, sequence)
    change(event, **rewritten(event, payload={"failure_reason": "All is well"}))
    assert faults(job) == [(Damage.CHANGED, sequence, event.pk)]


def test_a_text_that_is_no_event_is_found_even_with_its_hash(job):
    event = event_at(job.stream, 3)
    change(event, canonical="[]", hash="4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945")
    assert faults(job) == [(Damage.CHANGED, 3, event.pk)]


@pytest.mark.parametrize("column", ["epoch", "feed_tx"])
def test_a_place_in_the_feed_before_the_event_that_is_followed_is_found(job, column):
    execute(
        f"UPDATE events_event SET {column} = {column} + 7 WHERE stream = %s AND sequence <= 3", job.stream
    )
    event = event_at(job.stream, 4)
    assert faults(job) == [(Damage.CHANGED, 4, event.pk)]


def test_another_feed_position_than_the_heads_is_found(job):
    event = event_at(job.stream, LENGTH)
    change(event, feed_tx=event.feed_tx + 1)
    assert faults(job) == [(Damage.CHANGED, LENGTH, event.pk)]


@pytest.mark.parametrize("sequence", [1, 3, LENGTH])
def test_a_removed_event_is_found(job, sequence):
    remove(event_at(job.stream, sequence))
    assert faults(job) == [(Damage.REMOVED, sequence, None)]


@pytest.mark.parametrize("sequence", [1, 3, LENGTH - 1])
def test_a_removed_event_is_found_when_the_gap_was_closed(job, sequence):
    remove(event_at(job.stream, sequence))
    renumber(job.stream, above=sequence, by=-1)
    assert faults(job) == [(Damage.REMOVED, sequence, None)]


def test_several_removed_events_are_told_together(job):
    for sequence in (2, 3):
        remove(event_at(job.stream, sequence))
    fault = verify_trail(heads_of=HEADS, stream=job.stream).first_fault
    assert (fault.what, fault.sequence) == (Damage.REMOVED, 2)
    assert "2 to 3 are missing" in str(fault)


@pytest.mark.parametrize("kept", [4, 2])
def test_a_cut_off_tail_is_found(job, kept):
    execute("DELETE FROM events_event WHERE stream = %s AND sequence > %s", job.stream, kept)
    assert faults(job) == [(Damage.REMOVED, kept + 1, None)]


def test_a_job_without_events_is_found(job):
    execute("DELETE FROM events_event WHERE stream = %s", job.stream)
    assert faults(job) == [(Damage.REMOVED, 1, None)]


@pytest.mark.parametrize("behind", [1, 3, LENGTH])
def test_a_copy_of_an_event_behind_it_is_found(job, behind):
    renumber(job.stream, above=behind, by=1)
    copy = insert_copy(event_at(job.stream, behind), sequence=behind + 1)
    assert faults(job) == [(Damage.INSERTED, behind + 1, copy.pk)]


def test_another_event_that_claims_the_place_of_the_last_is_found(job):
    last = event_at(job.stream, LENGTH)
    forged = insert_copy(last, sequence=LENGTH + 1, **rewritten(last, payload={"result_summary": "forged"}))
    assert faults(job) == [(Damage.INSERTED, LENGTH + 1, forged.pk)]


def test_a_well_made_event_behind_the_end_is_found(job):
    last = event_at(job.stream, LENGTH)
    forged = insert_copy(last, sequence=LENGTH + 1, **forged_behind(last, payload={}))
    assert faults(job) == [(Damage.INSERTED, LENGTH + 1, forged.pk)]


@pytest.mark.parametrize("behind", [1, 3, LENGTH - 1])
def test_a_well_made_event_in_the_middle_is_found(job, behind):
    before = event_at(job.stream, behind)
    renumber(job.stream, above=behind, by=1)
    forged = insert_copy(before, sequence=behind + 1, **forged_behind(before, payload={"note": "forged"}))
    assert faults(job) == [(Damage.INSERTED, behind + 1, forged.pk)]


def test_an_event_before_the_first_is_found(job):
    forged = insert_copy(event_at(job.stream, 1), sequence=0)
    assert faults(job) == [(Damage.INSERTED, 0, forged.pk)]


def test_an_event_of_another_stream_is_found(job):
    other = event_at(told_job().stream, LENGTH)
    forged = insert_copy(other, sequence=LENGTH + 1, stream=job.stream)
    assert faults(job) == [(Damage.CHANGED, LENGTH + 1, forged.pk)]


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 3), (2, 4), (4, LENGTH)], ids=str)
def test_swapped_events_are_found(job, first, second):
    one, other = event_at(job.stream, first), event_at(job.stream, second)
    change(one, sequence=1_000)
    change(other, sequence=first)
    change(one, sequence=second)
    assert faults(job) == [(Damage.CHANGED, first, other.pk)]


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 4), (4, LENGTH)], ids=str)
def test_swapped_contents_are_found(job, first, second):
    columns = [
        field.attname
        for field in Event._meta.concrete_fields
        if field.name not in {"id", "stream", "sequence"}
    ]
    one, other = event_at(job.stream, first), event_at(job.stream, second)
    for target, source in ((one, other), (other, one)):
        change(target, **{name: getattr(source, name) for name in columns})
    assert faults(job) == [(Damage.CHANGED, first, one.pk)]


def test_a_changed_number_is_found_as_that_and_not_as_a_gap(job):
    event = event_at(job.stream, LENGTH)
    change(event, sequence=LENGTH + 3)
    assert faults(job) == [(Damage.CHANGED, LENGTH + 3, event.pk)]


def test_a_stream_that_was_written_anew_to_its_end_does_not_fit_its_head(job):
    last = event_at(job.stream, LENGTH)
    change(last, **rewritten(last, payload={"result_summary": "nothing was done"}))
    assert faults(job) == [(Damage.CHANGED, LENGTH, last.pk)]


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("event_hash", "0" * 64, (Damage.CHANGED, LENGTH)),
        ("event_hash", "", (Damage.CHANGED, LENGTH)),
        ("event_sequence", LENGTH + 2, (Damage.REMOVED, LENGTH + 1)),
        ("event_sequence", LENGTH - 1, (Damage.CHANGED, LENGTH - 1)),
        ("event_feed_tx", 2**60, (Damage.CHANGED, LENGTH)),
    ],
    ids=["hash", "no hash", "longer", "shorter", "feed position"],
)
def test_a_changed_head_of_a_job_is_found(job, column, value, told):
    execute(f"UPDATE jobs_job SET {column} = %s WHERE id = %s", value, job.pk)
    assert [fault[:2] for fault in faults(job)] == [told]


def test_a_head_that_was_set_back_to_nothing_is_found(job):
    execute("UPDATE jobs_job SET event_sequence = 0, event_hash = '' WHERE id = %s", job.pk)
    assert faults(job) == [(Damage.INSERTED, 1, event_at(job.stream, 1).pk)]


def delete(job):
    execute("DELETE FROM artifacts_artifact WHERE job_id = %s", job.pk) if job.artifact_count else None
    Job.objects.filter(pk=job.pk).delete()


def test_the_trail_outlives_its_job(job):
    delete(job)
    report = verify_trail(heads_of=HEADS, stream=job.stream)
    assert report.is_intact
    assert report.outlived_streams == 1


def test_a_change_is_found_also_when_the_job_was_deleted(job):
    event = event_at(job.stream, 3)
    change(event, actor_name="mallory")
    delete(job)
    assert faults(job) == [(Damage.CHANGED, 3, event.pk)]


def of_the_role(job):
    return f"role:{job.target_role_id}"


def verify_role(job):
    return verify_trail(heads_of=HEADS, stream=of_the_role(job)).first_fault


def test_the_other_nouns_have_their_heads_in_rows_of_their_own(job):
    report = verify_trail(heads_of=HEADS, stream=of_the_role(job))
    assert (report.is_intact, report.events, report.outlived_streams) == (True, 1, 0)


def test_a_head_row_that_is_missing_is_found(job):
    execute("DELETE FROM events_streamhead WHERE stream = %s", of_the_role(job))
    fault = verify_role(job)
    assert (fault.what, fault.sequence) == (Damage.REMOVED, 1)
    assert "head is missing" in str(fault)


def test_a_head_row_without_events_is_found(job):
    execute("DELETE FROM events_event WHERE stream = %s", of_the_role(job))
    fault = verify_role(job)
    assert (fault.what, fault.sequence, fault.event_id) == (Damage.REMOVED, 1, None)


def test_a_changed_head_row_is_found(job):
    StreamHead.objects.filter(pk=of_the_role(job)).update(hash="0" * 64)
    assert verify_role(job).what == Damage.CHANGED


@pytest.mark.parametrize(
    "stream", ["job:999999999", "job:x", "job:0", f"job:{2**63}", "nonsense", "", "role:0"]
)
def test_a_stream_that_does_not_exist_is_no_intact_one(stream):
    with pytest.raises(StreamUnknown):
        verify_trail(heads_of=HEADS, stream=stream)


@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    ("column", "value"),
    [("created_at", "yesterday"), ("created_at", "2026-13-45 00:00:00"), ("created_at", 7),
     ("canonical", b"\x00"), ("hash", b"\x00"),
     ("job_id", "seven"), ("sequence", "three"), ("actor_name", b"\xff")],
    ids=str,
)  # fmt: skip
def test_a_value_of_a_type_that_no_column_has_is_found(job, column, value):
    event = event_at(job.stream, 3)
    change(event, **{column: value})
    [(what, _, _)] = faults(job)
    assert what in (Damage.CHANGED, Damage.REMOVED)
