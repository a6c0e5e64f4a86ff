"""The wire of the list of jobs: its items, its filters, and how it leads from page to page."""

import re
from datetime import timedelta

import pytest
from django.db.models import F

from jobs.models import Job
from testing.wire import ITEM_KEYS, Board, agent, job_body, role

pytestmark = pytest.mark.django_db

STATUS_WORDS = (
    "'pending', 'published', 'in_progress', 'blocked', 'unblocked', 'completed', 'failed' or 'cancelled'"
)
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
def board() -> Board:
    return Board()


def test_a_job_in_the_list_has_the_references_keys_and_never_the_payload(board: Board) -> None:
    job_id = board.job(
        labels=["web"],
        artifacts=[
            {"type": "file", "uri": "u", "checksum": "c", "metadata_json": {}},
        ],
    )
    answer = board.qa.get("/jobs")
    [item] = answer.json()
    ours = ["updated_at", "labels", "artifact_count", "on_hold", "not_before", "lease_expires_at"]
    assert list(item) == ITEM_KEYS + ours
    assert (item["id"], item["labels"], item["artifact_count"]) == (job_id, ["web"], 1)
    assert (item["source_agent_label"], item["assignee_agent_label"]) == ("Dev agent", None)
    assert MOMENT.fullmatch(item["created_at"])


def test_my_roles_and_a_role_key_narrow_each_other(board: Board) -> None:
    for_qa, for_developer = board.job(), board.job(target_role_key="developer")

    def listed(caller, query: str) -> list[int]:
        return [item["id"] for item in caller.get(f"/jobs{query}").json()]

    assert listed(board.qa, "") == [for_qa]
    assert listed(board.dev, "") == [for_developer]
    assert listed(board.guest, "") == []
    assert listed(board.guest, "?my_roles_only=false") == [for_qa, for_developer]
    assert listed(board.qa, "?target_role_key=developer") == []
    assert listed(board.qa, "?target_role_key=developer&my_roles_only=false") == [for_developer]
    assert listed(board.qa, "?target_role_key=") == [for_qa]
    assert listed(board.qa, "?target_role_key=%20&my_roles_only=0") == [for_qa, for_developer]


@pytest.mark.parametrize(
    ("query", "entry"),
    [
        (
            "limit=0",
            {"type": "greater_than_equal", "loc": ["query", "limit"], "input": "0", "ctx": {"ge": 1}},
        ),
        ("limit=201", {"type": "less_than_equal", "ctx": {"le": 200}}),
        ("limit=", {"type": "int_parsing"}),
        ("limit=x", {"type": "int_parsing"}),
        ("offset=-1", {"type": "greater_than_equal", "ctx": {"ge": 0}}),
        (
            "status=nothing",
            {"type": "enum", "loc": ["query", "status", 0], "msg": f"Input should be {STATUS_WORDS}"},
        ),
        ("status=", {"type": "enum", "loc": ["query", "status", 0], "input": ""}),
        ("status=failed&status=x", {"type": "enum", "loc": ["query", "status", 1]}),
        ("order=newest", {"type": "enum", "loc": ["query", "order", 0]}),
        (
            "my_roles_only=x",
            {"type": "bool_parsing", "msg": "Input should be a valid boolean, unable to interpret input"},
        ),
        ("count=maybe", {"type": "bool_parsing"}),
        ("cursor=x", {"type": "cursor.invalid", "loc": ["query", "cursor"]}),
        ("cursor=", {"type": "cursor.invalid"}),
        ("cursor=W10&offset=1", {"type": "value_error", "loc": ["query"]}),
        (
            "target_role_key=x",
            {
                "loc": ["query", "target_role_key"],
                "msg": "Target role is invalid: Available roles: developer, qa.",
                "type": "target_role.invalid",
                "input": "x",
                "ctx": {},
            },
        ),
        ("label=", {"type": "string_too_short", "loc": ["query", "label", 0]}),
        ("label=%20", {"type": "string_blank"}),
        ("label=%00", {"type": "string_nul", "loc": ["query", "label", 0], "input": None}),
        ("target_role_key=a%00", {"type": "string_nul", "loc": ["query", "target_role_key"], "input": None}),
    ],
)
def test_a_wrong_query_is_refused_naming_place_and_bound(board: Board, query: str, entry) -> None:
    refused = board.qa.get(f"/jobs?{query}")
    assert refused.status_code == 422
    [found] = refused.json()["detail"]
    assert found | entry == found


def test_parameters_that_a_list_does_not_know_are_named(board: Board) -> None:
    answer = board.qa.get("/jobs?page=2&q%0d%0aX=1&a=1&limit=5")
    assert answer.status_code == 200
    assert answer.headers["X-Ignored-Parameters"] == "a, page"
    assert "X-Ignored-Parameters" not in board.qa.get("/jobs?limit=5").headers


def test_pages_hold_still_while_jobs_are_added_and_lead_to_the_next(board: Board) -> None:
    ids = [board.job(priority=priority) for priority in (10, 40, 20, 40, 10)]
    first = board.qa.get("/jobs?limit=2&order=priority_desc&order=created_at_asc&count=true")
    assert [item["id"] for item in first.json()] == [ids[1], ids[3]]
    assert first.headers["X-Total-Count"] == "5"
    link = re.fullmatch(r'<http://localhost(/api/v1/mcp/jobs\?[^>]*)>; rel="next"', first.headers["Link"])
    assert link
    assert "order=priority_desc&order=created_at_asc" in link[1]
    board.job(priority=40)
    board.job(priority=20)
    second = board.qa.get(link[1])
    assert second.json()[0]["id"] == ids[4] + 1
    seen = [item["id"] for item in first.json()]
    while True:
        seen += [item["id"] for item in second.json()]
        if "Link" not in second.headers:
            break
        second = board.qa.get(second.headers["Link"][len("<http://localhost") :].partition(">")[0])
    assert set(ids) <= set(seen)
    assert len(seen) == len(set(seen))


def test_an_offset_counts_rows_and_the_total_comes_only_when_asked_for(board: Board) -> None:
    ids = [board.job() for _ in range(4)]
    page = board.qa.get("/jobs?offset=1&limit=2")
    assert [item["id"] for item in page.json()] == ids[1:3]
    assert "X-Total-Count" not in page.headers
    assert "offset" not in page.headers["Link"]
    assert board.qa.get("/jobs?offset=9").json() == []
    assert "Link" not in board.qa.get("/jobs?offset=2&limit=2").headers
    assert board.qa.get("/jobs?count=1&limit=1&status=failed").headers["X-Total-Count"] == "0"


def test_a_cursor_of_another_order_is_refused(board: Board) -> None:
    board.job(), board.job()
    link = board.qa.get("/jobs?limit=1").headers["Link"]
    cursor = re.search(r"cursor=([^&>]*)", link)
    assert cursor
    refused = board.qa.get(f"/jobs?cursor={cursor[1]}&order=priority_asc")
    assert refused.status_code == 422
    assert "of this order" in refused.json()["detail"][0]["msg"]


def test_the_list_is_read_with_as_many_statements_for_many_as_for_few(
    board: Board, django_assert_max_num_queries
) -> None:
    for number in range(12):
        board.job(labels=[f"l{number}"])
    board.qa.get("/jobs")
    with django_assert_max_num_queries(3) as asked:
        assert len(board.qa.get("/jobs").json()) == 12
    assert not any("context_payload" in query["sql"] for query in asked.captured_queries)


def test_what_lapses_and_waits_is_listed_with_its_times(board: Board) -> None:
    role("later")
    publisher = agent("Publisher", "later")
    publisher.post("/jobs", job_body(target_role_key="later", not_before="2030-01-01T00:00:00Z"))
    [item] = publisher.get("/jobs").json()
    assert item["not_before"] == "2030-01-01T00:00:00.000000Z"
    Job.objects.update(created_at=F("created_at") - timedelta(days=1))
    assert publisher.get("/jobs").json()[0]["created_at"] < item["created_at"]
