"""How commands print: text that cannot steer a terminal, tables for people and for pipes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len

NOTHING = "-"
_GAP = 2
# Characters that act instead of showing: C0 and C1 controls (ESC starts a terminal's commands), lone surrogates,
# and Unicode's line and paragraph separators.
_ACTING = frozenset({"Cc", "Cs", "Zl", "Zp"})
# They reverse the order in which the text around them is shown.
_BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """One line of text as it may be shown: what agents write must not act on an operator's terminal."""
    if text.isprintable():
        return text
    return "".join(character if _shows(character) else _escaped(character) for character in text)


def printable_lines(text: str) -> str:
    """As `printable` for text of several lines, which it keeps."""
    return "\n".join(printable(line) for line in text.split("\n"))


def shown_time(value: str | None) -> str:
    """A time of the wire (`2026-12-01T04:03:25.123456Z`) to the second, as people read it."""
    return NOTHING if value is None else f"{value[:10]} {value[11:19]}Z"


def pairs(items: Iterable[tuple[str, object]]) -> str:
    """Names and values below one another, the values aligned."""
    found = [(name, _cell(value)) for name, value in items]
    width = max((cell_len(name) for name, _ in found), default=0) + _GAP
    return "\n".join(f"{name}{' ' * (width - cell_len(name))}{value}" for name, value in found)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings. `empty` is what is said when there is no row."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    empty: str

    def plain(self) -> str:
        """Aligned text for a pipe: no colour, nothing cut, a line for each row."""
        if not self.rows:
            return self.empty
        lines = [[column.upper() for column in self.columns], *([_cell(c) for c in row] for row in self.rows)]
        widths = [max(cell_len(line[number]) for line in lines) for number in range(len(self.columns))]
        return "\n".join(_aligned(line, widths) for line in lines)

    def drawn(self, file: Any, *, no_color: bool) -> str:
        """For a terminal: as wide as that is, with long cells cut short."""
        if not self.rows:
            return self.empty
        from rich import box
        from rich.console import Console
        from rich.table import Table as Drawing
        from rich.text import Text

        console = Console(file=file, no_color=no_color, highlight=False)
        drawing = Drawing(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in self.columns:
            drawing.add_column(Text(column), no_wrap=True, overflow="ellipsis")
        for row in self.rows:
            drawing.add_row(*(Text(_cell(cell)) for cell in row))
        with console.capture() as captured:
            console.print(drawing)
        return captured.get().strip("\n")


def _cell(value: object) -> str:
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(_cell(item) for item in value) or NOTHING
    return printable(str(value))


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    gap = " " * _GAP
    padded = (f"{cell}{' ' * (width - cell_len(cell))}" for cell, width in zip(cells, widths, strict=True))
    return gap.join(padded).rstrip()


def _shows(character: str) -> bool:
    return unicodedata.category(character) not in _ACTING and character not in _BIDIRECTIONAL


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
