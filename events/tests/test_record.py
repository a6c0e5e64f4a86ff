"""Facts are chained as they are recorded: numbered, hashed over the stored text, kept or undone with what they tell."""

from __future__ import annotations

import contextlib
import hashlib
import json

import pytest
from django.db import transaction

from core.actors import SYSTEM, Actor, ActorKind
from core.clock import database_moment
from core.transactions import write_transaction
from events.models import Event, StreamHead
from events.record import record
from jobs.models import Job
from jobs.services.claiming import claim
from jobs.services.closing import complete
from jobs.tests.board import new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.threads import at_once

pytestmark = pytest.mark.usefixtures("db")

PAT = Actor(kind=ActorKind.PERSON, name="pat", user_id=5)
ANN = Actor(kind=ActorKind.AGENT, name="ann", agent_id=3, via="pat")


@write_transaction
def tell(stream: str, kind: str = "role_paused", *, actor: Actor = PAT, **payload: object) -> None:
    record(stream=stream, moment=database_moment(), actor=actor, event_type=kind, payload=payload)


def events_of(stream: str) -> list[Event]:
    return list(Event.objects.filter(stream=stream).order_by("sequence"))


def assert_chained(events: list[Event]) -> None:
    before = ""
    for number, event in enumerate(events, start=1):
        assert event.sequence == number
        assert event.previous_hash == before
        assert event.hash == hashlib.sha256(event.canonical.encode("utf-8")).hexdigest()
        assert json.loads(event.canonical)["previous_hash"] == before
        before = event.hash


def test_each_fact_is_numbered_and_carries_the_hash_of_the_one_before():
    for number in range(4):
        tell("role:90001", number=number)
    events = events_of("role:90001")
    assert len(events) == 4
    assert_chained(events)
    head = StreamHead.objects.get(pk="role:90001")
    assert (head.sequence, head.hash, head.feed_tx) == (4, events[-1].hash, events[-1].feed_tx)


def test_the_stored_text_is_what_was_hashed_and_holds_the_whole_fact():
    tell("role:90002", actor=ANN, reason="Prüfung ✓ \u2028", z=1, a={"y": [1.5, None], "b": True})
    [event] = events_of("role:90002")
    told = json.loads(event.canonical)
    assert event.canonical == json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert told == {
        "actor": {"kind": "agent", "name": "ann", "agent_id": 3, "user_id": None, "via": "pat"},
        "created_at": told["created_at"],
        "current_status": None,
        "event_type": "role_paused",
        "job_id": None,
        "payload": {"reason": "Prüfung ✓ \u2028", "z": 1, "a": {"y": [1.5, None], "b": True}},
        "previous_hash": "",
        "previous_status": None,
        "sequence": 1,
        "stream": "role:90002",
    }
    assert told["created_at"].endswith("Z")
    assert len(told["created_at"]) == len("2026-12-01T12:00:00.000000Z")
    assert event.payload == told["payload"]


def test_the_columns_repeat_what_the_text_says():
    tell("role:90003", "role_created", actor=ANN)
    tell("role:90003", "role_paused", actor=SYSTEM)
    first, second = events_of("role:90003")
    assert (first.actor_kind, first.actor_name, first.actor_agent_id, first.actor_user_id) == (
        "agent",
        "ann",
        3,
        None,
    )
    assert (second.event_type, second.actor_kind, second.actor_name) == ("role_paused", "system", "system")
    assert first.epoch == second.epoch >= 1


def test_streams_do_not_touch_each_other():
    for stream in ("role:90004", "agent:90004", "role:90004"):
        tell(stream)
    assert [event.sequence for event in events_of("role:90004")] == [1, 2]
    [only] = events_of("agent:90004")
    assert (only.sequence, only.previous_hash) == (1, "")


def test_what_is_rolled_back_was_never_told_and_leaves_no_gap():
    tell("role:90005")
    with contextlib.suppress(ZeroDivisionError), transaction.atomic():
        tell("role:90005", lost=True)
        raise ZeroDivisionError
    tell("role:90005")
    events = events_of("role:90005")
    assert [event.payload for event in events] == [{}, {}]
    assert_chained(events)


def test_told_at_once_they_are_one_chain():
    def several() -> None:
        for _ in range(5):
            tell("role:90006")

    assert at_once([several] * 6) == [None] * 6
    events = events_of("role:90006")
    assert len(events) == 30
    assert_chained(events)
    # The order in which the feed gives them is the order of their stream.
    assert [event.pk for event in sorted(events, key=lambda event: (event.feed_tx, event.pk))] == [
        event.pk for event in events
    ]


def test_a_jobs_chain_has_its_head_in_the_jobs_own_row():
    role = new_role()
    agent = new_agent(role)
    number = published(agent, role).pk
    claim(job_id=number, actor=agent)
    complete(job_id=number, actor=agent)
    events = events_of(f"job:{number}")
    assert_chained(events)
    job = Job.objects.get(pk=number)
    assert (job.event_sequence, job.event_hash, job.event_feed_tx) == (
        3,
        events[-1].hash,
        events[-1].feed_tx,
    )
    assert [(event.event_type, event.previous_status, event.current_status) for event in events] == [
        ("task_published", None, "published"),
        ("task_claimed", "published", "in_progress"),
        ("task_completed", "in_progress", "completed"),
    ]
    assert {event.job_id for event in events} == {number}
    assert not StreamHead.objects.filter(pk=f"job:{number}").exists()


@pytest.mark.postgresql_only
def test_the_place_in_the_feed_never_goes_back_within_a_stream():
    """A transaction may get its id early and then wait for the row: its fact comes later all the same."""

    def early_id_late_row() -> None:
        with transaction.atomic():
            moment = database_moment()
            barrier_passed.append(moment.transaction_id)
            later[0]()
            record(stream="role:90007", moment=moment, actor=PAT, event_type="role_paused", payload={})

    barrier_passed: list[int] = []
    later = [lambda: at_once([lambda: tell("role:90007")])]
    early_id_late_row()
    first, second = events_of("role:90007")
    assert second.feed_tx >= first.feed_tx > barrier_passed[0]
