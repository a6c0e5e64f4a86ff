"""Which job a claim gets: the order over one role and several, what is kept back, and how many one agent may hold."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.clock import database_moment
from jobs.errors import AtCapacity, NothingToClaim, RolePaused
from jobs.models import Job
from jobs.selectors import get_job
from jobs.services.blocking import block, unblock
from jobs.services.claiming import CANDIDATES, claim, claim_next
from jobs.services.closing import complete, fail, restart
from jobs.services.returning import release
from jobs.tests.board import PERSON, age, as_now, copies, new_agent, new_role, published
from roles.services import pause_role, resume_role
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def taken_in_order(agent, roles, count: int) -> list[int]:
    return [claim_next(actor=agent, role_keys=[role.role_key for role in roles]).pk for _ in range(count)]


def reason(agent, *roles, labels=()) -> str:
    with pytest.raises(NothingToClaim) as refused:
        claim_next(actor=agent, role_keys=[role.role_key for role in roles], labels=labels)
    return refused.value.data["reason"]


def test_the_highest_priority_goes_first_then_the_oldest_then_the_lowest_id():
    role = new_role()
    agent = new_agent(role)
    low, high, old, twin = (published(agent, role, priority=p).pk for p in (10, 40, 20, 20))
    now = database_moment().now
    Job.objects.filter(pk=old).update(created_at=now - timedelta(hours=1))
    Job.objects.filter(pk=twin).update(created_at=now)
    second_twin = copies(get_job(twin), 1)[0]
    assert taken_in_order(agent, [role], 5) == [high, old, twin, second_twin, low]


def test_several_roles_are_one_queue():
    roles = [new_role(), new_role(), new_role()]
    agent = new_agent(*roles)
    numbers = {
        (role, priority): published(agent, roles[role], priority=priority).pk
        for role, priority in ((0, 20), (1, 30), (2, 10), (1, 10), (0, 40), (2, 20))
    }
    wanted = [numbers[key] for key in ((0, 40), (1, 30), (0, 20), (2, 20), (2, 10), (1, 10))]
    assert taken_in_order(agent, roles, 6) == wanted


def test_a_role_with_many_jobs_does_not_hide_a_better_one_of_another():
    full, other = new_role(), new_role()
    agent = new_agent(full, other)
    copies(published(agent, full, priority=20), 3 * CANDIDATES)
    better = published(agent, other, priority=30).pk
    assert taken_in_order(agent, [full, other], 1) == [better]


@pytest.mark.parametrize("asked", [1, 2], ids=["of one role", "of two roles"])
def test_a_job_that_has_just_become_due_takes_its_place_in_the_order(asked):
    roles = [new_role(), new_role()][:asked]
    agent = new_agent(*roles)
    waiting = published(agent, roles[-1], priority=10).pk
    due = published(agent, roles[0], priority=40, not_before=database_moment().now + timedelta(seconds=60)).pk
    age(Job.objects.filter(pk=due), 61)
    assert taken_in_order(agent, roles, 2) == [due, waiting]


def test_a_job_is_not_handed_out_before_its_time():
    role = new_role()
    agent = new_agent(role)
    number = published(agent, role, not_before=database_moment().now + timedelta(seconds=60)).pk
    assert reason(agent, role) == "not_due"
    age(Job.objects.filter(pk=number), 61)
    assert claim_next(actor=agent, role_keys=[role.role_key]).pk == number


def test_a_claim_that_finds_nothing_leaves_the_due_ones_as_they_were():
    """Letting a due job in is part of the claim: refused, it is undone."""
    role = new_role()
    agent = new_agent(role)
    number = published(agent, role, not_before=database_moment().now + timedelta(seconds=60)).pk
    age(Job.objects.filter(pk=number), 61)
    pause_role(actor=PERSON, role_key=role.role_key, reason="lunch")
    before = Job.objects.filter(pk=number).values().get()
    assert reason(agent, role) == "paused"
    assert Job.objects.filter(pk=number).values().get() == before


def test_all_labels_that_were_asked_for_are_needed():
    role = new_role()
    agent = new_agent(role)
    published(agent, role, labels=["ui"], priority=40)
    both = published(agent, role, labels=["ui", "night"]).pk
    assert reason(agent, role, labels=["ui", "day"]) == "empty"
    found = claim_next(actor=agent, role_keys=[role.role_key], labels=["night", "ui", "night"])
    assert found.pk == both


def test_what_was_claimed_once_is_handed_out_again_although_its_end_has_passed():
    role = new_role()
    agent = new_agent(role)
    number = published(agent, role, expires_at=database_moment().now + timedelta(seconds=60)).pk
    claim(job_id=number, actor=agent)
    release(job_id=number, actor=agent)
    age(Job.objects.filter(pk=number), 61)
    assert claim_next(actor=agent, role_keys=[role.role_key]).pk == number


def test_a_paused_role_hands_out_nothing_by_either_way_until_it_is_resumed():
    role, other = new_role(), new_role()
    agent = new_agent(role, other)
    number = published(agent, role, priority=40).pk
    elsewhere = published(agent, other).pk
    pause_role(actor=PERSON, role_key=role.role_key, reason="lunch")
    with pytest.raises(RolePaused, match="lunch"):
        claim(job_id=number, actor=agent)
    assert taken_in_order(agent, [role, other], 1) == [elsewhere]
    resume_role(actor=PERSON, role_key=role.role_key)
    assert taken_in_order(agent, [role, other], 1) == [number]


def test_every_held_state_counts_towards_the_role_limit():
    role = new_role(max_held_per_agent=3)
    agent = new_agent(role)
    numbers = [published(agent, role).pk for _ in range(4)]
    taken_in_order(agent, [role], 3)
    for number in numbers[1:3]:
        block(job_id=number, actor=agent, blocked_reason="?")
    unblock(job_id=numbers[2], actor=PERSON, unblock_reason="!")
    assert reason(agent, role) == "at_capacity"
    with pytest.raises(AtCapacity):
        claim(job_id=numbers[3], actor=agent)
    complete(job_id=numbers[0], actor=agent)
    assert taken_in_order(agent, [role], 1) == [numbers[3]]


def test_the_limit_of_one_role_leaves_the_others_open():
    limited, free = new_role(max_held_per_agent=1), new_role()
    agent = new_agent(limited, free)
    first, _, elsewhere = (
        published(agent, role, priority=priority).pk
        for role, priority in ((limited, 40), (limited, 30), (free, 10))
    )
    assert taken_in_order(agent, [limited, free], 2) == [first, elsewhere]


def test_what_is_held_of_other_roles_does_not_count_towards_a_limit():
    limited, free = new_role(max_held_per_agent=1), new_role()
    agent = new_agent(limited, free)
    numbers = [published(agent, role).pk for role in (free, free, limited)]
    assert taken_in_order(agent, [free], 2) + taken_in_order(agent, [limited], 1) == numbers


def test_a_restart_needs_room_too():
    role = new_role(max_held_per_agent=1)
    agent = new_agent(role)
    first, second = (published(agent, role).pk for _ in range(2))
    claim(job_id=first, actor=agent)
    fail(job_id=first, actor=agent, failure_reason=None)
    claim(job_id=second, actor=agent)
    with pytest.raises(AtCapacity):
        restart(job_id=first, actor=agent)


def test_a_role_taken_from_an_agent_hands_it_nothing_although_its_credential_was_read_before():
    role = new_role()
    agent = new_agent(role)
    published(agent, role)
    role.agents.clear()
    assert reason(agent, role) != "empty"
    assert role.role_key not in as_now(agent.name).roles


def test_jobs_on_hold_are_told_as_such():
    role = new_role()
    agent = new_agent(role)
    published(agent, role, on_hold=True)
    assert reason(agent, role) == "on_hold"
