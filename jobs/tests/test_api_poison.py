"""Hostile input at every field of every route: never a 5xx, and what was accepted can be read, listed and claimed."""

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import get_resolver

from core.inputs import Input
from jobs.models import Job
from testing.poison import HEAVY, NEVER, VALUES, bodies, with_key, with_value
from testing.wire import Board, Caller, agent, job_body

pytestmark = pytest.mark.django_db

SEED = 20261201
QUICK = 160
POISON_TYPES = {"string_nul", "string_unicode", "int_64_bit", "finite_number", "json_depth"}
REFUSALS = {403, 404, 409, 413, 422}
# What a good body of a route holds beyond its own example, so that there is something to spoil in every field.
MORE: dict[str, dict[str, Any]] = {
    "PublishInput": {"target_role_key": "qa", "labels": ["a"], "blocked_by": [], "routing_rules": []},
    "ClaimNextInput": {"target_role_keys": ["qa"], "labels": []},
    "UpdateInput": {"context_payload": {"a": 1}},
}
NESTED: dict[str, list[tuple[str | int, ...]]] = {
    "PublishInput": [
        *(("artifacts", 0, key) for key in ("type", "uri", "checksum", "metadata_json")),
        *(("constraints", 0), ("labels", 0), ("artifacts", 0)),
    ],
    "ClaimNextInput": [("target_role_keys", 0)],
    "UpdateInput": [("constraints", 0)],
}
NEED_A_BODY = {"/jobs", "/jobs/claim-next", "/jobs/{job_id}", "/jobs/{job_id}/status"}
# Where a key of the sender's own choosing may stand.
OPEN: dict[str, list[tuple[str | int, ...]]] = {
    "PublishInput": [("context_payload",), ("artifacts", 0), ("artifacts", 0, "metadata_json")],
    "StatusInput": [("result",)],
    "UpdateInput": [("context_payload",)],
}


@dataclass(frozen=True)
class Route:
    """A route that takes a body, and a good one."""

    method: str
    path: str
    fields: type[Input]

    @property
    def good(self) -> dict[str, Any]:
        return {**(self.fields.example or {}), **MORE.get(self.fields.__name__, {})}

    def spoiled(self) -> Iterator[tuple[str, bytes]]:
        """Every field with every value, and every open object with every key; each with its name."""
        places: list[tuple[str | int, ...]] = [(name,) for name in self.fields.model_fields]
        for place in places + NESTED.get(self.fields.__name__, []):
            for name, text in VALUES.items():
                yield f"{self.path} {place}: {name}", with_value(self.good, place, text)
        for place in [(), *OPEN.get(self.fields.__name__, [])]:
            for name, text in VALUES.items():
                if text.startswith('"'):
                    yield f"{self.path} {place} key: {name}", with_key(self.good, place, text)


def routes(door: str = "mcp") -> list[Route]:
    """Every route for agents (or, `ui`, for people) of the URLconf that says which fields it takes."""
    found = []
    for group in get_resolver().url_patterns:
        if str(group.pattern) != f"api/v1/{door}/":
            continue
        for pattern in getattr(group, "url_patterns", []):
            view = pattern.callback
            for method, action in getattr(view, "actions", {}).items():
                fields = getattr(view.cls, "inputs", {}).get(action)
                if fields is not None:
                    path = re.sub(r"<str:(\w+)>", r"{\1}", str(pattern.pattern))
                    found.append(Route(method.upper(), f"/{path}", fields))
    return found


class Bench:
    """A board on which one agent may do everything, with a job in the state that each route needs."""

    def __init__(self) -> None:
        self.board = Board()
        self.worker: Caller = agent("Worker", "qa", "developer")
        self.jobs: dict[str, int] = {}

    def job(self, path: str) -> int:
        if path not in self.jobs:
            job_id = self.worker.post("/jobs", job_body()).json()["job_id"]
            if path.endswith(("/status", "/heartbeat", "/release", "/requeue")):
                assert self.worker.post(f"/jobs/{job_id}/claim").status_code == 201
            if path.endswith("/requeue"):
                self.worker.post(f"/jobs/{job_id}/status", {"status": "failed"})
            self.jobs[path] = job_id
        return self.jobs[path]

    def send(self, name: str, route: Route, body: bytes, **headers: str) -> int:
        """One request; checks its answer and, if it was accepted, that nothing became unreadable by it."""
        job_id = self.job(route.path) if "{job_id}" in route.path else None
        answer = self.worker.call(route.method, route.path.format(job_id=job_id), body, **headers)
        checked(name, answer)
        if name.rpartition(": ")[2] in NEVER:
            assert answer.status_code == 422, name
            assert {entry["type"] for entry in answer.json()["detail"]} <= POISON_TYPES, name
        if answer.status_code < 300:
            self.jobs.pop(route.path, None)
            named = job_id or answer.json().get("job_id") or answer.json().get("id")
            if named is not None:
                self.read_again(name, named, body)
        code: int = answer.status_code
        return code

    def read_again(self, name: str, job_id: int, body: bytes) -> None:
        read = self.worker.get(f"/jobs/{job_id}")
        assert read.status_code == 200, name
        job = strictly(read.content)
        sent = json.loads(body.decode()) if body.strip() else {}
        for field in ("summary", "context_payload", "constraints", "artifacts", "result_summary", "result"):
            # A result counts only with the status that carries it, and a null in an update means no change.
            if sent.get(field) is not None and (
                job["status"] == "completed" or not field.startswith("result")
            ):
                assert json.dumps(without_unknown(field, sent[field])) == json.dumps(job[field]), (
                    name,
                    field,
                )
        for path in (f"/jobs/{job_id}/events", f"/jobs/{job_id}/artifacts"):
            assert self.worker.get(path).status_code == 200, (name, path)
        newer = Job.objects.filter(pk__gt=job_id).count()
        page = f"order=created_at_desc&limit=50&offset={max(0, newer - 5)}"
        listed = self.worker.get(f"/jobs?my_roles_only=false&{page}")
        assert job_id in [item["id"] for item in strictly(listed.content)], name
        if job["status"] == "published" and not job["on_hold"] and job["not_before"] is None:
            claimed = self.worker.post(f"/jobs/{job_id}/claim")
            assert claimed.status_code == 201, (name, claimed.content)
            assert claimed.json()["context_payload"] == job["context_payload"]
            assert claimed.json()["summary"] == job["summary"]


def without_unknown(field: str, value: Any) -> Any:
    """As it is stored: an artifact has its four keys and no others."""
    if field != "artifacts":
        return value
    return [{key: one[key] for key in ("type", "uri", "checksum", "metadata_json")} for one in value]


def strictly(content: bytes) -> Any:
    """The JSON of an answer; NaN and infinity, which JSON does not know, fail."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in an answer")

    return json.loads(content.decode(), parse_constant=refuse)


def checked(name: str, answer: Any) -> None:
    assert answer.status_code < 300 or answer.status_code in REFUSALS, (
        name,
        answer.status_code,
        answer.content,
    )
    body = strictly(answer.content)
    if answer.status_code in (409, 422):
        assert len(answer.content) < 64 * 1024, name
        for entry in body["detail"]:
            assert {"type", "loc", "msg", "input"} <= set(entry), name
            assert entry["loc"][0] in ("body", "query", "path", "header"), name
            assert entry["msg"], name
    elif answer.status_code >= 400:
        assert body["detail"], name


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_routes_that_take_fields_are_all_there() -> None:
    found = {(route.method, route.path) for route in routes()}
    verbs = ("claim", "status", "heartbeat", "release", "requeue", "hold", "unhold")
    assert found >= {("POST", "/jobs"), ("PATCH", "/jobs/{job_id}"), ("POST", "/jobs/claim-next")}
    assert found >= {("POST", f"/jobs/{{job_id}}/{verb}") for verb in verbs}
    assert ("POST", "/agents/me/heartbeat") in found


def test_the_good_bodies_are_accepted(bench: Bench) -> None:
    for route in routes():
        if route.path == "/jobs/claim-next":
            bench.worker.post("/jobs", job_body())
        assert bench.send(f"good {route.path}", route, json.dumps(route.good).encode()) < 300, route.path


def _every(heavy: bool) -> list[tuple[Route, str, bytes]]:
    spoiled = [(route, name, body) for route in routes() for name, body in route.spoiled()]
    return [one for one in spoiled if heavy or not one[1].endswith(tuple(f": {name}" for name in HEAVY))]


def test_a_sample_of_spoiled_fields_is_answered_and_what_is_accepted_lives_on(bench: Bench) -> None:
    chosen = random.Random(SEED).sample(_every(heavy=False), QUICK)
    codes = [bench.send(name, route, body) for route, name, body in chosen]
    assert min(codes.count(422), sum(code < 300 for code in codes)) > 10


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_every_field_takes_every_spoiled_value_without_harm(bench: Bench, rounds: Callable[..., int]) -> None:
    every = _every(heavy=True)
    chosen = random.Random(SEED + 1).sample(every, min(len(every), rounds(1_000, len(every))))
    codes = [bench.send(name, route, body) for route, name, body in chosen]
    assert min(codes.count(422), sum(code < 300 for code in codes)) > 100


def test_spoiled_bodies_are_refused_and_nothing_else(bench: Bench, rounds: Callable[..., int]) -> None:
    for number, route in enumerate(routes()):
        good = json.dumps(route.good).encode()
        every = list(bodies(good))
        # In a quick run each route gets some of them, and all of them are used.
        for name, body, headers in every[number % 3 :: rounds(3, 1)]:
            code = bench.send(f"{route.path}: {name}", route, body, **headers)
            harmless = name == "says gzip and is not" or (route.path not in NEED_A_BODY and not body.strip())
            assert (code < 300 or code == 404) if harmless else (code == 422), (route.path, name, code)


def test_bytes_at_random_are_never_a_fault_of_ours(bench: Bench, rounds: Callable[..., int]) -> None:
    dice = random.Random(SEED)
    for number in range(rounds(100, 5_000)):
        route = dice.choice(routes())
        body = bytearray(json.dumps(route.good).encode())
        for _ in range(dice.randint(1, 4)):
            match dice.randrange(4):
                case 0:
                    body[dice.randrange(len(body))] = dice.randrange(256)
                case 1:
                    del body[dice.randrange(len(body)) :]
                case 2:
                    at = dice.randrange(len(body))
                    body[at:at] = dice.choice(
                        (b"\\u0000", b"[[", b"}", b"\xff", b"-", b"1e999", b'"', b"NaN")
                    )
                case _:
                    at = dice.randrange(len(body))
                    body += body[at : at + 20]
            if not body:
                body = bytearray(b" ")
        bench.send(f"round {number}: {bytes(body)!r}", route, bytes(body))
