"""How the figures are told: one aligned table for people, one JSON document for programs."""

from __future__ import annotations

import dataclasses
import os
import platform
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.figures import BARE, Figure, Growth, Verdict, find

_DISTRIBUTIONS = ("Django", "djangorestframework", "gunicorn", "psycopg")


def machine() -> dict[str, Any]:
    """Where and with what it was measured."""
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "cpu": _cpu_model(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _DISTRIBUTIONS},
        "load_average": round(os.getloadavg()[0], 2),
    }


def as_json(
    described: dict[str, Any],
    figures: Sequence[Figure],
    growths: Sequence[Growth],
    verdicts: Sequence[Verdict],
    *,
    missing: Sequence[str],
) -> dict[str, Any]:
    """Everything that was measured: each repetition, the medians, the aims."""
    return {
        **described,
        "missing": list(missing),
        "figures": [dataclasses.asdict(figure) | {"medians": medians(figure)} for figure in figures],
        "growth": [
            dataclasses.asdict(growth) | {"time_ratio": growth.time_ratio, "cpu_ratio": growth.cpu_ratio}
            for growth in growths
        ],
        "verdicts": [dataclasses.asdict(verdict) for verdict in verdicts],
    }


def medians(figure: Figure) -> dict[str, float | None]:
    """The median of each number; errors and closed connections are sums."""
    names = ("per_second", "p50_ms", "p99_ms", "server_ms", "database_ms", "client_ms", "elsewhere")
    return {name: figure.median(name) for name in names} | {
        "server_errors": figure.server_errors,
        "resets": figure.resets,
    }


def as_text(
    described: dict[str, Any],
    figures: Sequence[Figure],
    growths: Sequence[Growth],
    verdicts: Sequence[Verdict],
    *,
    missing: Sequence[str],
) -> str:
    """The whole report."""
    lines = _head(described)
    for database in dict.fromkeys(figure.database for figure in figures):
        mine = [figure for figure in figures if figure.database == database]
        name = described.get("databases", {}).get(database, database)
        lines += [
            "",
            f"{name}, forkflux serve with {mine[0].workers} worker(s)",
            *_table(mine, described["cpus"]),
        ]
    if figures:
        lines += ["", *_LEGEND]
    if growths:
        lines += ["", "claim-next on a large board, one client, batches in turns", *_growth_table(growths)]
    lines += ["", *(f"NOT MEASURED: {text}" for text in missing)] if missing else []
    if verdicts:
        lines += ["", "aims (PostgreSQL, 2 workers, unless said)"]
        lines += [
            f"  {'met   ' if verdict.met else 'MISSED'}  {verdict.aim}: {verdict.measured}"
            for verdict in verdicts
        ]
    return "\n".join(lines)


_LEGEND = (
    "of bare: answers per second beside the bare authenticated view with as many clients. CPU: ms for each",
    "answer, of the server's processes, of PostgreSQL's, of the load's own client. at most: what all CPUs could",
    "answer per second at that cost if nothing else ran. other: what everything else on the machine used meanwhile,",
    "in CPUs; it lowers the rates and lengthens the times, and raises CPU ms a little.",
)


def _head(described: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {number}" for name, number in described["versions"].items())
    plan = described.get("plan", {})
    settings = described.get("settings") or "none"
    return [
        f"ForkFlux benchmark, {described['measured_at']}",
        f"{described['cpus']} CPUs ({described['cpu']}), {described['system']}, Python {described['python']}",
        f"{versions}; load average at the start {described['load_average']}",
        f"medians of {plan.get('rounds')} windows of {plan.get('seconds')} s; environment: {settings}",
    ]


def _table(figures: Sequence[Figure], cpus: int) -> list[str]:
    rows = [
        (
            "operation", "clients", "per s", "of bare", "p50 ms", "p99 ms", "5xx", "closed",
            "server CPU", "PG CPU", "client CPU", "at most", "other",
        )
    ]  # fmt: skip
    for figure in sorted(figures, key=lambda figure: figure.clients):
        bare = find(figures, BARE, figure.clients, figure.database)
        rows.append(
            (
                figure.operation,
                str(figure.clients),
                f"{figure.per_second:.0f}",
                "" if bare is None else f"{figure.per_second / bare.per_second:.0%}",
                _number(figure.p50_ms, 1),
                _number(figure.median("p99_ms"), 1),
                str(figure.server_errors),
                str(figure.resets),
                _number(figure.median("server_ms"), 2),
                _number(figure.median("database_ms"), 2),
                _number(figure.median("client_ms"), 3),
                _number(figure.most_per_second(cpus), 0),
                _number(figure.median("elsewhere"), 2),
            )
        )
    return aligned(rows)


def _growth_table(growths: Sequence[Growth]) -> list[str]:
    rows = [("database", "roles", "jobs", "p50 ms", "CPU ms", "jobs", "p50 ms", "CPU ms", "time ×", "CPU ×")]
    rows += [
        (
            growth.database,
            str(growth.roles),
            f"{growth.small:,}",
            _number(statistics.median(growth.small_ms), 2),
            _number(growth.small_cpu_ms, 2),
            f"{growth.large:,}",
            _number(statistics.median(growth.large_ms), 2),
            _number(growth.large_cpu_ms, 2),
            _number(growth.time_ratio, 2),
            _number(growth.cpu_ratio, 2),
        )
        for growth in growths
    ]
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, the first column to the left, the others to the right."""
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [
        "  ".join(
            [name.ljust(first), *(cell.rjust(width) for cell, width in zip(cells, others, strict=True))]
        )
        for name, *cells in rows
    ]


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _cpu_model() -> str:
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
