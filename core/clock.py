"""The database's clock and transaction id: the only time that decides about leases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection, models
from django.db.models.expressions import Func


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant by the database's clock, and the id of the transaction that asked (0 on SQLite)."""

    now: datetime
    transaction_id: int


class DatabaseNow(Func):
    """The wall clock of the database server, also inside a long transaction (`now()` stands still there)."""

    output_field = models.DateTimeField()

    def as_sql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        return NOW_SQL[connection.vendor], []


class TransactionId(Func):
    """The current transaction's 64-bit id, which the feed's order is made of; 0 on SQLite."""

    output_field = models.BigIntegerField()

    def as_sql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        return TRANSACTION_ID_SQL[connection.vendor], []


# Always run with parameters, even none: that is what turns %% into %.
# SQLite runs inside this process and has this machine's clock, but with milliseconds only.
NOW_SQL = {"postgresql": "clock_timestamp()", "sqlite": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')"}
TRANSACTION_ID_SQL = {"postgresql": "pg_current_xact_id()::text::bigint", "sqlite": "0"}


# What a statement that locks rows reads along, as the columns `db_now` and `db_transaction`.
STAMPS: dict[str, Func] = {"db_now": DatabaseNow(), "db_transaction": TransactionId()}


def database_moment() -> Moment:
    """One statement: what time it is for the database, and in which transaction we are."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {NOW_SQL[connection.vendor]}, {TRANSACTION_ID_SQL[connection.vendor]}", [])
        now, transaction_id = cursor.fetchone()
    return Moment(now=as_datetime(now), transaction_id=transaction_id)


def as_datetime(value: datetime | str) -> datetime:
    """A timestamp as the drivers give it in raw SQL (SQLite: text) as an aware UTC datetime."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def iso(value: datetime | None) -> str | None:
    """UTC with six digits and `Z`, the one form in which times leave the bus."""
    if value is None:
        return None
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
