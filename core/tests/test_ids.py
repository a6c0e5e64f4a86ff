"""Ids before the rows: ascending, nobody's twice, whatever was rolled back, given by hand or taken at once."""

from __future__ import annotations

import contextlib

import pytest
from django.db import connection, transaction

from core.ids import allocate_ids
from core.transactions import write_transaction
from jobs.models import JobLabel
from roles.models import Role
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.threads import at_once

pytestmark = pytest.mark.usefixtures("db")


@write_transaction
def insert(count: int) -> list[int]:
    ids = allocate_ids(Role, count)
    for number in ids:
        Role(id=number, role_key=f"allocated-{number}", role_label="x").save(force_insert=True)
    return ids


def test_they_ascend_and_follow_each_other():
    first, second = insert(3), insert(2)
    assert first == sorted(set(first))
    assert len(first + second) == 5
    assert second[0] > first[-1]


def test_they_continue_behind_rows_that_got_theirs_from_the_database():
    before = insert(1)
    by_itself = Role.objects.create(role_key="by itself", role_label="x").pk
    after = insert(1)
    assert before[0] < by_itself < after[0]


def test_what_was_rolled_back_disturbs_nobody():
    with contextlib.suppress(ZeroDivisionError), transaction.atomic():
        lost = insert(2)
        raise ZeroDivisionError
    kept = insert(2)
    assert kept == sorted(kept)
    assert not Role.objects.filter(pk__in=set(lost) - set(kept)).exists()
    assert Role.objects.filter(pk__in=kept).count() == 2


def test_the_id_of_a_deleted_row_is_not_given_again():
    [number] = insert(1)
    Role.objects.filter(pk=number).delete()
    assert insert(1)[0] > number


@pytest.mark.sqlite_only
def test_they_continue_behind_an_id_that_was_given_by_hand():
    """On PostgreSQL whoever inserts ids by hand moves the sequence on as well; SQLite notices."""
    by_hand = insert(1)[0] + 1_000
    Role.objects.create(id=by_hand, role_key="by hand", role_label="x")
    assert insert(1) == [by_hand + 1]


@pytest.mark.sqlite_only
def test_the_first_id_of_a_table_is_one():
    with transaction.atomic(), connection.cursor() as cursor:
        # So it is before the first row: SQLite knows of the table only then.
        cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [JobLabel._meta.db_table])
        assert allocate_ids(JobLabel, 2) == [1, 2]
        transaction.set_rollback(True)


def test_taken_at_once_they_are_all_different():
    answers = at_once([lambda: [number for _ in range(5) for number in insert(3)]] * 6)
    taken = [number for ids in answers for number in ids]
    assert len(set(taken)) == len(taken) == 90
    assert Role.objects.filter(pk__in=taken).count() == 90
