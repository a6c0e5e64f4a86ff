"""People's lists: filters, pages that hold still, the stuck ones, and how many statements all that takes."""

from datetime import timedelta

import pytest
from django.db.models import F

from jobs.models import Job
from jobs.tests.statements import statements
from testing.people import UI, operator
from testing.wire import Board, Caller, agent, role

pytestmark = pytest.mark.django_db


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def anna(board: Board) -> Caller:
    return operator()


def ids(answer) -> list[int]:
    assert answer.status_code == 200, answer.content
    return [item["id"] for item in answer.json()["items"]]


def aged(job_id: int, **by: float) -> int:
    """The job as if it had been in its state for so long."""
    Job.objects.filter(pk=job_id).update(status_changed_at=F("status_changed_at") - timedelta(**by))
    return job_id


def test_each_filter_narrows_and_all_of_them_together(board: Board, anna: Caller) -> None:
    rival = agent("Rival", "qa")
    plain = board.job(labels=["a"])
    both = board.job(labels=["a", "b"], priority=40)
    held = board.claimed(labels=["b"])
    other = board.job(target_role_key="developer")
    theirs = board.job()
    rival.post(f"/jobs/{theirs}/claim")
    for query, expected in (
        ("", [plain, both, held, other, theirs]),
        ("status=in_progress", [held, theirs]),
        ("status=in_progress&status=published", [plain, both, held, other, theirs]),
        ("target_role_key=developer", [other]),
        ("target_role_key=", [plain, both, held, other, theirs]),
        ("assignee=qa-agent", [held]),
        ("assignee=rival&status=in_progress", [theirs]),
        ("assignee=nobody", []),
        ("label=a", [plain, both]),
        ("label=a&label=b", [both]),
        ("order=priority_desc&order=created_at_desc", [both, theirs, other, held, plain]),
        ("status=published&label=b&target_role_key=qa", [both]),
        ("limit=2&offset=3", [other, theirs]),
        ("stuck=false&limit=200", [plain, both, held, other, theirs]),
        ("stuck=true", []),
    ):
        answer = anna.get(f"{UI}/jobs?{query}")
        assert ids(answer) == expected, query
        paged = "limit=2" in query
        assert answer.json()["total"] == (5 if paged else len(expected)), query


@pytest.mark.parametrize(
    ("query", "type_", "field"),
    [
        ("status=odd", "enum", "status"),
        ("order=odd", "enum", "order"),
        ("limit=0", "greater_than_equal", "limit"),
        ("limit=201", "less_than_equal", "limit"),
        ("offset=-1", "greater_than_equal", "offset"),
        ("stuck=maybe", "bool_parsing", "stuck"),
        ("target_role_key=nobody", "target_role.invalid", "target_role_key"),
        ("cursor=x", "cursor.invalid", "cursor"),
        ("assignee=%00", "string_nul", "assignee"),
    ],
)
def test_a_wrong_query_is_refused_at_its_parameter(
    board: Board, anna: Caller, query: str, type_: str, field: str
) -> None:
    refused = anna.get(f"{UI}/jobs?{query}")
    assert refused.status_code == 422
    [entry] = refused.json()["detail"]
    assert (entry["type"], entry["loc"][:2]) == (type_, ["query", field])


def test_a_cursor_and_an_offset_exclude_each_other(board: Board, anna: Caller) -> None:
    board.job(), board.job()
    cursor = anna.get(f"{UI}/jobs?limit=1").json()["next_cursor"]
    assert anna.get(f"{UI}/jobs?limit=1&cursor={cursor}").status_code == 200
    assert anna.get(f"{UI}/jobs?limit=1&cursor={cursor}&offset=0").status_code == 422


def test_pages_hold_still_while_jobs_are_added(board: Board, anna: Caller) -> None:
    before = [board.job(priority=priority) for priority in (10, 40, 20, 40, 10)]
    query = "order=priority_desc&order=created_at_asc&limit=2"
    page = anna.get(f"{UI}/jobs?{query}")
    seen = ids(page)
    while cursor := page.json()["next_cursor"]:
        board.job(priority=40)
        page = anna.get(f"{UI}/jobs?{query}&cursor={cursor}")
        seen += ids(page)
    assert [one for one in seen if one in before] == [before[index] for index in (1, 3, 2, 0, 4)]
    assert len(seen) == len(set(seen))


def test_a_stuck_job_says_since_when_and_why_in_every_list(board: Board, anna: Caller) -> None:
    fresh, quiet = board.claimed(), aged(board.claimed(), minutes=90)
    role("deserted", label="Deserted")
    waiting = aged(board.job(target_role_key="deserted"), hours=3)
    listed = {item["id"]: item["stuck"] for item in anna.get(f"{UI}/jobs").json()["items"]}
    assert listed[fresh] is None
    assert listed[quiet]["reason"] == "qa-agent has told of no progress for 1 h 30 min."
    assert listed[waiting]["reason"] == "Waiting for 3 h; no agent of deserted was ever online."
    assert ids(anna.get(f"{UI}/jobs?stuck=true")) == [quiet, waiting]
    assert ids(anna.get(f"{UI}/jobs?stuck=true&target_role_key=qa&limit=1")) == [quiet]
    assert ids(anna.get(f"{UI}/jobs?stuck=false")) == [fresh]
    assert anna.get(f"{UI}/jobs/{quiet}").json()["stuck"] == listed[quiet]
    stuck = anna.get(f"{UI}/stuck").json()
    assert list(stuck) == ["items", "total", "limit", "offset", "next_cursor"]
    assert [item["id"] for item in stuck["items"]] == [waiting, quiet]
    assert list(stuck["items"][0]) == [
        *("id", "summary", "status", "priority", "target_role_key", "assignee", "since", "reason", "allowed"),
    ]
    first, second = stuck["items"]
    assert (first["target_role_key"], first["assignee"], second["assignee"]) == ("deserted", None, "qa-agent")
    assert (second["since"], second["reason"]) == (listed[quiet]["since"], listed[quiet]["reason"])
    assert [one["verb"] for one in first["allowed"]] == ["reassign", "hold", "cancel"]
    assert [one["verb"] for one in second["allowed"]] == ["requeue", "reassign", "cancel"]


def test_the_stuck_are_paged_longest_first_and_hold_still(board: Board, anna: Caller) -> None:
    stuck = [aged(board.claimed(), hours=hours) for hours in (5, 4, 3, 2)]
    page = anna.get(f"{UI}/stuck?limit=2")
    assert (ids(page), page.json()["total"]) == (stuck[:2], 4)
    aged(board.claimed(), hours=9)
    second = anna.get(f"{UI}/stuck?limit=2&cursor={page.json()['next_cursor']}")
    assert (ids(second), second.json()["next_cursor"]) == (stuck[2:], None)
    assert ids(anna.get(f"{UI}/stuck?stuck_minutes={60 * 6}"))[1:] == []
    assert len(ids(anna.get(f"{UI}/stuck?stuck_minutes=1"))) == 5
    other = anna.get(f"{UI}/jobs?limit=1").json()["next_cursor"]
    assert anna.get(f"{UI}/stuck?cursor={other}").status_code == 422


@pytest.mark.parametrize("path", ["/jobs", "/jobs?stuck=true", "/stuck", "/jobs?label=a&assignee=qa-agent"])
def test_a_list_takes_as_many_statements_for_many_as_for_few_and_loads_no_payload(
    board: Board, anna: Caller, path: str
) -> None:
    def counted() -> int:
        with statements() as ran:
            anna.get(f"{UI}{path}")
        assert not any('"context_payload"' in sql or '"result"' in sql for sql in ran)
        return len(ran)

    aged(board.claimed(labels=["a"]), hours=3)
    few = counted()
    parent = board.job()
    for _ in range(8):
        aged(board.claimed(labels=["a"], parent_job_id=parent), hours=2)
    assert counted() == few
    assert few <= 25


def test_a_job_page_takes_as_many_statements_for_many_events_as_for_few(board: Board, anna: Caller) -> None:
    job_id = board.claimed()

    def counted() -> int:
        with statements() as ran:
            assert anna.get(f"{UI}/jobs/{job_id}").status_code == 200
        return len(ran)

    few = counted()
    for _ in range(6):
        board.moved(board.moved(job_id, "blocked"), "in_progress")
    assert counted() == few
