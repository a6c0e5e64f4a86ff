"""Agents, roles and jobs are taken away without leaving a job where nobody can reach it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from core.errors import DomainError, InvalidInput
from events.models import Event
from jobs.errors import PersonsOnly, RoleHasJobs
from jobs.lifecycle import FINAL
from jobs.models import Job
from jobs.services.blocking import block
from jobs.services.claiming import claim
from jobs.services.closing import cancel, fail
from jobs.services.removing import deactivate_agent, delete_job, delete_role
from jobs.services.sweeping import sweep_once
from jobs.tests.board import PERSON, new_agent, new_role, published
from roles.errors import RoleIsTarget, RoleUnknown
from roles.models import Role
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def test_a_role_goes_with_its_unfinished_jobs_to_another_one_and_failed_ones_count():
    role, target = new_role(), new_role()
    worker = new_agent(role)
    open_, held, failed, done = (published(worker, role) for _ in range(4))
    for job in (held, failed):
        claim(job_id=job.pk, actor=worker)
    fail(job_id=failed.pk, actor=worker, failure_reason="r")
    cancel(job_id=done.pk, actor=worker)
    with pytest.raises(RoleHasJobs) as refused:
        delete_role(actor=PERSON, role_key=role.role_key)
    assert refused.value.data["jobs"] == 3
    with pytest.raises(RoleIsTarget):
        delete_role(actor=PERSON, role_key=role.role_key, move_to=role.role_key)
    with pytest.raises(RoleUnknown):
        delete_role(actor=PERSON, role_key=role.role_key, move_to="none-such")
    _, moved = delete_role(actor=PERSON, role_key=role.role_key, move_to=target.role_key)
    assert moved == [open_.pk, held.pk, failed.pk]
    assert Job.objects.get(pk=held.pk).assignee_agent_id == worker.agent_id
    event = Event.objects.filter(stream=held.stream).order_by("-sequence")[0]
    assert event.payload["changes"]["target_role_key"] == {"old": role.role_key, "new": target.role_key}
    gone = Event.objects.filter(stream=f"role:{role.pk}").order_by("-sequence")[0]
    assert (gone.event_type, gone.payload["moved_jobs"]) == ("role_deleted", 3)
    assert not Job.objects.filter(target_role__is_deleted=True).exclude(status__in=sorted(FINAL)).exists()


def test_an_agent_takes_nothing_away():
    role = new_role()
    agent = new_agent(role)
    job = published(agent, role)
    for deed in (
        lambda: deactivate_agent(actor=agent, agent_name=agent.name, reason="r"),
        lambda: delete_role(actor=agent, role_key=role.role_key),
        lambda: delete_job(actor=agent, job_id=job.pk),
    ):
        with pytest.raises(PersonsOnly):
            deed()


class Other(threading.Thread):
    """Runs a call on a connection of its own, and keeps what it came to."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__()
        self.call = call
        self.outcome: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.outcome = self.call()
        except DomainError as error:
            self.outcome = error
        finally:
            connection.close()

    def wait_until_it_waits(self) -> None:
        """Until PostgreSQL says that somebody waits for a lock."""
        while self.is_alive():
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
                if cursor.fetchone()[0]:
                    return
        raise AssertionError(f"it did not wait: {self.outcome}")


@pytest.mark.postgresql_only
def test_a_deletion_waits_for_a_publication_that_is_not_committed_and_then_counts_it():
    role = new_role()
    agent = new_agent(role)
    with transaction.atomic():
        published(agent, role)
        deletion = Other(lambda: delete_role(actor=PERSON, role_key=role.role_key))
        deletion.wait_until_it_waits()
    deletion.join()
    assert isinstance(deletion.outcome, RoleHasJobs)
    assert Role.objects.get(pk=role.pk).is_deleted is False


@pytest.mark.postgresql_only
def test_a_publication_waits_for_a_deletion_that_is_not_committed_and_then_finds_no_role():
    role = new_role()
    agent = new_agent(role)
    with transaction.atomic():
        delete_role(actor=PERSON, role_key=role.role_key)
        publication = Other(lambda: published(agent, role))
        publication.wait_until_it_waits()
    publication.join()
    assert isinstance(publication.outcome, InvalidInput)
    assert not Job.objects.filter(target_role=role).exists()


def test_the_sweep_takes_back_what_a_claim_under_way_got_after_its_agent_was_deactivated():
    role = new_role()
    agent = new_agent(role)
    early, late, blocked = (published(agent, role) for _ in range(3))
    claim(job_id=early.pk, actor=agent)
    _, returned = deactivate_agent(actor=PERSON, agent_name=agent.name, reason="Stolen")
    assert returned == [early.pk]
    # Authenticated before, committed after.
    for job in (late, blocked):
        claim(job_id=job.pk, actor=agent)
    block(job_id=blocked.pk, actor=agent, blocked_reason="?")
    report = sweep_once()
    assert {late.pk, blocked.pk} <= set(report.returned)
    assert set(Job.objects.filter(pk__in=[late.pk, blocked.pk]).values_list("status", flat=True)) == {
        "published"
    }
    event = Event.objects.filter(stream=late.stream).order_by("-sequence")[0]
    assert (event.event_type, event.actor_kind) == ("task_requeued", "system")
    assert event.payload["reason"] == f"{agent.name} was deactivated."
    assert sweep_once().returned == []
