"""`forkflux doctor`: looks at the installation and says what to do."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from core.cli import ForkfluxCommand, add_json_option
from core.printing import Table
from forkflux_site.doctor import findings

_DEFAULT_PORT = 8000


class Command(ForkfluxCommand):
    """Exit status 1 when there is a problem."""

    help = "Look at database, settings, clock and port, and say what to do."
    example = "forkflux doctor"

    # It is asked when something is wrong: a missing database is a finding, not an error.
    needs_database = False

    def add_arguments(self, parser: CommandParser) -> None:
        add_json_option(parser)
        parser.add_argument(
            "--host",
            default=settings.FORKFLUX_HOST,
            metavar="H",
            help="where serve listens (default: %(default)s)",
        )
        parser.add_argument(
            "--port", type=int, default=_DEFAULT_PORT, metavar="N", help="its port (default: %(default)s)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        found = list(findings(host=options["host"], port=options["port"]))
        rows = [(each.name, each.state, each.told, each.remedy) for each in found]
        table = Table(["Looked at", "State", "Found", "What to do"], rows, empty="Nothing was looked at.")
        self.answer(options, [dataclasses.asdict(each) for each in found], table)
        if any(each.state == "problem" for each in found):
            sys.exit(1)
