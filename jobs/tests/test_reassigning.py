"""A person gives a job to an agent: what stops a claim stops this, and the former holder is fenced off."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from agents.errors import AgentInactive, AgentUnknown
from core.errors import DomainError
from events.models import Event
from jobs.errors import (
    AgentAtCapacity,
    AgentLacksRole,
    AlreadyClaimed,
    LeaseLost,
    NotDue,
    OnHold,
    PersonsOnly,
    RolePaused,
    WrongStatus,
)
from jobs.models import Job
from jobs.selectors import previous_attempts
from jobs.services.claiming import claim, reassign
from jobs.services.closing import complete
from jobs.services.leasing import agent_heartbeat
from jobs.services.removing import deactivate_agent
from jobs.tests.board import PERSON, in_session, new_agent, new_role, published
from roles.services import pause_role
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def now(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def test_a_held_job_gets_a_new_holder_under_a_new_generation_and_the_old_one_changes_nothing():
    role = new_role()
    first, second = in_session(new_agent(role), "one"), new_agent(role)
    job = published(first, role)
    claim(job_id=job.pk, actor=first)
    Job.objects.filter(pk=job.pk).update(lease_expiry_count=3)
    reassign(job_id=job.pk, actor=PERSON, agent_name=second.name, reason="Faster", lease_seconds=90)
    held = now(job)
    assert (held.status, held.assignee_agent_id, held.lease_generation) == ("in_progress", second.agent_id, 2)
    assert (held.lease_seconds, held.lease_expiry_count, held.lease_session) == (90, 0, None)
    with pytest.raises(LeaseLost):
        complete(job_id=job.pk, actor=first, lease_generation=1)
    assert agent_heartbeat(actor=first).lost == [job.pk]
    # Another agent that happens to name its session alike has lost nothing.
    assert agent_heartbeat(actor=in_session(new_agent(role), "one")).lost == []
    event = Event.objects.filter(stream=job.stream).order_by("-sequence")[0]
    told = event.payload
    assert (event.event_type, event.actor_kind) == ("task_reassigned", "person")
    assert (told["assigned_to"], told["taken_from"], told["reason"]) == (second.name, first.name, "Faster")
    complete(job_id=job.pk, actor=second, lease_generation=2)
    assert now(job).status == "completed"
    assert [attempt["agent"] for attempt in previous_attempts(now(job))][-1] == second.name


def test_a_published_job_is_handed_over_too():
    role = new_role()
    agent = new_agent(role)
    job = published(agent, role)
    reassign(job_id=job.pk, actor=PERSON, agent_name=agent.name)
    event = Event.objects.filter(stream=job.stream).order_by("-sequence")[0]
    assert (now(job).assignee_agent_id, event.payload["taken_from"]) == (agent.agent_id, None)


def refuse(expected: type[DomainError], job: Job, name: str) -> DomainError:
    before = now(job)
    with pytest.raises(expected) as refused:
        reassign(job_id=job.pk, actor=PERSON, agent_name=name)
    assert now(job).event_sequence == before.event_sequence
    return refused.value


def test_whoever_cannot_claim_it_is_not_given_it():
    role = new_role(max_held_per_agent=1)
    holder, other, outsider = new_agent(role), new_agent(role), new_agent()
    job = published(holder, role)
    refused = refuse(AgentLacksRole, job, outsider.name)
    assert refused.data["held"] == "none"
    refuse(AgentUnknown, job, "nobody-such")
    claim(job_id=job.pk, actor=holder)
    assert "already held by" in refuse(AlreadyClaimed, job, holder.name).message
    claim(job_id=published(holder, role).pk, actor=other)
    assert refuse(AgentAtCapacity, job, other.name).data["limit"] == 1
    deactivate_agent(actor=PERSON, agent_name=other.name, reason="r")
    refuse(AgentInactive, job, other.name)
    complete(job_id=job.pk, actor=holder)
    refuse(WrongStatus, job, holder.name)


def test_what_is_not_handed_out_is_not_handed_over():
    role = new_role()
    agent = new_agent(role)
    refuse(OnHold, published(agent, role, on_hold=True), agent.name)
    refuse(NotDue, published(agent, role, not_before=timezone.now() + timedelta(hours=1)), agent.name)
    job = published(agent, role)
    pause_role(actor=PERSON, role_key=role.role_key, reason="Rest")
    refuse(RolePaused, job, agent.name)


def test_an_agent_cannot_give_work_to_another():
    role = new_role()
    agent, other = new_agent(role), new_agent(role)
    job = published(agent, role)
    with pytest.raises(PersonsOnly, match=f"Only a person may reassign job {job.pk}"):
        reassign(job_id=job.pk, actor=agent, agent_name=other.name)
