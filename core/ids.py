"""Ids before the rows: an event names the stream `job:7`, and its hash must be in the row it is about."""

from __future__ import annotations

from django.db import connection, models


def allocate_ids(model: type[models.Model], count: int) -> list[int]:
    """Reserve ids for rows that this transaction inserts. Ascending, never handed out twice.

    On SQLite the write transaction holds the only write lock, so the next numbers are ours; an id that
    is not used after all is used later by somebody else.
    """
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [table, count]
            )
            return sorted(row[0] for row in cursor.fetchall())
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        row = cursor.fetchone()
    first = (row[0] if row else 0) + 1
    return list(range(first, first + count))
