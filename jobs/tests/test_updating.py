"""What an event tells of a changed context: both values while they are small, else hashes and a bounded difference."""

from __future__ import annotations

import hashlib
import json
import time

import pytest

from events.models import Event
from jobs.selectors import get_job
from jobs.services.updating import (
    DIFFERENCE_LINE_LENGTH,
    DIFFERENCE_LINES,
    TOLD_WHOLE_BYTES,
    told_change,
    update,
)
from jobs.tests.board import new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`


def told_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1)


def test_small_values_are_told_whole():
    assert told_change({"a": 1}, {"a": 2}) == {"old": {"a": 1}, "new": {"a": 2}}


def test_the_bound_counts_both_values_in_bytes():
    room = TOLD_WHOLE_BYTES - len(told_text("")) - len(told_text(""))
    assert told_change("", "x" * room)["new"] == "x" * room
    assert set(told_change("", "x" * (room + 1))["new"]) == {"sha256", "bytes"}
    # Two bytes a character.
    assert set(told_change("", "ü" * (room // 2 + 1))["new"]) == {"sha256", "bytes"}


def test_large_values_are_told_by_hash_size_and_difference():
    old = {"lines": [f"line {number} of the long text" for number in range(1_000)]}
    new = {"lines": [*old["lines"][:500], "inserted", *old["lines"][500:]]}
    told = told_change(old, new)
    for name, value in (("old", old), ("new", new)):
        text = told_text(value).encode()
        assert told[name] == {"sha256": hashlib.sha256(text).hexdigest(), "bytes": len(text)}
    assert [line.strip() for line in told["difference"] if line.startswith(("+", "-"))] == ['+  "inserted",']


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(list(range(200_000)), [n + 1 for n in range(200_000)], id="every line changed"),
        pytest.param([0] * 200_000, [0] * 100_000 + [1] + [0] * 100_000, id="lines that repeat"),
        pytest.param("a" * 1_000_000, "b" * 1_000_000, id="one line of a MiB"),
        pytest.param({}, {str(n): n for n in range(50_000)}, id="all of it new"),
    ],
)
def test_a_difference_is_short_and_soon_made_whatever_the_values(old, new):
    began = time.perf_counter()
    told = told_change(old, new)
    assert time.perf_counter() - began < 3
    assert len(told["difference"]) <= DIFFERENCE_LINES
    assert all(len(line) <= DIFFERENCE_LINE_LENGTH for line in told["difference"])
    assert len(json.dumps(told)) < 2 * TOLD_WHOLE_BYTES


class Case:
    def __init__(self) -> None:
        self.role, self.source = new_role(), new_agent()
        self.number = published(self.source, self.role, context_payload={"a": 1}).pk

    def update(self, **fields) -> int:
        return update(job_id=self.number, actor=self.source, **fields).version

    def updates(self) -> list[dict]:
        events = Event.objects.filter(job_id=self.number, event_type="task_updated").order_by("sequence")
        return [event.payload for event in events]


@pytest.mark.usefixtures("db")
def test_an_update_that_changes_nothing_is_no_event_and_no_version():
    case = Case()
    assert case.update(context_payload={"a": 1}, constraints=[]) == 1
    assert case.updates() == []


@pytest.mark.usefixtures("db")
def test_one_and_true_are_different_values():
    case = Case()
    assert case.update(context_payload={"a": True}) == 2
    assert get_job(case.number).context_payload["a"] is True
    assert case.update(context_payload={"a": 1.0}) == 3


@pytest.mark.usefixtures("db")
def test_an_update_replaces_the_whole_value_and_is_told_with_the_old_one():
    case = Case()
    assert case.update(context_payload={"b": 2}, constraints=["works"]) == 2
    job = get_job(case.number)
    assert (job.context_payload, job.constraints, job.version) == ({"b": 2}, ["works"], 2)
    [told] = case.updates()
    assert told["changes"] == {
        "context_payload": {"old": {"a": 1}, "new": {"b": 2}},
        "constraints": {"old": [], "new": ["works"]},
    }
    assert told["version"] == 2
