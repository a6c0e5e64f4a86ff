"""The time that decides is the database's, and it leaves the bus in one form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import connection, transaction

from core.clock import as_datetime, database_moment, iso


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(
            datetime(2026, 12, 1, 9, 5, tzinfo=UTC), "2026-12-01T09:05:00.000000Z", id="a whole minute"
        ),
        pytest.param(
            datetime(2026, 12, 1, 9, 5, 7, 30, tzinfo=UTC), "2026-12-01T09:05:07.000030Z", id="microseconds"
        ),
        pytest.param(
            datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2))),
            "2025-12-31T22:00:00.000000Z",
            id="another zone",
        ),
        pytest.param(
            datetime(1970, 1, 1, tzinfo=UTC), "1970-01-01T00:00:00.000000Z", id="the first of all times"
        ),
    ],
)
def test_a_time_is_told_in_utc_with_six_digits_and_z(value, wanted):
    assert iso(value) == wanted


def test_what_the_drivers_give_becomes_an_aware_time():
    wanted = datetime(2026, 12, 1, 9, 5, 7, 250_000, tzinfo=UTC)
    assert as_datetime("2026-12-01 09:05:07.250") == wanted
    assert as_datetime(wanted.replace(tzinfo=None)) == wanted
    assert as_datetime(wanted.astimezone(timezone(timedelta(hours=-5)))).tzinfo is UTC


@pytest.mark.django_db
def test_the_database_says_what_time_it_is():
    before = datetime.now(UTC) - timedelta(seconds=1)
    assert before < database_moment().now < datetime.now(UTC) + timedelta(seconds=1)


@pytest.mark.django_db
def test_time_goes_on_inside_a_transaction_and_the_transaction_stays_the_same():
    with transaction.atomic():
        first = database_moment()
        second = database_moment()
        for _ in range(1_000):  # SQLite's clock has milliseconds
            if second.now > first.now:
                break
            second = database_moment()
    assert second.now > first.now
    assert second.transaction_id == first.transaction_id
    assert (first.transaction_id > 0) == (connection.vendor == "postgresql")
