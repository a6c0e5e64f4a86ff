"""Hostile paths, queries and headers on every route: never a 5xx, and no effect of what was refused."""

import json
import random
from collections.abc import Callable
from urllib.parse import quote

import pytest
from django.urls import get_resolver

from jobs.models import Job
from testing.poison import HEADERS, IDS, QUERY_VALUES
from testing.wire import Board, Caller, job_body

pytestmark = pytest.mark.django_db

SEED = 20261201
LIST_NAMES = (
    *("limit", "offset", "cursor", "count", "status", "order", "target_role_key", "my_roles_only", "label"),
    *("format", "q", "unknown"),
)
TRAIL_NAMES = ("limit", "after", "unknown")


def addresses() -> list[tuple[str, str]]:
    """Method and path of every route of the URLconf, with `{job_id}` where an id belongs."""
    found = []
    for group in get_resolver().url_patterns:
        for pattern in getattr(group, "url_patterns", []):
            path = f"/{group.pattern}{pattern.pattern}".replace("<str:job_id>", "{job_id}")
            if not path.startswith("/api/"):
                continue
            actions = getattr(pattern.callback, "actions", None) or {"get": ""}
            found += [(method.upper(), path) for method in actions]
    return found


def harmless(name: str, answer) -> None:
    assert answer.status_code < 500, (name, answer.status_code, answer.content[:300])
    if answer.content and answer.headers["Content-Type"] == "application/json":
        body = json.loads(answer.content.decode())
        if answer.status_code >= 400:
            assert body["detail"], name
    assert len(answer.content) < 512 * 1024, name


@pytest.fixture
def board() -> Board:
    return Board()


def test_odd_ids_on_every_route(board: Board, rounds: Callable[..., int]) -> None:
    board.job()
    body = {"status": "completed", "constraints": []}
    named = [(method, path) for method, path in addresses() if "{job_id}" in path]
    for number, (method, path) in enumerate(named):
        # In a quick run each route gets some of them, and all of them are used.
        for written in IDS[number % 3 :: rounds(3, 1)]:
            answer = board.qa.call(method, path.replace("{job_id}", written), body, Idempotency_Key="k")
            harmless(f"{method} {path} {written[:40]}", answer)
    assert Job.objects.get().version == 1


def test_odd_values_in_every_parameter_of_the_lists(board: Board, rounds: Callable[..., int]) -> None:
    lists = {"/jobs": LIST_NAMES, f"/jobs/{board.claimed(labels=['a'])}/events": TRAIL_NAMES}
    dice = random.Random(SEED)
    every = [(path, name, value) for path, names in lists.items() for name in names for value in QUERY_VALUES]
    for path, name, value in dice.sample(every, rounds(250, len(every))):
        answer = board.qa.get(f"{path}?{name}={value}")
        harmless(f"{path} {name}={value[:60]}", answer)
        assert answer.status_code in (200, 422), (name, value)


def test_parameters_that_come_twice_or_under_odd_names(board: Board) -> None:
    board.job()
    for query in (
        "limit=5&limit=x",
        "limit=x&limit=5",
        "cursor=&cursor=",
        "status=published&status=published",
        "order=created_at_asc&order=created_at_desc&order=priority_asc&order=priority_desc",
        "&".join(["order=priority_desc"] * 900),
        "&".join(["label=a"] * 900),
        "&".join(f"label=l{number}" for number in range(60)),
        "&".join(f"x{number}=1" for number in range(1_500)),
        "&" * 2_000,
        "=" * 2_000,
        "%00=1",
        "%ff=1",
        "limit[]=5",
        "limit%00=5",
        "LIMIT=5",
        "=5",
        "?limit=5",
        "limit=5#x",
        "limit=5;offset=1",
        quote("ключ") + "=1",
    ):
        answer = board.qa.get(f"/jobs?{query}")
        harmless(query[:80], answer)
        assert answer.status_code in (200, 422), query[:80]
    too_many = board.qa.get("/jobs?" + "&".join(f"x{number}=1" for number in range(1_500)))
    [entry] = too_many.json()["detail"]
    assert (entry["type"], entry["loc"], entry["ctx"]) == (
        "too_many_parameters",
        ["query"],
        {"max_length": 1000},
    )


def test_more_labels_than_a_job_can_have_are_refused(board: Board) -> None:
    board.job(labels=[f"l{number}" for number in range(20)])
    assert len(board.qa.get("/jobs?" + "&".join(f"label=l{number}" for number in range(20))).json()) == 1
    refused = board.qa.get("/jobs?" + "&".join(f"label=l{number}" for number in range(21)))
    [entry] = refused.json()["detail"]
    assert (refused.status_code, entry["type"], entry["loc"]) == (422, "too_long", ["query", "label"])


def test_odd_headers_on_every_route(board: Board, rounds: Callable[..., int]) -> None:
    dice = random.Random(SEED)
    every = [(name, value) for name, values in HEADERS.items() for value in values]
    routes = addresses()
    chosen = [(route, *dice.choice(every)) for route in routes for _ in range(rounds(2, len(every)))]
    for (method, path), name, value in chosen:
        job_id = board.claimed() if "{job_id}" in path else 0
        answer = board.qa.call(method, path.replace("{job_id}", str(job_id)), None, **{name: value})
        harmless(f"{method} {path} {name}: {value[:60]!r}", answer)


def test_every_odd_header_on_one_reading_and_one_writing_route(board: Board) -> None:
    dice = random.Random(SEED)
    for name, values in HEADERS.items():
        for value in values:
            caller = dice.choice((board.qa, board.qa.basic, Caller()))
            harmless(f"{name}: {value[:60]!r}", caller.get("/agents/roles", **{name: value}))
            harmless(f"{name}: {value[:60]!r}", caller.post("/jobs", job_body(), **{name: value}))


@pytest.mark.parametrize(
    ("key", "accepted"),
    [
        ("k", True),
        ("x" * 255, True),
        ("a b", True),
        (" k ", True),
        ("", False),
        ("   ", False),
        ("x" * 256, False),
        ("é", False),
        ("a\x01b", False),
        ("a\tb", False),
        ("\x7f", False),
        ("a\x00b", False),
    ],
)
def test_an_idempotency_key_is_1_to_255_visible_ascii_characters(
    board: Board, key: str, accepted: bool
) -> None:
    answer = board.dev.post("/jobs", job_body(), Idempotency_Key=key)
    assert answer.status_code == (201 if accepted else 422)
    if not accepted:
        [entry] = answer.json()["detail"]
        assert (entry["type"], entry["loc"]) == ("idempotency_key.invalid", ["header", "Idempotency-Key"])
        assert "1 to 255" in entry["msg"]
        assert not Job.objects.exists()


def test_paths_of_bytes_at_random_are_never_a_fault_of_ours(board: Board, rounds: Callable[..., int]) -> None:
    dice = random.Random(SEED)
    for _ in range(rounds(100, 5_000)):
        tail = "".join(
            dice.choice((f"%{dice.randrange(256):02x}", "/", "1", "jobs", ".", "?", "é"))
            for _ in range(dice.randint(1, 12))
        )
        harmless(tail, board.dev.call(dice.choice(("GET", "POST", "PATCH", "HEAD")), f"/jobs/{tail}"))
