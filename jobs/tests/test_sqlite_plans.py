"""SQLite is told which index to walk: without ANALYZE it guesses, and with it, it may guess wrong as well."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from core.errors import DomainError
from jobs.services.claiming import claim_next
from jobs.services.sweeping import sweep_once
from jobs.tests.board import new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("db")]


def plans_of(run: Any) -> list[str]:
    """The steps of every plan with which the call looks for jobs."""
    found: list[tuple[str, Any]] = []

    def note(execute, sql, params, many, context):
        found.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        run()
    steps = []
    with connection.cursor() as cursor:
        for sql, params in found:
            if "jobs_job j" in sql:
                cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
                steps += [row[3] for row in cursor.fetchall()]
    assert steps
    return steps


@pytest.mark.parametrize("analyzed", [False, True], ids=["unknown data", "after ANALYZE"])
@pytest.mark.parametrize("roles", [1, 3])
def test_a_claim_walks_the_claims_order_and_sorts_no_backlog(roles, analyzed):
    wanted = [new_role(max_held_per_agent=50) for _ in range(roles)]
    worker = new_agent(*wanted)
    for _ in range(30):
        published(worker, wanted[0])
    if analyzed:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    steps = plans_of(lambda: claim_next(actor=worker, role_keys=[role.role_key for role in wanted]))
    assert any("SEARCH j USING" in step and "INDEX job_claim_order" in step for step in steps)
    assert any("SEARCH d USING" in step and "INDEX job_deferred_until" in step for step in steps)
    assert any("SEARCH m USING" in step and "INDEX job_held_by_agent" in step for step in steps)
    assert not any("job_list_by_role" in step or step.startswith("SCAN j") for step in steps)


def test_an_empty_handed_claim_walks_the_same_indexes():
    role = new_role()
    worker = new_agent(role)

    def run():
        with pytest.raises(DomainError, match="No published jobs"):
            claim_next(actor=worker, role_keys=[role.role_key])

    assert not any("job_list_by_role" in step or step.startswith("SCAN j") for step in plans_of(run))


def test_the_sweep_reads_due_times_and_not_the_table():
    steps = plans_of(sweep_once)
    assert any("INDEX job_lease_end" in step for step in steps)
    assert any("INDEX job_lapse_due" in step for step in steps)
    assert not any("PRIMARY KEY (rowid>?)" in step or "TEMP B-TREE" in step for step in steps)
