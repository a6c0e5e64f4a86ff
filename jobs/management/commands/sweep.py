"""`forkflux sweep`: what time alone changes, once or for as long as the command runs."""

from __future__ import annotations

import dataclasses
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.cli import ForkfluxCommand, add_json_option
from core.limits import LIMITS
from jobs.services.sweeping import SweepReport, sweep_forever, sweep_once


class Command(ForkfluxCommand):
    """`serve` sweeps by itself; any number of these may run beside it."""

    help = "Take back jobs whose lease ran out and cancel those that expired unclaimed."
    example = "forkflux sweep\nforkflux sweep --loop"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--loop",
            action="store_true",
            help=f"go on, every {LIMITS.sweep_seconds:g} s (FORKFLUX_SWEEP_SECONDS), until it is ended by "
            "SIGTERM or Ctrl-C; --json then prints the sums at the end",
        )
        add_json_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["loop"]:
            self._loop(options)
            return
        report = sweep_once()
        self.answer(options, dataclasses.asdict(report), _in_words(report))
        if report.errors:
            raise CommandError(f"These jobs could not be swept, see the log: {_listed(report.errors)}.")

    def _loop(self, options: dict[str, Any]) -> None:
        sums = {"sweeps": 0, "jobs_expired": 0, "jobs_lapsed": 0, "jobs_returned": 0}
        sums |= {"keys_forgotten": 0, "errors": 0}

        def count(report: SweepReport) -> None:
            sums["sweeps"] += 1
            sums["jobs_expired"] += len(report.expired)
            sums["jobs_lapsed"] += len(report.lapsed)
            sums["jobs_returned"] += len(report.returned)
            sums["keys_forgotten"] += report.forgotten_keys
            sums["errors"] += len(report.errors)
            if report.did_something and not options["json"]:
                self.answer(options, None, _in_words(report))
                self.stdout.flush()

        with _stop_on_signals() as stop:
            self.note(f"Sweeping every {LIMITS.sweep_seconds:g} s; SIGTERM or Ctrl-C ends it.")
            sweep_forever(stop, sweep=sweep_once, interval_seconds=LIMITS.sweep_seconds, on_report=count)
        self.answer(options, sums, f"Ended after {sums['sweeps']} sweeps.")


@contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set, so that a sweep that is under way ends in good order."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda _number, _frame: stop.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_words(report: SweepReport) -> str:
    lines = []
    if report.expired:
        lines.append(f"Leases that ran out, jobs: {_listed(report.expired)}.")
    if report.lapsed:
        lines.append(f"Expired unclaimed, jobs: {_listed(report.lapsed)}.")
    if report.returned:
        lines.append(f"Taken back from deactivated agents, jobs: {_listed(report.returned)}.")
    if report.forgotten_keys:
        lines.append(f"Idempotency keys forgotten: {report.forgotten_keys}.")
    return "\n".join(lines) or "Nothing was due."


def _listed(ids: list[int]) -> str:
    return ", ".join(map(str, ids))
