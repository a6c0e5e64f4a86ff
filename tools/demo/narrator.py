"""What the demo prints: who did what and when, one aligned line for each thing that happened."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Mapping
from typing import TextIO

WIDEST, NARROWEST = 108, 72
_NAME_WIDTH = 10
_LABEL_WIDTH = 12
_INDENT = 2 + 7 + 2 + _NAME_WIDTH + 1
_COLOURS: Mapping[str, int] = {
    "planner": 35,
    "builder-1": 36,
    "builder-2": 33,
    "operator": 34,
    "server": 34,
    "system": 34,
    "demo": 31,
}
_BOLD, _DIM, _RED = 1, 2, 31


class Narrator:
    """Writes lines with the seconds since the start; in colour on a terminal, unless NO_COLOR is set."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._start = time.monotonic()
        columns = shutil.get_terminal_size((WIDEST, 0)).columns
        self._width = min(max(columns, NARROWEST), WIDEST) - _INDENT
        self._colour = out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def opening(self, title: str) -> None:
        """The first line of all."""
        self._write(self._paint(title, _BOLD))

    def part(self, title: str) -> None:
        """A new part of the story."""
        self._write("")
        self._write(self._paint(title, _BOLD))

    def did(self, who: str, what: str) -> None:
        """One thing that happened."""
        seconds = f"{time.monotonic() - self._start:5.1f} s"
        name = self._paint(f"{who:<{_NAME_WIDTH}}", _COLOURS.get(who, 0))
        first, *others = self._wrapped(what)
        self._write(f"  {self._paint(seconds, _DIM)}  {name} {first}")
        for line in others:
            self._write(f"{'':{_INDENT}}{line}")

    def aside(self, text: str, *, label: str = "") -> None:
        """More of what happened, under it; under a label if it has one."""
        head = f"{label:<{_LABEL_WIDTH}}" if label else ""
        for line in self._wrapped(head + text, hang=len(head)):
            self._write(f"{'':{_INDENT}}{self._paint(line, _DIM)}")

    def row(self, text: str = "") -> None:
        """A line of a table, as it is."""
        self._write(f"  {text}".rstrip())

    def bad(self, text: str) -> None:
        """What went wrong, where errors go."""
        self._out.flush()
        sys.stderr.write(f"\n{self._paint(text, _RED)}\n")
        sys.stderr.flush()

    def _wrapped(self, text: str, *, hang: int = 0) -> list[str]:
        return textwrap.wrap(
            text,
            self._width,
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _write(self, line: str) -> None:
        self._out.write(line + "\n")
        # Each line is to be seen when it happens, also through a pipe.
        self._out.flush()

    def _paint(self, text: str, code: int) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour and code else text
