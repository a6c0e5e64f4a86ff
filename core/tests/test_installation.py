"""The installation's own facts."""

import pytest
from django.db import connection

from core import installation as facts
from core.installation import feed_epoch, settle_feed_epoch
from core.models import Installation

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _forgotten():
    # The process remembers the epoch; what a test raised is rolled back behind its back.
    yield
    facts._epochs.clear()


def test_a_new_installation_is_not_onboarded_and_has_the_first_epoch():
    installation = Installation.objects.get()

    assert not installation.is_onboarded
    assert settle_feed_epoch() == 1


def test_the_epoch_stays_while_the_database_stays_where_it_is():
    assert [settle_feed_epoch(), settle_feed_epoch(), feed_epoch()] == [1, 1, 1]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="an SQLite file has no cluster to leave")
def test_the_epoch_rises_when_the_database_was_restored_into_another_cluster():
    settle_feed_epoch()
    Installation.objects.update(system_identifier="7000000000000000001")

    assert settle_feed_epoch() == 2
    assert feed_epoch() == 2
    assert settle_feed_epoch() == 2
