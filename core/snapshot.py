"""Reading a whole database as it was at one moment, while others go on writing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Everything that is read inside shows the same moment. Nothing waits for it, and it waits for nothing.

    RuntimeError inside a transaction: that one has chosen its moment already.
    """
    if connection.in_atomic_block:
        raise RuntimeError("a snapshot cannot begin inside a transaction")
    if connection.vendor == "postgresql":
        with transaction.atomic(durable=True):
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                # The limit is for requests; a whole trail may take as long as it takes.
                cursor.execute("SET LOCAL statement_timeout = 0")
            yield
        return
    with connection.cursor() as cursor:
        # atomic() begins IMMEDIATE, as the settings say, and would keep every writer waiting.
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
