"""What is read from pgbench, what is inserted, and how the table looks."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from pathlib import Path

import pytest

from bench.figures import BARE, CLAIMS, Figure, verdicts
from bench.filling import COLUMNS_SQL, copies_sql
from bench.report import aligned, as_json, as_text, machine
from bench.statement import PgbenchFailed, outcome_of_log, pgbench_program
from bench.tests.test_figures import GROWTH, WINDOW


def test_pgbenchs_log_tells_latencies_and_the_window_from_first_begin_to_last_end():
    lines = ["0 1 2000 0 100 500000", "1 1 500000 0 100 900000", "0 2 1000 0 102 400000"]
    outcome = outcome_of_log(lines)
    assert outcome.latencies == [0.002, 0.5, 0.001]
    assert outcome.seconds == pytest.approx(2.0)
    assert outcome.in_window == 3


def test_a_pgbench_that_finished_nothing_gives_no_figure():
    with pytest.raises(PgbenchFailed, match="no transaction"):
        outcome_of_log([])


def test_pgbench_is_looked_for_beside_the_server(tmp_path: Path):
    assert pgbench_program(None) is None
    assert pgbench_program(tmp_path) is None
    (tmp_path / "pgbench").touch()
    assert pgbench_program(tmp_path) == tmp_path / "pgbench"


def test_copies_are_claimable_spread_over_the_priorities_and_in_the_order_of_their_ids():
    with sqlite3.connect(":memory:") as board:
        board.execute(
            "CREATE TABLE jobs_job (id INTEGER PRIMARY KEY AUTOINCREMENT, summary TEXT, priority INTEGER, "
            "created_at TEXT, on_hold BOOLEAN)"
        )
        board.execute("INSERT INTO jobs_job VALUES (7, 'one', 20, '2026-01-01 00:00:00', TRUE)")
        columns = [row[0] for row in board.execute(COLUMNS_SQL["sqlite"])]
        board.execute(copies_sql(columns, database="sqlite", job_id=7, count=1_000))
        copies = board.execute(
            "SELECT id, summary, priority, created_at, on_hold FROM jobs_job WHERE id > 7"
        ).fetchall()
    board.close()
    assert len(copies) == 1_000
    assert {(summary, on_hold) for _, summary, _, _, on_hold in copies} == {("one", 0)}
    priorities = [priority for _, _, priority, _, _ in copies]
    assert {priority: priorities.count(priority) for priority in set(priorities)} == dict.fromkeys(
        (10, 20, 30, 40), 250
    )
    assert [row[0] for row in sorted(copies, key=lambda row: (row[3], row[0]))] == [row[0] for row in copies]
    assert len({row[3] for row in copies}) > 5


def test_a_job_table_without_a_needed_column_is_refused():
    with pytest.raises(ValueError, match="has no column created_at"):
        copies_sql(["id", "priority", "on_hold"], database="sqlite", job_id=1, count=1)


def test_columns_are_as_wide_as_their_widest_cell():
    assert aligned([("name", "n"), ("a", "100")]) == ["name    n", "a     100"]


FIGURES = [
    Figure("postgresql", 2, BARE, 8, (dataclasses.replace(WINDOW, per_second=1_800.0),)),
    Figure("postgresql", 2, CLAIMS, 8, (WINDOW,)),
    Figure("sqlite", 1, CLAIMS, 8, (dataclasses.replace(WINDOW, server_ms=None, database_ms=None),)),
]


def test_the_text_holds_every_figure_verdict_and_gap():
    aims = verdicts(FIGURES, [GROWTH])
    text = as_text(machine() | {"cpus": 2}, FIGURES, [GROWTH], aims, missing=["pgbench is not there"])
    claims = next(line.split() for line in text.splitlines() if line.startswith(CLAIMS))
    assert claims == [
        *("claim-next", "8", "900", "50%", "8.0", "20.0", "0", "0"),
        *("1.50", "0.50", "0.100", "952", "0.20"),
    ]
    assert "NOT MEASURED: pgbench is not there" in text
    assert [line.split()[0] for line in text.splitlines()[-3:]] == ["met", "met", "met"]
    unknown = [line.split() for line in text.splitlines() if line.startswith(CLAIMS)][1]
    assert unknown[7:11] == ["–", "–", "0.100", "–"]


def test_the_json_holds_each_window_the_medians_and_the_verdicts():
    document = json.loads(
        json.dumps(as_json(machine(), FIGURES, [GROWTH], verdicts(FIGURES, [GROWTH]), missing=[]))
    )
    claims = document["figures"][1]
    assert claims["repetitions"][0]["per_second"] == claims["medians"]["per_second"] == 900.0
    assert document["growth"][0]["time_ratio"] == pytest.approx(1.1)
    assert [verdict["met"] for verdict in document["verdicts"]] == [True, True, True]
    assert document["python"]
