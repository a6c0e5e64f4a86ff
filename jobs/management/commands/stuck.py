"""`forkflux stuck`: which jobs need a person, and why."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from core.cli import ForkfluxCommand, add_json_option, naming, read
from core.clock import database_moment
from core.printing import Table, shown_time
from jobs.filters import stuck_page
from jobs.inputs import StuckInput
from jobs.payloads import stuck_item

_OPTIONS = {"limit": "--limit", "offset": "--offset", "stuck_minutes": "--stuck-minutes"}


class Command(ForkfluxCommand):
    """The stuck jobs, longest first."""

    help = "List the jobs that need a person, and why."
    example = "forkflux stuck --json"

    def add_arguments(self, parser: CommandParser) -> None:
        add_json_option(parser)
        parser.add_argument(
            "--limit", type=int, default=50, metavar="N", help="rows of a page, 1 to 200 (default: 50)"
        )
        parser.add_argument("--offset", type=int, default=0, metavar="N", help="rows to pass over")
        parser.add_argument(
            "--stuck-minutes",
            type=int,
            metavar="N",
            help="without progress for so long (default: what each role says)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with naming(_OPTIONS):
            asked = read(StuckInput, {name: options[name] for name in _OPTIONS if options[name] is not None})
        found, page = stuck_page(asked, database_moment().now)
        items = [stuck_item(stuck) for stuck in found]
        rows = [
            (
                job["id"],
                job["summary"],
                job["status"],
                job["target_role_key"],
                shown_time(job["since"]),
                job["reason"],
            )
            for job in items
        ]
        table = Table(
            ["Id", "Summary", "Status", "Role", "Since", "Why"],
            rows,
            empty="Nothing is stuck.",
            cut=["Summary", "Role", "Why"],
        )
        self.answer(options, items, table)
        if page.total is not None and page.total > len(items):
            self.note(
                f"{len(items)} of {page.total}; the others: --offset {(asked.offset or 0) + len(items)}"
            )
