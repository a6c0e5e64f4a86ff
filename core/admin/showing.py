"""How pages show what is stored: times, states, JSON. Everything that agents wrote is escaped."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.printing import printable, printable_lines

FOLDED_BEYOND = 2_000
# Word and tone of each state, as the stylesheet knows it. Never the colour alone.
STATES = {
    "pending": ("Pending", "waiting", "◌"),
    "published": ("Waiting", "waiting", "○"),
    "in_progress": ("Working", "working", "◐"),
    "unblocked": ("Unblocked", "working", "◑"),
    "blocked": ("Blocked", "blocked", "▣"),
    "completed": ("Done", "done", "●"),
    "failed": ("Failed", "failed", "✕"),
    "cancelled": ("Cancelled", "cancelled", "⊘"),
}


def shown(moment: datetime | None) -> str:
    """A time to the second, in UTC."""
    return "–" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}Z"


def mark(tone: str, sign: str, word: str) -> SafeString:
    """A word with a shape and a colour, none of which stands alone."""
    return format_html(
        '<span class="ff-badge ff-{}"><i aria-hidden="true">{}</i> {}</span>', tone, sign, word
    )


def badge(status: str, *, on_hold: bool = False) -> SafeString:
    """The state of a job."""
    word, tone, sign = STATES[status]
    shown_state = mark(tone, sign, word)
    return format_html("{} {}", shown_state, mark("cancelled", "‖", "On hold")) if on_hold else shown_state


def text(value: str | None) -> str:
    """One line of somebody's text: what would act instead of showing is written out."""
    return printable(value) if value else "–"


def lines(value: str | None) -> str:
    return printable_lines(value) if value else "–"


def readable_json(value: Any) -> dict[str, Any]:
    """Indented text for a `<pre>`, and whether it is so long that it starts folded."""
    found = printable_lines(json.dumps(value, indent=2, ensure_ascii=False))
    return {"text": found, "is_long": len(found) > FOLDED_BEYOND, "size": len(found.encode())}
