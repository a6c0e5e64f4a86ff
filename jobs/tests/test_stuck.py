"""Which jobs are stuck: by their role's patience, by progress, by who is there; whatever the number of roles."""

from datetime import timedelta

import pytest
from django.db.models import F

from agents.models import Agent
from core.clock import database_moment
from jobs.models import Job
from jobs.services.claiming import claim
from jobs.services.holding import hold
from jobs.stuck import explained, stuck_jobs
from jobs.tests.board import new_agent, new_role, published
from roles.models import Role

pytestmark = pytest.mark.django_db


def held(role: Role, *, minutes: float) -> int:
    """A job that its holder has had for so long."""
    worker = new_agent(role)
    job = published(worker, role)
    claim(job_id=job.pk, actor=worker)
    return since(job.pk, minutes=minutes)


def since(job_id: int, **by: float) -> int:
    Job.objects.filter(pk=job_id).update(status_changed_at=F("status_changed_at") - timedelta(**by))
    return job_id


def stuck(**options: int) -> list[int]:
    return list(stuck_jobs(database_moment().now, **options).values_list("pk", flat=True))


def test_each_role_has_its_own_patience_unless_another_is_named() -> None:
    patient, hasty = new_role(stuck_after_minutes=60), new_role(stuck_after_minutes=5)
    short, long = held(hasty, minutes=4), held(hasty, minutes=6)
    late = held(patient, minutes=59)
    later = held(patient, minutes=61)
    assert stuck() == [later, long]
    assert stuck(minutes=5) == [later, late, long]
    assert set(stuck(minutes=1)) == {short, long, late, later}


def test_progress_starts_the_time_anew() -> None:
    job_id = held(new_role(stuck_after_minutes=60), minutes=300)
    now = database_moment().now
    Job.objects.filter(pk=job_id).update(progress_at=now - timedelta(minutes=59))
    assert stuck() == []
    Job.objects.filter(pk=job_id).update(progress_at=now - timedelta(minutes=61))
    assert stuck() == [job_id]


def test_a_waiting_job_is_stuck_only_while_nobody_is_there_for_it() -> None:
    role = new_role()
    source, worker = new_agent(), new_agent(role)
    job_id = since(published(source, role).pk, hours=2)
    kept_back = since(published(source, role).pk, hours=2)
    hold(job_id=kept_back, actor=source)
    due_later = published(source, role, not_before=database_moment().now + timedelta(minutes=1)).pk
    since(due_later, hours=2)
    assert stuck() == [job_id]
    Agent.objects.filter(name=worker.name).update(last_seen_at=database_moment().now)
    assert stuck() == []
    Agent.objects.filter(name=worker.name).update(is_active=False)
    assert stuck() == [job_id]


def test_many_roles_are_no_hindrance() -> None:
    # A condition for each was more than SQLite takes: every list of jobs was a 503.
    Role.objects.bulk_create([Role(role_key=f"many-{number}", role_label="x") for number in range(1_200)])
    job_id = held(new_role(), minutes=90)
    [found] = explained(stuck_jobs(database_moment().now), database_moment().now)
    assert (found.job.pk, "no progress for 1 h 30 min" in found.reason) == (job_id, True)
