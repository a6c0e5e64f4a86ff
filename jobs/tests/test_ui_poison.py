"""Hostile input at every field, id and parameter of people's routes: never a 5xx, and no harm to what is read."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import get_resolver

from jobs.tests.test_api_poison import POISON_TYPES, Route, checked, routes
from testing.people import UI, operator
from testing.poison import HEAVY, IDS, NEVER, QUERY_VALUES, bodies
from testing.wire import Board, Caller, agent, role

pytestmark = pytest.mark.django_db

SEED = 20261202
NAMES = (
    *("limit", "offset", "cursor", "status", "order", "target_role_key", "assignee", "label", "stuck"),
    *("window_hours", "stuck_minutes", "stream", "before", "move_to", "reason", "format", "unknown"),
)
READS = ("/jobs", "/stuck", "/stats", "/jobs/{job_id}/events", "/jobs/{job_id}", "/agents", "/agents/roles")


class Bench:
    """A board and an operator; every write goes to a job, an agent, a token or a role of its own kind."""

    def __init__(self) -> None:
        self.board = Board()
        self.anna: Caller = operator()
        self.spare = agent("Spare", "qa")
        self.token = self.anna.post(f"{UI}/agents/{self.spare.agent_id}/tokens").json()["token_id"]
        self.role = role("spare").pk

    def address(self, path: str) -> str:
        ids: dict[str, Any] = {"agent_id": self.spare.agent_id, "token_id": self.token, "role_id": self.role}
        if "{job_id}" in path:
            blocked = path.endswith("/unblock")
            ids["job_id"] = self.board.moved(self.board.claimed(), "blocked") if blocked else self.board.job()
        return f"{UI}{path.format(**ids)}"

    def send(self, name: str, route: Route, body: bytes, **headers: str) -> int:
        answer = self.anna.call(route.method, self.address(route.path), body, **headers)
        if answer.content:
            checked(name, answer)
        if name.rpartition(": ")[2] in NEVER:
            assert answer.status_code == 422, name
            assert {entry["type"] for entry in answer.json()["detail"]} <= POISON_TYPES, name
        code: int = answer.status_code
        return code

    def read_all(self) -> None:
        for path in READS:
            assert self.anna.get(self.address(path)).status_code == 200, path


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_all_of_peoples_writes_with_fields_are_spoiled_here() -> None:
    found = {(route.method, route.path) for route in routes("ui")}
    assert found >= {("POST", "/jobs"), ("PATCH", "/jobs/{job_id}"), ("POST", "/agents/{agent_id}/tokens")}
    assert found >= {("PATCH", "/agents/roles/{role_id}"), ("POST", "/jobs/{job_id}/reassign")}
    assert len(found) >= 17


def test_a_sample_of_spoiled_fields_is_answered_and_everything_can_still_be_read(
    bench: Bench, rounds: Callable[..., int]
) -> None:
    every = [
        (route, name, body)
        for route in routes("ui")
        for name, body in route.spoiled()
        if not name.endswith(tuple(f": {heavy}" for heavy in HEAVY))
    ]
    chosen = random.Random(SEED).sample(every, rounds(120, len(every)))
    codes = [bench.send(name, route, body) for route, name, body in chosen]
    assert min(codes.count(422), sum(code < 300 for code in codes)) > 10
    bench.read_all()


def test_spoiled_bodies_are_refused(bench: Bench, rounds: Callable[..., int]) -> None:
    for number, route in enumerate(routes("ui")):
        good = json.dumps(route.good).encode()
        for name, body, headers in list(bodies(good))[number % 8 :: rounds(8, 1)]:
            code = bench.send(f"{route.path}: {name}", route, body, **headers)
            if name != "says gzip and is not" and body.strip():
                assert code == 422, (route.path, name, code)


def test_odd_ids_on_every_route(bench: Bench, rounds: Callable[..., int]) -> None:
    number = 0
    for group in get_resolver().url_patterns:
        if str(group.pattern) != "api/v1/ui/":
            continue
        for pattern in group.url_patterns:
            path = str(pattern.pattern)
            if "<str:" not in path:
                continue
            before, _, after = path.partition("<str:")
            for method in pattern.callback.actions:
                number += 1
                for written in IDS[number % 5 :: rounds(5, 1)]:
                    address = f"{UI}/{before}{written}{after.partition('>')[2]}"
                    answer = bench.anna.call(method.upper(), address, {"priority": 10}, Idempotency_Key="k")
                    assert answer.status_code < 500, (method, address[:120])
                    assert not answer.content or answer.json(), (method, address[:120])


def test_odd_values_in_every_parameter(bench: Bench, rounds: Callable[..., int]) -> None:
    every = [(path, name, value) for path in READS for name in NAMES for value in QUERY_VALUES]
    for path, name, value in random.Random(SEED).sample(every, rounds(80, len(every))):
        answer = bench.anna.get(f"{bench.address(path)}?{name}={value}")
        assert answer.status_code in (200, 422), (path, name, value[:60], answer.status_code)
