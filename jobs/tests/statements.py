"""The SQL that a call runs, without what opens and closes its transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.test.utils import CaptureQueriesContext

_TRANSACTION_CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE SAVEPOINT")


@contextmanager
def statements() -> Iterator[list[str]]:
    """A list that is filled with the statements of the block when it ends."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield found
    found += [
        str(query["sql"])
        for query in captured.captured_queries
        if not str(query["sql"]).lstrip().upper().startswith(_TRANSACTION_CONTROL)
    ]
