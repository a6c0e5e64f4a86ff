"""A test database whose transactions really commit: for rules that live in commits, roll-backs, locks and retries.

pytest-django's `django_db` wraps a test in one transaction, in which a refused verb is not rolled back and a retry
cannot begin; with `transaction=True` it flushes every table, the row that the first migration made included.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from testing.secrets_watch import rows_with_secrets

# Made by migrations, not by tests.
KEPT = {"core.Installation"}


@pytest.fixture(scope="module", name="db")
def committed_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test database in autocommit for all tests of a module; their rows are deleted after the last one.

    A module that imports this replaces pytest-django's fixture `db` for itself (the name is what tells
    pytest-django that a test needs a database). Its tests see each other's rows: let each make roles and
    agents of its own, and look only at theirs.
    """
    with django_db_blocker.unblock():
        yield from _committing()


@pytest.fixture(name="db")
def database_of_one_test(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """As `committed_database`, emptied after each test: for those that must see their own rows only."""
    with django_db_blocker.unblock():
        yield from _committing()


def _committing() -> Iterator[None]:
    apps.get_model("core.Installation").objects.get_or_create(pk=1)
    yield
    try:
        assert rows_with_secrets() == []
    finally:
        _empty()


def _empty() -> None:
    tables = [
        model._meta.db_table
        for label in ("core", "events", "roles", "agents", "jobs", "artifacts")
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
        if model._meta.label not in KEPT
    ]
    statements = connection.ops.sql_flush(no_style(), tables, reset_sequences=False)
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
