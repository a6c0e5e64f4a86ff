"""How commands print: text that cannot steer a terminal, tables for people and for pipes."""

from __future__ import annotations

import io
import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    """Rows under headings. `empty` is what is said when there is no row.

    A narrow terminal cuts the cells of the `cut` columns, the longest first, and leaves the others whole.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    empty: str
    cut: Sequence[str] = ()

    def plain(self) -> str:
        """Aligned text for a pipe: no colour, nothing cut, a line for each row."""
        if not self.rows:
            return self.empty
        lines = [[column.upper() for column in self.columns], *([_cell(c) for c in row] for row in self.rows)]
        widths = [max(cell_len(line[number]) for line in lines) for number in range(len(self.columns))]
        return "\n".join(_aligned(line, widths) for line in lines)

    def drawn(self, *, no_color: bool) -> str:
        """For a terminal, and as wide as that is."""
        if not self.rows:
            return self.empty
        from rich.console import Console
        from rich.table import Table as Drawing
        from rich.text import Text

        page = io.StringIO()
        width = shutil.get_terminal_size().columns
        console = Console(file=page, force_terminal=True, width=width, no_color=no_color, highlight=False)
        drawing = Drawing(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
        for column in self.columns:
            # The columns that may wrap are those that rich makes narrower; their texts still do not wrap.
            drawing.add_column(Text(column, no_wrap=True), no_wrap=column not in self.cut)
        for row in self.rows:
            drawing.add_row(*(Text(_cell(cell), no_wrap=True, overflow="ellipsis") for cell in row))
        console.print(drawing)
        return page.getvalue().rstrip("\n")


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
