"""The tests run on the database that was asked for, set up as an installation's is."""

import pytest
from django.db import connection

NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def _ask(statement: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return str(cursor.fetchone()[0])


@pytest.mark.django_db
def test_the_run_uses_the_database_that_it_was_asked_for(request, record_property):
    asked = request.config.getoption("db")
    assert connection.vendor == asked
    version = _ask("SELECT sqlite_version()" if asked == "sqlite" else "SHOW server_version")
    # .ci/run reads this from the JUnit file (tools/check_test_results.py).
    record_property("database", f"{NAMES[asked]} {version}")


@pytest.mark.sqlite_only
@pytest.mark.django_db
def test_sqlite_is_a_file_in_wal_mode_as_it_is_served():
    assert _ask("PRAGMA journal_mode") == "wal"
    assert _ask("PRAGMA foreign_keys") == "1"


@pytest.mark.postgresql_only
@pytest.mark.django_db
def test_postgresql_has_the_limits_that_it_is_served_with():
    assert _ask("SHOW lock_timeout") != "0"
    assert _ask("SHOW idle_in_transaction_session_timeout") != "0"
