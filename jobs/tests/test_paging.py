"""Pages of a list: nothing twice, nothing left out, whatever is added or equal between two of them."""

from __future__ import annotations

import base64
import itertools
import json
from datetime import timedelta

import pytest

from core.clock import database_moment
from core.errors import InvalidInput
from jobs.inputs import ListInput, ListOrder
from jobs.models import Job
from jobs.selectors import list_jobs
from jobs.tests.board import caller, copies, new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")

ORDERS = [
    *([order] for order in ListOrder),
    [ListOrder.PRIORITY_DESC, ListOrder.CREATED_AT_ASC],
    [ListOrder.PRIORITY_ASC, ListOrder.CREATED_AT_DESC],
    [ListOrder.CREATED_AT_DESC, ListOrder.PRIORITY_DESC],
    # The first one that names a column decides about it.
    [ListOrder.CREATED_AT_ASC, ListOrder.CREATED_AT_DESC],
]
ORDERED = pytest.mark.parametrize("order", ORDERS, ids=" ".join)


class Shelf:
    """Thirteen jobs of a role: three moments, two priorities, so that most columns are equal to a neighbour's."""

    def __init__(self) -> None:
        self.role = new_role()
        self.agent = new_agent(self.role)
        self.now = database_moment().now
        job = published(self.agent, self.role)
        Job.objects.filter(pk=job.pk).update(created_at=self.now)
        self.job = Job.objects.get(pk=job.pk)
        for number in range(12):
            self.add(minutes=number % 3 - 1, priority=(20, 40)[number % 2])

    def add(self, *, minutes: int, priority: int) -> int:
        created_at = self.now + timedelta(minutes=minutes)
        return copies(self.job, 1, created_at=created_at, priority=priority)[0]

    def page(
        self, order: list[ListOrder], cursor: str | None, limit: int = 4
    ) -> tuple[list[int], str | None]:
        query = ListInput(limit=limit, cursor=cursor, order=order)
        page = list_jobs(query, self.agent)
        return [row["id"] for row in page.rows], page.next_cursor

    def all(self, order: list[ListOrder], limit: int = 4, between=lambda: None) -> list[int]:
        found, cursor = self.page(order, None, limit)
        while cursor is not None:
            between()
            ids, cursor = self.page(order, cursor, limit)
            found += ids
            assert len(found) < 100, "the pages do not end"
        return found

    def wanted(self, order: list[ListOrder]) -> list[int]:
        names: dict[str, str] = {}
        for part in order:
            name, direction = part.rsplit("_", 1)
            names.setdefault(name, "-" if direction == "desc" else "")
        columns = [f"{sign}{name}" for name, sign in names.items()]
        return list(
            Job.objects.filter(target_role=self.role).order_by(*columns, "id").values_list("pk", flat=True)
        )


@ORDERED
def test_pages_put_together_are_the_whole_list(order):
    shelf = Shelf()
    for limit in (1, 4, 13):
        assert shelf.all(order, limit) == shelf.wanted(order)


@ORDERED
def test_no_row_is_told_twice_or_left_out_while_others_are_added_before_between_and_behind(order):
    shelf = Shelf()
    there_before = shelf.wanted(order)
    places = itertools.cycle([(-2, 40), (-1, 20), (0, 30), (0, 10), (1, 40), (2, 20)])

    def add_some() -> None:
        for _ in range(3):
            if Job.objects.filter(target_role=shelf.role).count() < 40:
                minutes, priority = next(places)
                shelf.add(minutes=minutes, priority=priority)

    found = shelf.all(order, between=add_some)

    assert len(found) == len(set(found))
    assert [number for number in found if number in there_before] == there_before


def test_a_row_that_leaves_the_list_takes_no_other_with_it():
    shelf = Shelf()
    order = [ListOrder.CREATED_AT_ASC]
    wanted = shelf.wanted(order)
    first, cursor = shelf.page(order, None)
    Job.objects.filter(pk=first[-1]).delete()
    second, _ = shelf.page(order, cursor)
    assert second == wanted[4:8]


def test_the_last_page_has_no_cursor_also_when_it_is_full():
    shelf = Shelf()
    ids, cursor = shelf.page([ListOrder.CREATED_AT_ASC], None, limit=13)
    assert len(ids) == 13
    assert cursor is None


def _encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


NAMES, TIME = ["created_at", "id"], "2026-12-01T12:00:00.000000Z"


@pytest.mark.parametrize(
    "cursor",
    [
        pytest.param("", id="empty"),
        pytest.param("%%%", id="not base64"),
        pytest.param("YWJj", id="not JSON"),
        pytest.param(_encoded(None), id="null"),
        pytest.param(_encoded([1, 2, 3]), id="another shape"),
        pytest.param(_encoded([["-created_at", "id"], [TIME, 1]]), id="another direction"),
        pytest.param(_encoded([["priority", "id"], [20, 1]]), id="another order"),
        pytest.param(_encoded([NAMES, [TIME]]), id="too few values"),
        pytest.param(_encoded([NAMES, [TIME, 1, 2]]), id="too many values"),
        pytest.param(_encoded([NAMES, ["yesterday", 1]]), id="no time"),
        pytest.param(_encoded([NAMES, ["2026-12-01T12:00:00", 1]]), id="a time without a zone"),
        pytest.param(_encoded([NAMES, ["0001-01-01T00:00:00Z", 1]]), id="a time before all times"),
        pytest.param(_encoded([NAMES, [5, 1]]), id="a number as time"),
        pytest.param(_encoded([NAMES, [TIME, "1"]]), id="text as id"),
        pytest.param(_encoded([NAMES, [TIME, True]]), id="true as id"),
        pytest.param(_encoded([NAMES, [TIME, 2**63]]), id="an id beyond 64 bits"),
        pytest.param(_encoded([NAMES, [TIME, -1]]), id="an id below zero"),
        pytest.param(_encoded([NAMES, [TIME, {"a": 1}]]), id="an object as id"),
        pytest.param("W" * 100_000, id="100,000 characters"),
    ],
)
def test_a_cursor_that_is_none_is_refused_by_name(cursor):
    agent = new_agent(new_role())
    with pytest.raises(InvalidInput) as refused:
        list_jobs(ListInput(cursor=cursor), agent)
    [entry] = refused.value.entries
    assert entry["type"] == "cursor.invalid"
    assert entry["loc"][-1] == "cursor"


def test_the_link_header_leads_through_the_whole_list():
    shelf = Shelf()
    client = caller(shelf.agent)
    path, found = "/jobs?limit=5&order=priority_desc", []
    for _ in range(4):
        response = client.get(path)
        found += [item["id"] for item in response.json()]
        if "Link" not in response:
            break
        path = response["Link"].split(">")[0].split("/api/v1/mcp")[1]
    assert found == shelf.wanted([ListOrder.PRIORITY_DESC])
