"""A snapshot shows one moment, and nobody waits for it."""

import threading
import uuid

import pytest
from django.db import InternalError, connection, connections, transaction

from core.models import IdempotencyRecord
from core.snapshot import read_snapshot
from core.transactions import write_transaction
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


@write_transaction
def add_row() -> None:
    IdempotencyRecord.objects.create(actor_key="test", route="/", key=str(uuid.uuid4()), fingerprint="")


def rows() -> int:
    return IdempotencyRecord.objects.count()


def elsewhere(run) -> None:
    """Run in a thread, with a connection of its own, and wait for the end."""
    failed: list[BaseException] = []

    def body() -> None:
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - raised again below, in the test's own thread
            failed.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=body)
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive(), "it waits for the snapshot"
    if failed:
        raise failed[0]


def test_what_others_commit_meanwhile_is_not_seen_and_they_do_not_wait():
    before = rows()
    with read_snapshot():
        assert rows() == before
        elsewhere(add_row)
        assert rows() == before
        assert len(list(IdempotencyRecord.objects.iterator(chunk_size=1))) == before
    assert rows() == before + 1


def test_after_it_one_can_write_again():
    with read_snapshot():
        before = rows()
    add_row()
    assert rows() == before + 1


def fail_inside() -> None:
    with read_snapshot():
        rows()
        raise ZeroDivisionError


def test_after_a_failure_inside_one_can_write_again():
    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert not connection.in_atomic_block
    before = rows()
    add_row()
    assert rows() == before + 1


def test_it_does_not_begin_inside_a_transaction():
    with transaction.atomic(), pytest.raises(RuntimeError, match="inside a transaction"), read_snapshot():
        pass


@pytest.mark.postgresql_only
def test_nothing_can_be_written_inside():
    with pytest.raises(InternalError, match="read-only"), read_snapshot():
        IdempotencyRecord.objects.update(fingerprint="x")
