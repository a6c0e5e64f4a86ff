"""Roles: one active role a key, and a pause that is told once."""

from __future__ import annotations

import pytest

from events.models import Event
from jobs.tests.board import PERSON, new_role
from roles.errors import RoleExists, RoleUnknown
from roles.models import Role
from roles.services import create_role, edit_role, pause_role, resume_role
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.threads import at_once

pytestmark = pytest.mark.usefixtures("db")


def told(role: Role) -> list[str]:
    events = Event.objects.filter(stream=f"role:{role.pk}").order_by("sequence")
    return [event.event_type for event in events]


def test_a_key_is_taken_once_and_a_refusal_leaves_nothing():
    role = new_role()
    before = (Role.objects.count(), Event.objects.count())
    with pytest.raises(RoleExists, match=role.role_key):
        create_role(actor=PERSON, role_key=role.role_key, role_label="again")
    assert (Role.objects.count(), Event.objects.count()) == before


def test_a_key_is_taken_once_also_when_it_is_asked_for_at_once():
    answers = at_once([lambda: create_role(actor=PERSON, role_key="crowded", role_label="x")] * 4)
    made = [answer for answer in answers if isinstance(answer, Role)]
    assert len(made) == 1
    assert sum(isinstance(answer, RoleExists) for answer in answers) == 3
    assert told(made[0]) == ["role_created"]


def test_the_key_of_a_deleted_role_is_free_again():
    role = new_role()
    Role.objects.filter(pk=role.pk).update(is_deleted=True)
    again = create_role(actor=PERSON, role_key=role.role_key, role_label="again")
    assert again.pk != role.pk


def test_a_new_role_has_the_policy_that_was_asked_for_and_the_defaults():
    role = create_role(
        actor=PERSON, role_key="short", role_label="Short", lease_seconds=60, max_held_per_agent=2
    )
    assert (role.lease_seconds, role.max_held_per_agent) == (60, 2)
    plain = new_role()
    assert (plain.lease_seconds, plain.max_lease_expiries, plain.stuck_after_minutes) == (1800, 5, 60)
    assert plain.max_held_per_agent is None
    assert not plain.is_open


def test_a_pause_is_told_once_with_its_reason_and_ends_with_the_resumption():
    role = new_role()
    for _ in range(2):
        pause_role(actor=PERSON, role_key=role.role_key, reason="lunch")
    role.refresh_from_db()
    assert role.paused_at is not None
    assert role.pause_reason == "lunch"
    for _ in range(2):
        resume_role(actor=PERSON, role_key=role.role_key)
    resumed = Role.objects.get(pk=role.pk)
    assert (resumed.paused_at, resumed.pause_reason) == (None, "")
    assert told(role) == ["role_created", "role_paused", "role_resumed"]


def test_a_role_that_is_none_cannot_be_paused():
    for change in (pause_role, resume_role):
        with pytest.raises(RoleUnknown, match="no such role"):
            change(actor=PERSON, role_key="no such role", reason="")


def test_an_edit_can_change_the_key_itself_and_is_told_with_both():
    role = new_role()
    edit_role(actor=PERSON, role_key=role.role_key, new_key=f"{role.role_key}-b", stuck_after_minutes=5)
    assert Role.objects.get(pk=role.pk).role_key == f"{role.role_key}-b"
    event = Event.objects.filter(stream=f"role:{role.pk}").latest("sequence")
    assert event.payload["changes"]["role_key"] == {"old": role.role_key, "new": f"{role.role_key}-b"}
    with pytest.raises(RoleExists, match=new_role().role_key):
        edit_role(actor=PERSON, role_key=f"{role.role_key}-b", new_key=Role.objects.latest("pk").role_key)
