"""The installation's own facts: the epoch of its feed, and whether the database was moved."""

from __future__ import annotations

from django.db import connection

from core.errors import ProfileExists
from core.models import Installation
from core.transactions import write_transaction

_epochs: dict[str, int] = {}


def feed_epoch() -> int:
    """The epoch that is stored with each event. Read once a process: it only changes while nothing runs."""
    name = str(connection.settings_dict["NAME"])
    if name not in _epochs:
        _epochs[name] = Installation.objects.values_list("feed_epoch", flat=True).get(pk=1)
    return _epochs[name]


@write_transaction
def settle_feed_epoch() -> int:
    """Raise the epoch when this database lives in another PostgreSQL cluster than before.

    Transaction ids of a dump that was restored elsewhere cannot be compared with those of its new home.
    Called by `init` and `serve` before anything else writes. Answers the epoch in force.
    """
    installation = Installation.objects.select_for_update().get(pk=1)
    identifier = _system_identifier()
    if identifier != installation.system_identifier:
        if installation.system_identifier:
            installation.feed_epoch += 1
        installation.system_identifier = identifier
        installation.save(update_fields=["feed_epoch", "system_identifier"])
    _epochs.clear()
    return installation.feed_epoch


def is_onboarded() -> bool:
    """Whether somebody said that this installation is set up. False in a new database."""
    return Installation.objects.values_list("is_onboarded", flat=True).get(pk=1)


@write_transaction
def set_onboarded(*, is_onboarded: bool) -> bool:
    """Say whether it is set up; ProfileExists once somebody said yes."""
    installation = Installation.objects.select_for_update().get(pk=1)
    if installation.is_onboarded:
        raise ProfileExists()
    installation.is_onboarded = is_onboarded
    installation.save(update_fields=["is_onboarded"])
    return is_onboarded


def _system_identifier() -> str:
    if connection.vendor != "postgresql":
        return ""
    with connection.cursor() as cursor:
        cursor.execute("SELECT system_identifier::text FROM pg_control_system()")
        return str(cursor.fetchone()[0])
