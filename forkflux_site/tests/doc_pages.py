"""Reading README.md and docs/: fenced blocks with their labels, tables behind a marker, headings and links.

A fence says after its language what a test does with it: three backticks, then ``bash run`` or ``json answer=201``.
What follows the first word is not shown when the page is rendered.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from testing.installation import ROOT

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>.*)$")
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$")
_LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)(?: \"[^\"]*\")?\)")
_CODE_SPAN = re.compile(r"(`+)[^`]+?\1(?!`)")
_MARKER = re.compile(r"^<!-- table: (?P<name>[\w .-]+) -->$")
_IMAGE_SOURCE = re.compile(r'<(?:img|source)[^>]*? (?:src|srcset)="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language, what a test does with it, and its text."""

    page: Path
    line: int
    language: str
    label: str
    options: dict[str, str]
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Page:
    """One page, read once."""

    path: Path
    blocks: list[Block] = field(default_factory=list)
    prose: list[tuple[int, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The path from the root of the project."""
        return str(self.path.relative_to(ROOT))

    def anchors(self) -> set[str]:
        """The fragments that a link to this page can name, made as GitHub makes them."""
        found: dict[str, int] = {}
        for _, line in self.prose:
            if match := _HEADING.match(line):
                text = _LINK.sub(lambda link: link.group(0).partition("](")[0].lstrip("!["), match[2])
                anchor = re.sub(r"[^\w\- ]", "", text.lower().replace("`", "")).replace(" ", "-")
                found[anchor] = found.get(anchor, -1) + 1
                if found[anchor]:
                    found[f"{anchor}-{found[anchor]}"] = 0
        return set(found)

    def headings(self) -> list[str]:
        """The text of every heading, without its marks."""
        return [match[2] for _, line in self.prose if (match := _HEADING.match(line))]

    def links(self) -> Iterator[tuple[int, str]]:
        """Line and target of every link and picture; the text of a link may go over the end of a line."""
        text = _CODE_SPAN.sub(lambda span: "\n" * span[0].count("\n"), self.text)
        for pattern in (_LINK, _IMAGE_SOURCE):
            for match in pattern.finditer(text):
                yield text.count("\n", 0, match.start()) + 1, match[1]

    @property
    def text(self) -> str:
        """The page without its blocks, each line where it stands."""
        lines = dict(self.prose)
        return "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1))

    def table(self, name: str) -> list[list[str]]:
        """The rows, without the head, of the table behind `<!-- table: NAME -->`; cells without blanks around."""
        lines = [line for _, line in self.prose]
        for start, line in enumerate(lines):
            if (match := _MARKER.match(line)) and match["name"] == name:
                rows = []
                for row in lines[start + 1 :]:
                    if row.startswith("|"):
                        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]])
                    elif rows:
                        break
                return [[cell.replace("\\|", "|") for cell in row] for row in rows[2:]]
        raise AssertionError(f"{self.name} has no <!-- table: {name} -->")


def _read(path: Path) -> Page:
    page = Page(path)
    fence: tuple[str, int, str, list[str]] | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = _FENCE.match(line)
        if fence is None:
            if match:
                fence = (match["ticks"], number, match["info"].strip(), [])
            else:
                page.prose.append((number, line))
        elif match and not match["info"].strip() and len(match["ticks"]) >= len(fence[0]):
            language, _, rest = fence[2].partition(" ")
            label, *options = rest.split() or [""]
            label, equals, value = label.partition("=")
            pairs = dict(option.partition("=")[::2] for option in options)
            if equals:
                pairs[""] = value
            page.blocks.append(Block(path, fence[1], language, label, pairs, "\n".join(fence[3]) + "\n"))
            fence = None
        else:
            fence[3].append(line)
    assert fence is None, f"{path}:{fence[1]}: the block has no end"
    return page


@functools.cache
def pages() -> dict[str, Page]:
    """README.md, docs/*.md and docs/decisions/*.md, by their path from the root of the project."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {str(path.relative_to(ROOT)): _read(path) for path in paths}


def code(cell: str) -> str:
    """What a table cell holds between backticks; the cell must hold just that."""
    match = re.fullmatch(r"`([^`]+)`", cell)
    assert match, f"the cell {cell!r} is no code"
    return match[1]
