"""A claim-next that has to wait for others gives its own locks up first."""

import pytest
from django.db import connection

from core.errors import Unavailable
from core.transactions import StartAnew, write_transaction
from jobs import queue
from jobs.services import claiming
from jobs.services.claiming import claim_next
from jobs.tests.board import new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`


def test_the_wait_happens_outside_of_any_transaction_and_the_claim_begins_again(db, monkeypatch):
    role = new_role()
    worker = new_agent(role)
    job = published(worker, role)
    pick = queue.pick
    waited: list[tuple[int, bool]] = []

    def nothing_free_at_first(*arguments, **options):
        return pick(*arguments, **options) if waited else None

    def wait(job_id):
        waited.append((job_id, connection.in_atomic_block))

    monkeypatch.setattr(queue, "pick", nothing_free_at_first)
    monkeypatch.setattr(claiming, "_wait_for", wait)

    assert claim_next(actor=worker, role_keys=[role.role_key]).pk == job.pk
    assert waited == [(job.pk, False)]


def test_a_wait_that_does_not_end_is_answered_as_busy(db, monkeypatch):
    monkeypatch.setattr("core.transactions.WAIT_SECONDS", -1)

    @write_transaction
    def never():
        raise StartAnew(lambda: None)

    with pytest.raises(Unavailable):
        never()
