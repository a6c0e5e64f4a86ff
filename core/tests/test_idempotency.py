"""One effect and one answer for a write that is repeated under its key, and a free key after a refusal."""

from __future__ import annotations

import functools
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from core.actors import Actor, ActorKind
from core.clock import database_moment
from core.errors import InFlight, InvalidInput, KeyReused
from core.idempotency import IdempotentCall, Outcome, forget_old_keys, once, read_key
from core.models import IdempotencyRecord
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.threads import at_once

pytestmark = pytest.mark.usefixtures("db")

ANN = Actor(kind=ActorKind.AGENT, name="ann", agent_id=1)
BEN = Actor(kind=ActorKind.AGENT, name="ben", agent_id=2)
PAT = Actor(kind=ActorKind.PERSON, name="pat", user_id=1)


class Effects:
    """Writes that count themselves."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> dict[str, Any]:
        self.count += 1
        return {"number": self.count}


def call(key: str, *, actor: Actor = ANN, route: str = "POST /jobs", body: Any = None) -> IdempotentCall:
    return IdempotentCall(actor=actor, route=route, key=key, body={} if body is None else body)


def age(key: str, **by: float) -> None:
    record = IdempotencyRecord.objects.get(key=key)
    record.created_at = database_moment().now - timedelta(**by)
    record.save(update_fields=["created_at"])


def test_a_repeated_call_has_one_effect_and_the_same_answer():
    effects = Effects()
    answers = [once(call("repeated"), effects) for _ in range(3)]
    assert effects.count == 1
    assert answers == [Outcome({"number": 1}, replayed=replayed) for replayed in (False, True, True)]


def test_without_a_key_every_call_is_its_own():
    effects = Effects()
    assert [once(None, effects).replayed for _ in range(2)] == [False, False]
    assert effects.count == 2


def test_another_body_under_the_same_key_is_refused_and_does_nothing():
    effects = Effects()
    once(call("another body", body={"summary": "a"}), effects)
    others: list[Any] = [{"summary": "b"}, {"summary": "a", "extra": 1}, {}, []]
    for body in others:
        with pytest.raises(KeyReused):
            once(call("another body", body=body), effects)
    assert effects.count == 1


def test_the_order_of_keys_does_not_make_another_body_and_the_kind_of_a_value_does():
    effects = Effects()
    first = {"a": 1, "b": [{"x": 1, "y": 2}]}
    once(call("order", body=first), effects)
    assert once(call("order", body={"b": [{"y": 2, "x": 1}], "a": 1}), effects).replayed
    for other in ({**first, "a": True}, {**first, "a": 1.0}, {**first, "a": "1"}):
        with pytest.raises(KeyReused):
            once(call("order", body=other), effects)


def test_a_key_is_an_agents_own_and_a_routes_own():
    effects = Effects()
    calls = [
        call("own"),
        call("own", actor=BEN),
        call("own", actor=PAT),
        call("own", route="POST /jobs/1/claim"),
    ]
    assert [once(each, effects).replayed for each in calls] == [False] * 4
    assert [once(each, effects).replayed for each in calls] == [True] * 4
    assert effects.count == 4


def test_a_refusal_is_not_stored_and_leaves_the_key_free():
    def refuse() -> dict[str, Any]:
        raise InvalidInput([{"loc": [], "msg": "no", "type": "no", "input": None}])

    with pytest.raises(InvalidInput):
        once(call("refused"), refuse)
    assert not IdempotencyRecord.objects.filter(key="refused").exists()
    effects = Effects()
    assert not once(call("refused", body={"mended": True}), effects).replayed
    assert effects.count == 1


def test_a_key_is_remembered_for_a_day():
    effects = Effects()
    once(call("a day"), effects)
    age("a day", hours=23, minutes=59)
    assert once(call("a day"), effects).replayed
    age("a day", hours=24, minutes=1)
    assert once(call("a day", body={"new": 1}), effects) == Outcome({"number": 2}, replayed=False)
    assert once(call("a day", body={"new": 1}), effects).replayed


def test_what_is_stored_is_the_result_and_a_fingerprint_and_nothing_of_the_body():
    secret = "the body's own words"
    once(call("stored", body={"summary": secret}), lambda: {"job_id": 7})
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM core_idempotencyrecord WHERE key = 'stored'")
        row = cursor.fetchone()
    assert secret not in repr(row)
    record = IdempotencyRecord.objects.get(key="stored")
    assert (record.actor_key, record.result, len(record.fingerprint)) == ("agent:1", {"job_id": 7}, 64)


def test_two_calls_at_once_have_one_effect_and_both_get_its_answer():
    for number in range(5):
        effects = Effects()
        answers = at_once([functools.partial(once, call(f"at once {number}"), effects)] * 4)
        assert effects.count == 1
        assert {answer.result["number"] for answer in answers} == {1}
        assert sorted(answer.replayed for answer in answers) == [False, True, True, True]


def test_a_second_call_waits_for_the_first_and_takes_its_place_when_that_is_refused():
    began, effects = threading.Event(), Effects()

    def refuse_late() -> dict[str, Any]:
        began.set()
        waiting.wait(0.2)
        raise InFlight

    waiting = threading.Event()

    def second() -> Outcome:
        began.wait(10)
        return once(call("takes its place"), effects)

    refused, answered = at_once([lambda: once(call("takes its place"), refuse_late), second])
    assert isinstance(refused, InFlight)
    assert answered == Outcome({"number": 1}, replayed=False)


@pytest.mark.postgresql_only
def test_a_second_call_does_not_wait_for_ever():
    began, tried = threading.Event(), threading.Event()

    def slow() -> dict[str, Any]:
        began.set()
        tried.wait(10)
        return {"number": 1}

    def impatient() -> Outcome:
        began.wait(10)
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        try:
            return once(call("for ever"), Effects())
        finally:
            tried.set()

    first, second = at_once([lambda: once(call("for ever"), slow), impatient])
    assert first == Outcome({"number": 1}, replayed=False)
    assert isinstance(second, InFlight)
    assert second.http_status == 409


def test_old_keys_are_forgotten_in_batches_and_young_ones_kept(monkeypatch):
    monkeypatch.setattr("core.idempotency.FORGET_BATCH", 3)
    forget_old_keys()
    for number in range(8):
        once(call(f"old {number}"), Effects())
        age(f"old {number}", hours=25)
    once(call("young"), Effects())
    assert forget_old_keys() == 8
    assert not IdempotencyRecord.objects.filter(key__startswith="old ").exists()
    assert IdempotencyRecord.objects.filter(key="young").exists()


@pytest.mark.parametrize("given", ["", "  ", "x" * 256, "tab\there", "ümlaut", "bell\x07"], ids=repr)
def test_a_header_that_is_no_key_is_refused_by_name(given):
    with pytest.raises(InvalidInput) as refused:
        read_key(given)
    [entry] = refused.value.entries
    assert entry["loc"] == ["header", "Idempotency-Key"]
    assert entry["ctx"] == {"max_length": 255}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(None, None), ("a", "a"), (" 6f1e 22 ", "6f1e 22"), ("x" * 255, "x" * 255)],
    ids=["none", "one letter", "blanks around", "255"],
)
def test_a_header_that_is_one_is_taken(given, wanted):
    assert read_key(given) == wanted
