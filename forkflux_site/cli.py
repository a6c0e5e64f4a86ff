"""The `forkflux` command: the product's own commands, one clear line for each error."""

import os
import sys
from collections.abc import Sequence

from django.core.management import execute_from_command_line


def main(argv: Sequence[str] | None = None, *, show_django_commands: bool = False) -> int:
    """Run a command line; gives back the exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forkflux_site.settings")
    execute_from_command_line(list(sys.argv if argv is None else argv))
    return 0
