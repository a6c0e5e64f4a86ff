"""Runs `forkflux agent add` for many labels in one process: fifty processes take most of a minute.

Standard input: ``{"labels": [str, …], "roles": [str, …]}``. Standard output: the list of answers.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Any

import django
from django.core.management import call_command


def main() -> None:
    """Add the agents that standard input asks for."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forkflux_site.settings")
    django.setup()
    asked = json.load(sys.stdin)
    roles = [part for role in asked["roles"] for part in ("--role", role)]
    json.dump([_add(label, roles) for label in asked["labels"]], sys.stdout)


def _add(label: str, roles: list[str]) -> Any:
    answer = io.StringIO()
    call_command("agent", "add", label, *roles, "--json", stdout=answer)
    return json.loads(answer.getvalue())


if __name__ == "__main__":
    main()
