"""`forkflux stats`: how the work flows, in figures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from core.cli import ForkfluxCommand, Options, add_json_option, naming, read
from core.clock import database_moment
from core.printing import Table, pairs, printable, shown_time
from jobs.inputs import StatsInput
from jobs.models import Job
from jobs.stats import stats
from jobs.stuck import in_words

_OPTIONS = {"window_hours": "--window-hours", "stuck_minutes": "--stuck-minutes"}
_REASON_SHOWN = 60


class Command(ForkfluxCommand):
    """Counts, rates, times, roles."""

    help = "Show how the work flows: what waits, what is stuck, how long things take."
    example = "forkflux stats --window-hours 168"

    def add_arguments(self, parser: CommandParser) -> None:
        add_json_option(parser)
        parser.add_argument(
            "--window-hours", type=int, default=24, metavar="N", help="how far to look back (default: 24)"
        )
        parser.add_argument(
            "--stuck-minutes",
            type=int,
            metavar="N",
            help="count as stuck what made no progress for so long (default: what each role says)",
        )
        parser.add_argument("--verbose", action="store_true", help="also what happened in all time")

    def handle(self, *args: Any, **options: Any) -> None:
        with naming(_OPTIONS):
            given = {name: options[name] for name in _OPTIONS if options[name] is not None}
            asked = read(StatsInput, given)
        figures = stats(database_moment().now, **asked.as_arguments())
        if options["verbose"]:
            figures["all_time"] = {
                "jobs": Job.objects.count(),
                "completed": figures["counts"]["completed"],
                "failed": figures["counts"]["failed"],
                "cancelled": figures["counts"]["cancelled"],
            }
        self._show(options, figures)

    def _show(self, options: Options, figures: dict[str, Any]) -> None:
        if options["json"]:
            self.answer(options, figures, "")
            return
        parts = [_now(figures), _window(figures), self._table(options, _roles(figures["roles"]))]
        if figures["failures"]:
            parts.append("why jobs failed\n" + self._table(options, _failures(figures["failures"])))
        if "all_time" in figures:
            parts.append("in all time\n" + pairs(figures["all_time"].items()))
        self.answer(options, figures, "\n\n".join(parts))

    def _table(self, options: Options, table: Table) -> str:
        if self.stdout.isatty():
            return table.drawn(no_color=bool(options.get("no_color")))
        return table.plain()


def _now(figures: dict[str, Any]) -> str:
    counts, agents = figures["counts"], figures["agents"]
    held = counts["in_progress"] + counts["unblocked"]
    return pairs(
        [
            ("waiting", f"{counts['published']}, {figures['on_hold']} of them on hold"),
            ("waiting for other jobs", counts["pending"]),
            ("in progress", held),
            ("blocked", counts["blocked"]),
            ("stuck", figures["stuck"]),
            ("agents", f"{agents['online']} of {agents['total']} online"),
            ("most wait for", figures["bottleneck_role"]),
        ]
    )


def _window(figures: dict[str, Any]) -> str:
    window, rates = figures["window"], figures["rates"]
    rows = [
        ("published", window["published"]),
        *((name, f"{window[name]}{_share(rates[name])}") for name in ("completed", "failed", "cancelled")),
        ("agents that called", figures["agents"]["active"]),
        ("until claimed", _times(figures["time_to_claim"])),
        ("until finished", _times(figures["time_to_finish"])),
    ]
    return f"in the last {figures['window_hours']} h\n{pairs(rows)}"


def _share(rate: float | None) -> str:
    return "" if rate is None else f" ({rate:.0%} of what ended)"


def _times(found: dict[str, Any]) -> str | None:
    if not found["jobs"]:
        return None
    p50, p90 = (in_words(timedelta(seconds=found[name])) for name in ("p50_seconds", "p90_seconds"))
    return f"half within {p50}, nine in ten within {p90} (of {found['jobs']})"


def _roles(roles: list[dict[str, Any]]) -> Table:
    rows = [
        (
            role["role_key"],
            role["waiting"],
            shown_time(role["oldest_waiting_since"]),
            role["held"],
            role["blocked"],
            role["stuck"],
            role["agents_online"],
            "paused" if role["paused_at"] else "open for work",
        )
        for role in roles
    ]
    columns = ["Role", "Waiting", "Oldest since", "Held", "Blocked", "Stuck", "Online", "State"]
    return Table(columns, rows, empty="There are no roles yet; make one: forkflux role add KEY", cut=["Role"])


def _failures(failures: list[dict[str, Any]]) -> Table:
    rows = [(found["jobs"], printable(found["reason"] or "")[:_REASON_SHOWN]) for found in failures]
    return Table(["Jobs", "Reason"], rows, empty="", cut=["Reason"])
