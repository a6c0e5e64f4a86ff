"""A write that was unlucky is tried again, three times, as a whole; then the caller is told to come back."""

from __future__ import annotations

import functools
import sqlite3
import threading

import psycopg
import pytest
from django.db import OperationalError, connection

from core.errors import Unavailable
from core.models import IdempotencyRecord
from core.transactions import ATTEMPTS, write_transaction
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.threads import at_once

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture(autouse=True)
def _no_pause_between_tries(monkeypatch):
    monkeypatch.setattr("core.transactions.time.sleep", lambda seconds: None)


def bad_luck(sqlstate: str | None) -> OperationalError:
    """What Django raises for it: `sqlstate` by PostgreSQL, None for SQLite's lock."""
    error = OperationalError("database is locked" if sqlstate is None else "try again")
    cause = sqlite3.OperationalError("database is locked") if sqlstate is None else psycopg.OperationalError()
    if sqlstate is not None:
        cause.sqlstate = sqlstate
    error.__cause__ = cause
    return error


def add(key: str) -> None:
    IdempotencyRecord.objects.create(actor_key="test", route="test", key=key, fingerprint="")


def kept(key: str) -> int:
    return IdempotencyRecord.objects.filter(route="test", key__startswith=key).count()


class Unlucky:
    """A verb that writes a row and then meets the error so many times."""

    def __init__(self, error: OperationalError, times: int, key: str) -> None:
        self.error, self.times, self.key, self.calls = error, times, key, 0

    def __call__(self) -> str:
        self.calls += 1
        add(f"{self.key}-{self.calls}")
        if self.calls <= self.times:
            raise self.error
        return "done"


def transactional(verb):
    def run():
        return verb()

    return write_transaction(run)


LUCK = pytest.mark.parametrize(
    "sqlstate",
    [
        pytest.param("40P01", id="deadlock"),
        pytest.param("55P03", id="lock not available"),
        pytest.param("40001", id="serialization failure"),
        pytest.param(None, id="database is locked", marks=pytest.mark.sqlite_only),
    ],
)


@LUCK
@pytest.mark.parametrize("times", range(1, ATTEMPTS))
def test_a_try_that_was_unlucky_leaves_nothing_and_the_next_one_counts(sqlstate, times):
    verb = Unlucky(bad_luck(sqlstate), times, f"lucky {sqlstate} {times}")
    assert transactional(verb)() == "done"
    assert verb.calls == times + 1
    assert kept(verb.key) == 1


@LUCK
def test_after_three_more_tries_the_caller_is_told_to_come_back(sqlstate):
    verb = Unlucky(bad_luck(sqlstate), ATTEMPTS, f"never {sqlstate}")
    with pytest.raises(Unavailable, match="nothing was changed") as refused:
        transactional(verb)()
    assert verb.calls == ATTEMPTS == 4
    assert (refused.value.http_status, refused.value.data["retry_after_seconds"]) == (503, 1)
    assert kept(verb.key) == 0


def test_an_inner_verb_is_tried_again_by_the_outer_one_only():
    inner = Unlucky(bad_luck("40P01"), 2, "nested")
    outer_calls = []

    @write_transaction
    def outer():
        outer_calls.append(1)
        add(f"nested-outer-{len(outer_calls)}")
        return transactional(inner)()

    assert outer() == "done"
    assert (len(outer_calls), inner.calls) == (3, 3)
    assert kept("nested") == 2


def test_any_other_error_is_not_tried_again():
    for error in (bad_luck("57014"), OperationalError("disk I/O error"), ValueError("no")):
        verb = Unlucky(error, 1, "other")  # type: ignore[arg-type]
        with pytest.raises(type(error)):
            transactional(verb)()
        assert verb.calls == 1
    assert kept("other") == 0


def test_many_threads_that_write_at_once_all_succeed():
    def several(thread: int):
        @write_transaction
        def write(number: int) -> None:
            add(f"crowd-{thread}-{number}")

        for number in range(10):
            write(number)

    answers = at_once([functools.partial(several, thread) for thread in range(8)])
    assert answers == [None] * 8
    assert kept("crowd") == 80


@pytest.mark.sqlite_only
def test_a_write_lock_held_by_another_process_ends_in_a_refusal():
    add("elsewhere")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 10")
    try:
        verb = Unlucky(bad_luck(None), 0, "while locked")
        with pytest.raises(Unavailable):
            transactional(verb)()
        assert verb.calls == 0
        other.execute("ROLLBACK")
        assert transactional(verb)() == "done"
    finally:
        other.close()
        connection.close()


@pytest.mark.postgresql_only
def test_a_row_lock_held_too_long_ends_in_a_refusal():
    add("held row")

    @write_transaction
    def lock_it() -> None:
        IdempotencyRecord.objects.select_for_update().get(route="test", key="held row")

    @write_transaction
    def hold_it_while_the_other_tries() -> object:
        lock_it()
        return at_once([impatient])[0]

    def impatient() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '20ms'")
        lock_it()

    assert isinstance(hold_it_while_the_other_tries(), Unavailable)


@pytest.mark.postgresql_only
@pytest.mark.slow
def test_of_two_verbs_in_a_deadlock_both_succeed():
    for key in ("one", "two"):
        add(f"deadlock-{key}")
    tries = []

    def verb(first: str, second: str):
        met: list[int] = []

        @write_transaction
        def run() -> str:
            tries.append(first)
            for key in (first, second):
                IdempotencyRecord.objects.select_for_update().get(route="test", key=f"deadlock-{key}")
                if not met:
                    # Both hold their first row now: only the first try meets the other one.
                    met.append(barrier.wait(10))
            return "done"

        return run

    barrier = threading.Barrier(2)
    assert at_once([verb("one", "two"), verb("two", "one")]) == ["done", "done"]
    # The one that is told off tries again, and may meet the other one once more before that has its second row.
    assert len(tries) >= 3
