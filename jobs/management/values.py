"""What is written behind an option of `forkflux job`, as the job's field that it means."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from core.errors import InvalidInput
from core.inputs import parse_json
from core.limits import LIMITS
from jobs.lifecycle import Priority


def priority(text: str) -> int:
    """`high` or `30` as 30. Which numbers there are is the input's business."""
    if text.upper() in Priority.__members__:
        return int(Priority[text.upper()])
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no priority; allowed is low, normal, high, urgent, 10, 20, 30 or 40"
        )
    return int(text)


def artifact(text: str) -> dict[str, Any]:
    """`TYPE=URI` as a reference; the URI may hold further `=`."""
    kind, mark, uri = text.partition("=")
    if not mark:
        raise argparse.ArgumentTypeError(f"{text!r} has no =; allowed is TYPE=URI")
    return {"type": kind, "uri": uri, "checksum": None, "metadata_json": {}}


def context(given: str, *, option: str = "--context") -> Any:
    """The value of an option: JSON as it is, from a file, or from standard input; CommandError."""
    try:
        return parse_json(_raw_context(given, option))
    except OSError as error:
        raise CommandError(f"{option}: the file {given[1:]} cannot be read: {error.strerror}.") from error
    except InvalidInput as refused:
        entry = refused.entries[0]
        why = (
            "it is empty" if entry["type"] == "missing" else entry.get("ctx", {}).get("error") or entry["msg"]
        )
        where = entry["loc"][1:]
        place = f" (at character {where[0]})" if entry["type"] == "json_invalid" and where else ""
        raise CommandError(f"{option} is not JSON that can be kept: {why}{place}.") from refused


def _raw_context(given: str, option: str) -> bytes:
    if given == "-":
        raw = sys.stdin.buffer.read(LIMITS.body_max_bytes + 1)
    elif given.startswith("@"):
        with Path(given[1:]).open("rb") as file:
            raw = file.read(LIMITS.body_max_bytes + 1)
    else:
        raw = given.encode()
    if len(raw) > LIMITS.body_max_bytes:
        raise CommandError(f"{option} has more than {LIMITS.body_max_bytes} bytes (FORKFLUX_BODY_MAX_BYTES).")
    return raw


def priority_name(number: int) -> str:
    return Priority(number).name.lower()
