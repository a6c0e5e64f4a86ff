"""Many published jobs at once: copies of a real one, made inside the database."""

from __future__ import annotations

from collections.abc import Sequence

TABLE = "jobs_job"

COLUMNS_SQL = {
    "postgresql": (
        "SELECT column_name FROM information_schema.columns "
        f"WHERE table_schema = current_schema() AND table_name = '{TABLE}' ORDER BY ordinal_position"
    ),
    "sqlite": f"SELECT name FROM pragma_table_info('{TABLE}') ORDER BY cid",
}
"""Answers one row for each column of the job table, its name."""

ANALYZE_SQL = {"postgresql": f"VACUUM (ANALYZE) {TABLE}", "sqlite": "ANALYZE"}

# Publication times apart by a microsecond (SQLite: a millisecond), so that the claim's order is the order
# in which they were made, as on a real board; and spread over all priorities, so that its first key counts.
_CREATED = {
    "postgresql": "created_at + n * interval '1 microsecond'",
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f', created_at, printf('+%.3f seconds', n / 1000.0))",
}
_NUMBERS = {
    "postgresql": "generate_series(1, {count}) AS numbers(n)",
    "sqlite": (
        "(WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {count}) "
        "SELECT n FROM counted) AS numbers"
    ),
}


def copies_sql(columns: Sequence[str], *, database: str, job_id: int, count: int) -> str:
    """The statement that inserts `count` published copies of the job, each with an id of its own.

    `columns` are those of the job table, `database` is "postgresql" or "sqlite". The copies keep the head
    of the original's trail, so the next event of each is its second, as after a publication; the first
    one is not written.
    """
    overrides = {
        "priority": "10 * (1 + n % 4)",
        "created_at": _CREATED[database],
    }
    copied = [column for column in columns if column != "id"]
    unknown = sorted(set(overrides) - set(copied))
    if unknown:
        raise ValueError(f"{TABLE} has no column {unknown[0]}; it has: {', '.join(columns)}")
    values = ", ".join(overrides.get(column, f"job.{column}") for column in copied)
    numbers = _NUMBERS[database].format(count=int(count))
    return (
        f"INSERT INTO {TABLE} ({', '.join(copied)}) SELECT {values} FROM {TABLE} AS job, {numbers} "
        f"WHERE job.id = {int(job_id)} ORDER BY n"
    )
