"""`forkflux init`: make the installation ready to run."""

import dataclasses
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from forkflux_site.installing import Installed, install


class Command(BaseCommand):
    """Folder, database, tables and secret key; running it again changes nothing."""

    help = "Make the folder, the database, its tables and the secret key, where they are missing."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print what was done as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        installed = install()
        if options["json"]:
            self.stdout.write(json.dumps(dataclasses.asdict(installed)))
        else:
            self.stdout.write(_in_words(installed))


def _in_words(installed: Installed) -> str:
    lines = [f"{'Made' if installed.database_created else 'Found'} {installed.database}."]
    if installed.migrations_applied:
        lines.append(f"Applied {installed.migrations_applied} migrations.")
    else:
        lines.append("All migrations were applied already.")
    if installed.secret_key_created:
        lines.append(f"Made the secret key {installed.secret_key_file}.")
    lines.append("Next: forkflux serve")
    return "\n".join(lines)
