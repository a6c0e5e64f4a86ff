"""People verify the audit trail: the report of the command, as JSON."""

import uuid

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection

from events.models import Event
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.people import UI, member, signed_in
from testing.wire import Caller, role

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def caller():
    """Somebody who may look, until the test is over: what is committed here is seen by other modules."""
    user: User = member(f"vera-{uuid.uuid4().hex[:8]}", "viewers")
    yield signed_in(user)
    user.delete()


def test_an_intact_trail_is_reported_with_what_was_read(caller: Caller) -> None:
    made = role(f"role-{uuid.uuid4().hex[:8]}")
    answer = caller.get(f"{UI}/audit/verify?stream=role:{made.pk}&x=1")
    assert answer.status_code == 200
    assert answer.headers["X-Ignored-Parameters"] == "x"
    assert answer.content.decode() == (
        '{"intact":true,"streams":1,"events":1,"outlived_streams":0,'
        '"damaged_streams":0,"first_fault":null,"faults":[]}'
    )
    whole = caller.get(f"{UI}/audit/verify").json()
    assert (whole["intact"], whole["streams"] >= 1) == (True, True)


def test_a_changed_event_is_named(caller: Caller) -> None:
    made = role(f"role-{uuid.uuid4().hex[:8]}")
    stream = f"role:{made.pk}"
    Event.objects.filter(stream=stream).update(actor_name="somebody else")
    try:
        report = caller.get(f"{UI}/audit/verify").json()
        assert (report["intact"], report["damaged_streams"]) == (False, 1)
        fault = report["first_fault"]
        assert list(fault) == ["stream", "sequence", "event_id", "what", "detail"]
        assert (fault["stream"], fault["sequence"], fault["what"]) == (stream, 1, "changed")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM events_event WHERE stream = %s", [stream])
            cursor.execute("DELETE FROM events_streamhead WHERE stream = %s", [stream])


def test_a_stream_that_is_not_there_says_how_streams_are_named(caller: Caller) -> None:
    refused = caller.get(f"{UI}/audit/verify?stream=job:999999999")
    assert refused.status_code == 404
    assert "job:7" in refused.json()["detail"]
    assert caller.get(f"{UI}/audit/verify?stream=%00").status_code == 422


def test_only_who_may_see_events_verifies_them(caller: Caller) -> None:
    user = User.objects.get(username=caller.name)
    user.groups.remove(Group.objects.get(name="viewers"))
    refused = caller.get(f"{UI}/audit/verify")
    assert (refused.status_code, refused.json()["code"]) == (403, "permission_missing")
    assert "events.view_event" in refused.json()["detail"]
