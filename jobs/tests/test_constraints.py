"""State, assignee, lease and times agree at every commit: the database refuses what no verb may leave behind."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from jobs.lifecycle import Status
from jobs.models import Job
from jobs.services.blocking import block, unblock
from jobs.services.claiming import claim
from jobs.services.closing import cancel, complete, fail
from jobs.services.sweeping import expire
from jobs.tests.board import PERSON, age, new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")

HELD = {"in_progress", "blocked", "unblocked"}
LEASED = {"in_progress", "unblocked"}
EVERY = {str(status) for status in Status}
TIMES = {
    "published": "published_at",
    "completed": "completed_at",
    "failed": "failed_at",
    "blocked": "blocked_at",
    "unblocked": "unblocked_at",
    "cancelled": "cancelled_at",
}
TOLD = {
    "failed": ("failed_at", "failure_reason"),
    "blocked": ("blocked_at", "blocked_reason"),
    "unblocked": ("unblocked_at", "unblock_reason"),
    "cancelled": ("cancelled_at", "cancel_reason"),
}
NOW = "CURRENT_TIMESTAMP"

# Constraint, the states in which the assignment breaks it, and the assignment.
ILLEGAL = [
    # From the other states an unknown one also breaks what ties them to their times and leases.
    ("job_status_is_known", {"published", "completed"}, "status = 'done'"),
    ("job_priority_is_known", EVERY, "priority = 25"),
    ("job_waiting_has_no_assignee", {"published"}, "assignee_agent_id = {agent}"),
    ("job_held_or_completed_has_an_assignee", HELD | {"completed"}, "assignee_agent_id = NULL"),
    ("job_lease_runs_exactly_while_leased", LEASED, "lease_expires_at = NULL"),
    ("job_lease_runs_exactly_while_leased", LEASED, "lease_seconds = NULL"),
    ("job_lease_runs_exactly_while_leased", LEASED, "lease_heartbeat_at = NULL"),
    ("job_lease_runs_exactly_while_leased", EVERY - LEASED - {"pending"}, f"lease_expires_at = {NOW}"),
    ("job_held_has_a_generation", HELD, "lease_generation = 0"),
    ("job_held_has_its_start", HELD, "started_at = NULL"),
    *((f"job_{status}_has_its_time", {status}, f"{column} = NULL") for status, column in TIMES.items()),
    *(
        (name, EVERY - {status, "pending"}, f"{column} = {value}")
        for status, name in (
            ("failed", "job_failure_is_told_only_while_failed"),
            ("blocked", "job_block_is_told_only_while_blocked"),
            ("unblocked", "job_unblock_is_told_only_while_unblocked"),
            ("cancelled", "job_cancellation_is_told_only_while_cancelled"),
        )
        for column, value in zip(TOLD[status], (NOW, "'because'"), strict=True)
    ),
    ("job_deferred_says_until_when", EVERY - {"pending"}, "is_deferred = {true}"),
    ("job_retries_within_budget", EVERY - {"pending"}, "retry_count = max_retries + 1"),
]
CASES = [
    pytest.param(name, status, assignment, id=f"{status}, {assignment}")
    for name, states, assignment in ILLEGAL
    for status in sorted(states - {"pending"})
]


@pytest.fixture(scope="module")
def jobs(db: None) -> dict[str, int]:
    """A job in each state that there is yet, brought there by its verbs."""
    role = new_role()
    agent, source = new_agent(role), new_agent()
    found = {"published": published(source, role).pk}
    for status in sorted(EVERY - {"published", "pending"}):
        number = found[status] = published(source, role).pk
        claim(job_id=number, actor=agent)
    block(job_id=found["blocked"], actor=agent, blocked_reason=None)
    block(job_id=found["unblocked"], actor=agent, blocked_reason=None)
    unblock(job_id=found["unblocked"], actor=PERSON, unblock_reason="!")
    complete(job_id=found["completed"], actor=agent)
    fail(job_id=found["failed"], actor=agent, failure_reason=None)
    cancel(job_id=found["cancelled"], actor=source)
    assert dict(Job.objects.filter(pk__in=found.values()).values_list("status", "pk")) == found
    return found | {"agent": agent.agent_id or 0}


@pytest.mark.parametrize(("name", "status", "assignment"), CASES)
def test_the_database_refuses(jobs, name, status, assignment):
    true = "1" if connection.vendor == "sqlite" else "true"
    change = assignment.format(agent=jobs["agent"], true=true)
    with (
        pytest.raises(IntegrityError) as refused,
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"UPDATE jobs_job SET {change} WHERE id = %s", [jobs[status]])
    assert name in str(refused.value)


def test_every_constraint_of_the_table_is_among_those_tried():
    tried = {name for name, _, _ in ILLEGAL}
    assert {constraint.name for constraint in Job._meta.constraints} == tried


def test_what_expired_too_often_failed_without_an_assignee():
    """Failed is the one state that may have an assignee or none."""
    role = new_role(max_lease_expiries=0)
    agent = new_agent(role)
    number = published(agent, role).pk
    claim(job_id=number, actor=agent)
    age(Job.objects.filter(pk=number), 4000)
    assert expire(job_id=number)
    job = Job.objects.get(pk=number)
    assert (job.status, job.assignee_agent) == ("failed", None)
