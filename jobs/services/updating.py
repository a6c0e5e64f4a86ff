"""Changing what is asked, while that is fair to whoever works on it."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
from collections.abc import Mapping
from typing import Any

from core.actors import Actor
from core.fields import compact_json
from core.transactions import write_transaction
from jobs import transitions
from jobs.authority import require
from jobs.errors import ConstraintsFixed, VersionMismatch
from jobs.lifecycle import HELD, Verb
from jobs.models import Job

# An event holds old and new value up to this size; above it hashes, sizes and a bounded difference.
TOLD_WHOLE_BYTES = 16 * 1024
DIFFERENCE_LINES = 80
DIFFERENCE_LINE_LENGTH = 200
COMPARED_LINES = 500


@write_transaction
def update(
    *,
    job_id: int,
    actor: Actor,
    context_payload: Mapping[str, Any] | None = None,
    constraints: list[str] | None = None,
    lease_generation: int | None = None,
    expected_version: int | None = None,
) -> Job:
    """Replace the context or the constraints, whole. The holder may replace the context only."""
    job = transitions.lock(job_id)
    require(job, Verb.UPDATE, actor, lease_generation=lease_generation)
    if job.state in HELD and constraints is not None:
        raise ConstraintsFixed(job_id=job.pk)
    if expected_version is not None and expected_version != job.version:
        raise VersionMismatch(
            job_id=job.pk,
            version=job.version,
            expected_version=expected_version,
            current_status=str(job.status),
        )
    wanted = {"context_payload": context_payload, "constraints": constraints}
    # Compared as the text that is stored: to Python 1, 1.0 and true are equal, to the reader of JSON they are not.
    changes = {
        name: value
        for name, value in wanted.items()
        if value is not None and compact_json(value) != compact_json(getattr(job, name))
    }
    if changes:
        told = {name: told_change(getattr(job, name), value) for name, value in changes.items()}
        transitions.amend(
            job,
            actor=actor,
            event_type="task_updated",
            payload={"changes": told, "version": job.version + 1},
            version=job.version + 1,
            **changes,
        )
    return job


def told_change(old: Any, new: Any) -> dict[str, Any]:
    """How an event tells of a change: `{old, new}`, or for large values hashes, sizes and a difference."""
    before, after = _text(old), _text(new)
    if len(before.encode()) + len(after.encode()) <= TOLD_WHOLE_BYTES:
        return {"old": old, "new": new}
    return {
        "old": {"sha256": hashlib.sha256(before.encode()).hexdigest(), "bytes": len(before.encode())},
        "new": {"sha256": hashlib.sha256(after.encode()).hexdigest(), "bytes": len(after.encode())},
        "difference": _difference(before.splitlines(), after.splitlines()),
    }


def _difference(old: list[str], new: list[str]) -> list[str]:
    """The first changed lines: `-` what went, `+` what came, a blank before what stands beside them."""
    pairs = list(zip(old, new, strict=False))
    start = next((number for number, (was, is_) in enumerate(pairs) if was != is_), len(pairs))
    # Comparing is quadratic in lines that repeat, and the job is locked meanwhile: a list of 160,000 numbers
    # took two minutes. So only the lines behind the first change are compared, a bounded number of them.
    end = start + COMPARED_LINES
    lines = difflib.unified_diff(old[start:end], new[start:end], lineterm="", n=1)
    # Without the two lines that name files, and the numbers of lines, which nobody could look up.
    told = [line for line in itertools.islice(lines, 2, None) if not line.startswith("@@")]
    if max(len(old), len(new)) > end:
        # Behind the last line that both windows have, a line is missing only where its window ended.
        same = [number for number, line in enumerate(told) if line.startswith(" ")]
        told = told[: same[-1] + 1] if same else told
    return [line[:DIFFERENCE_LINE_LENGTH] for line in told[:DIFFERENCE_LINES]]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1)
