"""Preparing a PostgreSQL database: the original's is refused, and no session keeps what preparing it set."""

import psycopg
import pytest

from testing.installation import Installation


@pytest.fixture
def bare(postgres_url: str, tmp_path):
    with Installation(database_url=postgres_url, folder=tmp_path) as made:
        yield made


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    return {name for (name,) in rows}


@pytest.mark.postgresql_only
@pytest.mark.parametrize("command", ["init", "serve", "migrate"])
def test_a_database_of_the_original_is_refused_untouched(bare: Installation, command: str) -> None:
    with psycopg.connect(bare.database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE handoff_job (id int)")
    result = bare.run(command, expect=1)
    assert "original ForkFlux" in result.stderr
    assert result.stderr.count("\n") == 1
    assert tables(bare.database_url) == {"handoff_job"}


@pytest.mark.postgresql_only
def test_requests_have_bounds_on_locks_and_statements_although_migrations_have_none(
    bare: Installation,
) -> None:
    bare.init()
    asked = bare.run(
        "shell", "-v", "0", "-c",
        "from forkflux_site.installing import install\n"
        "install()\n"
        "from django.db import connection\n"
        "cursor = connection.cursor()\n"
        "for name in ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'):\n"
        "    cursor.execute('SHOW ' + name)\n"
        "    print(cursor.fetchone()[0])\n"
        "cursor.execute(\"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'\")\n"
        "print(cursor.fetchone()[0])\n",
    )  # fmt: skip
    assert asked.stdout.split() == ["5s", "30s", "30s", "0"]
