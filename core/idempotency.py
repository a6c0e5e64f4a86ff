"""One effect and the same answer for a write that is repeated under the same `Idempotency-Key`.

The record is inserted first, in the transaction of the write itself. So a second call with the key waits
on the first one's insert (PostgreSQL: its unique index; SQLite: the write lock), a refusal leaves no
record, and a crash leaves either both or neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import OperationalError, connection, transaction

from core.actors import Actor
from core.clock import NOW_SQL, DatabaseNow, database_moment
from core.errors import InFlight, KeyReused, invalid
from core.fields import compact_json
from core.limits import LIMITS
from core.models import IdempotencyRecord
from core.transactions import write_transaction

KEY_LENGTH = 255
FORGET_BATCH = 1_000
_LOCK_NOT_AVAILABLE = "55P03"
_TABLE = IdempotencyRecord._meta.db_table
_INSERT = (
    f"INSERT INTO {_TABLE} (actor_key, route, key, fingerprint, result, created_at) "  # noqa: S608
    "VALUES (%s, %s, %s, %s, NULL, {now}) ON CONFLICT (actor_key, route, key) DO NOTHING RETURNING id"
)
_FINISH = f"UPDATE {_TABLE} SET result = %s WHERE id = %s"  # noqa: S608


@dataclass(frozen=True, slots=True)
class IdempotentCall:
    """A write and the key it was sent with. `route` is method and path: a key is free again on another."""

    actor: Actor
    route: str
    key: str
    body: Any

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(compact_json(_sorted(self.body)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: the result's identifying data, and whether an earlier call did the work."""

    result: dict[str, Any]
    replayed: bool


def read_key(value: str | None) -> str | None:
    """The header's value; InvalidInput unless it is 1 to 255 visible ASCII characters or blanks between them."""
    if value is None:
        return None
    key = value.strip()
    if not key or len(key) > KEY_LENGTH or not all(" " <= character <= "~" for character in key):
        raise invalid(
            "idempotency_key.invalid",
            ("header", "Idempotency-Key"),
            f"Idempotency-Key should have 1 to {KEY_LENGTH} visible ASCII characters",
            None,
            max_length=KEY_LENGTH,
        )
    return key


@write_transaction
def once(call: IdempotentCall | None, write: Callable[[], dict[str, Any]]) -> Outcome:
    """Run the write, or find what it did when the key was used before.

    `write` answers what identifies its result (ids and states, JSON); it is stored, so it must hold no
    token and no payload. KeyReused (422) for another body, InFlight (409) when the first call does not
    end within the lock time-out.
    """
    if call is None:
        return Outcome(write(), replayed=False)
    record_id = _begin(call)
    if record_id is None:
        known = _known(call)
        if known is not None:
            return Outcome(known, replayed=True)
        record_id = _begin(call)
        if record_id is None:
            raise InFlight()
    result = write()
    with connection.cursor() as cursor:
        cursor.execute(_FINISH, [compact_json(result), record_id])
    return Outcome(result, replayed=False)


def _begin(call: IdempotentCall) -> int | None:
    """The id of the new record, or None when the key is known. Waits while its first call still runs."""
    sql = _INSERT.replace("{now}", NOW_SQL[connection.vendor])
    try:
        # The savepoint keeps the transaction usable when the wait ends without an answer.
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql, [call.actor.key, call.route, call.key, call.fingerprint])
            row = cursor.fetchone()
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            raise InFlight() from error
        raise
    return None if row is None else int(row[0])


def _known(call: IdempotentCall) -> dict[str, Any] | None:
    """What the first call came to. None, and the record gone, when it is older than a key is kept."""
    records = IdempotencyRecord.objects.filter(actor_key=call.actor.key, route=call.route, key=call.key)
    record = records.annotate(db_now=DatabaseNow()).first()
    if record is None:
        return None
    if record.db_now - record.created_at > timedelta(hours=LIMITS.idempotency_hours):
        record.delete()
        return None
    if record.fingerprint != call.fingerprint:
        raise KeyReused()
    result: dict[str, Any] = record.result
    return result


def forget_old_keys() -> int:
    """Delete records that are older than keys are kept, in batches; answers how many."""
    forgotten = 0
    while count := _forget_batch():
        forgotten += count
    return forgotten


def _forget_batch() -> int:
    before = database_moment().now - timedelta(hours=LIMITS.idempotency_hours)
    old = IdempotencyRecord.objects.filter(created_at__lt=before).values_list("pk", flat=True)
    ids = list(old[:FORGET_BATCH])
    return _delete(ids) if ids else 0


@write_transaction
def _delete(ids: list[int]) -> int:
    count, _ = IdempotencyRecord.objects.filter(pk__in=ids).delete()
    return count


def _sorted(value: Any) -> Any:
    """The same body with its keys in another order is the same request."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value
