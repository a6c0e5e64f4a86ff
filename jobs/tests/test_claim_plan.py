"""How PostgreSQL finds the next job among 100,000: it walks the claim's own index and sorts nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from jobs.models import Job
from jobs.services.claiming import claim_next
from jobs.tests.board import new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = [pytest.mark.postgresql_only, pytest.mark.slow, pytest.mark.usefixtures("db")]

INDEX = "job_claim_order"
PUBLISHED = 100_000


class FullBoard:
    """Three roles that share 100,000 published jobs, and an agent that holds all three."""

    def __init__(self) -> None:
        self.roles = [new_role() for _ in range(3)]
        self.agent = new_agent(*self.roles)
        job = published(self.agent, self.roles[0])
        made = {
            "id": "nextval(pg_get_serial_sequence('jobs_job', 'id'))",
            "target_role_id": f"(ARRAY[{', '.join(str(role.pk) for role in self.roles)}])[1 + n %% 3]",
            "priority": "10 * (1 + n %% 4)",
            "created_at": "j.created_at - n * interval '1 second'",
        }
        columns = [str(field.column) for field in Job._meta.concrete_fields]
        values = ", ".join(made.get(column, f"j.{column}") for column in columns)
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO jobs_job ({', '.join(columns)}) SELECT {values} "
                "FROM jobs_job j, generate_series(1, %s) n WHERE j.id = %s",
                [PUBLISHED - 1, job.pk],
            )
            cursor.execute("VACUUM ANALYZE jobs_job")

    def reads_of_claim_next(self, roles: int) -> list[tuple[str, list[Any]]]:
        """The statements with which a claim over so many roles looks for jobs, and their parameters."""
        found: list[tuple[str, list[Any]]] = []

        def note(execute, sql, params, many, context):
            found.append((sql, list(params or [])))
            return execute(sql, params, many, context)

        with connection.execute_wrapper(note):
            claim_next(actor=self.agent, role_keys=[role.role_key for role in self.roles[:roles]])
        return [(sql, params) for sql, params in found if "jobs_job j" in sql]


@pytest.fixture(scope="module")
def board(db: None) -> FullBoard:
    return FullBoard()


def plan_of(sql: str, parameters: list[Any], *, generic: bool) -> dict[str, Any]:
    """How the server runs the statement: with its values known, or prepared for any."""
    with connection.cursor() as cursor:
        if not generic:
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", parameters)
            return _plan(cursor.fetchone()[0])
        numbers = iter(range(1, len(parameters) + 1))
        prepared = re.sub("%s", lambda _: f"${next(numbers)}", sql).replace("%%", "%")
        cursor.execute("SET plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE the_claim AS {prepared}")
        values = ", ".join(str(int(value)) for value in parameters)
        cursor.execute(f"EXPLAIN (FORMAT JSON) EXECUTE the_claim ({values})")
        plan = _plan(cursor.fetchone()[0])
        cursor.execute("DEALLOCATE the_claim")
        cursor.execute("RESET plan_cache_mode")
        return plan


def _plan(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
    return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def walks_of_the_index(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [node for node in nodes(plan) if node.get("Index Name") == INDEX]


@pytest.mark.parametrize("generic", [False, True], ids=["with its values known", "prepared"])
def test_a_claim_in_one_role_walks_its_index_and_sorts_nothing(board: FullBoard, generic: bool):
    [(sql, parameters)] = board.reads_of_claim_next(1)

    plan = plan_of(sql, parameters, generic=generic)

    assert "FOR NO KEY UPDATE" in sql
    [walk] = walks_of_the_index(plan)
    assert walk["Node Type"] == "Index Scan"
    assert not [node for node in nodes(plan) if "Sort" in node["Node Type"]], json.dumps(plan, indent=1)
    assert not [node for node in nodes(plan) if node["Node Type"] == "Seq Scan" and node.get("Alias") == "j"]


@pytest.mark.parametrize("generic", [False, True], ids=["with its values known", "prepared"])
def test_a_claim_in_several_roles_walks_the_index_once_a_role_and_sorts_only_what_it_picked(
    board: FullBoard, generic: bool
):
    (picking, parameters), (locking, _) = board.reads_of_claim_next(3)

    plan = plan_of(picking, parameters, generic=generic)

    assert "FOR NO KEY UPDATE" not in picking
    assert "FOR NO KEY UPDATE" in locking
    assert len(walks_of_the_index(plan)) == 3
    # Merging the picks may need a sort of its own: of the few candidates of each role, never of the published jobs.
    sorts = [node for node in nodes(plan) if "Sort" in node["Node Type"]]
    assert all(node["Plan Rows"] <= 100 for node in sorts), json.dumps(plan, indent=1)


def test_it_hands_out_the_right_one_of_them_all(board: FullBoard):
    def first(roles: list[Any]) -> int:
        found = Job.objects.filter(status="published", target_role__in=roles)
        return found.order_by("-priority", "created_at", "id").values_list("pk", flat=True)[0]

    for roles in (board.roles[:1], board.roles):
        expected = first(roles)
        keys = [role.role_key for role in roles]
        assert claim_next(actor=board.agent, role_keys=keys).pk == expected
