"""Changing what is asked, while that is fair to whoever works on it."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from core.actors import Actor
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
    changes = {
        name: value for name, value in wanted.items() if value is not None and value != getattr(job, name)
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
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    difference = [
        line[:DIFFERENCE_LINE_LENGTH] for line, _ in zip(lines, range(DIFFERENCE_LINES), strict=False)
    ]
    return {
        "old": {"sha256": hashlib.sha256(before.encode()).hexdigest(), "bytes": len(before.encode())},
        "new": {"sha256": hashlib.sha256(after.encode()).hexdigest(), "bytes": len(after.encode())},
        "difference": difference,
    }


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1)
