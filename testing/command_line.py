"""`forkflux …` in the test's own process and on the test database: quick, with exit status and both streams."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What `--json` printed: one document, and nothing beside it."""
        assert self.status == 0, self
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a plain table, without the line of headings. Cells are at least two blanks apart."""
        return [
            [cell.strip() for cell in line.split("  ") if cell.strip()] for line in self.out.splitlines()[1:]
        ]


def forkflux(capsys: pytest.CaptureFixture[str], *arguments: str | int, stdin: bytes | None = None) -> Ended:
    """Run `forkflux ARGUMENTS`, as the installed program does after Python has started.

    The test needs a database that commits (`testing.committed`): the command closes its connections.
    """
    from forkflux_site.cli import main

    capsys.readouterr()
    with (
        # Showing help works on settings of its own, which must not become those of later tests.
        mock.patch.dict(os.environ),
        # Set up already; once more would point the log at this test's captured streams for good.
        mock.patch("django.setup"),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin or b""))),
    ):
        status = main(["forkflux", *map(str, arguments)])
    printed = capsys.readouterr()
    return Ended(status, printed.out, printed.err)


def refusal(ended: Ended, *, status: int = 1) -> str:
    """The sentence of a refusal, having seen that it is all there is: nothing on standard output, one line of error."""
    assert ended.status == status, ended
    assert ended.out == "", ended
    assert ended.err.startswith("Error: "), ended
    assert ended.err.count("\n") == 1, ended
    return ended.err.removeprefix("Error: ").rstrip("\n")
