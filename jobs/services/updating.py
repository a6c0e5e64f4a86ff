"""Changing what is asked, while that is fair to whoever works on it."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.actors import Actor
from core.clock import iso
from core.errors import invalid
from core.fields import compact_json
from core.transactions import write_transaction
from jobs import transitions
from jobs.authority import require, require_person
from jobs.errors import ConstraintsFixed, VersionMismatch
from jobs.lifecycle import HELD, Verb
from jobs.models import Job
from jobs.services.publishing import index_labels
from roles.models import Role
from roles.selectors import active_role

# An event holds old and new value up to this size; above it hashes, sizes and a bounded difference.
TOLD_WHOLE_BYTES = 16 * 1024
DIFFERENCE_LINES = 80
DIFFERENCE_LINE_LENGTH = 200
COMPARED_LINES = 500
OF_PERSONS = ("summary", "priority", "labels", "target_role_key", "not_before", "expires_at")


@write_transaction
def update(
    *,
    job_id: int,
    actor: Actor,
    context_payload: Mapping[str, Any] | None = None,
    constraints: list[str] | None = None,
    lease_generation: int | None = None,
    expected_version: int | None = None,
    **of_persons: Any,
) -> Job:
    """Replace the context or the constraints, whole. The holder may replace the context only.

    A person may also change OF_PERSONS of an open job, validated by `jobs.inputs.EditInput`; None clears
    `not_before` and `expires_at`.
    """
    if unknown := set(of_persons) - set(OF_PERSONS):
        raise TypeError(f"no such field: {', '.join(sorted(unknown))}")
    if of_persons:
        require_person(actor, f"change {', '.join(of_persons)} of job {job_id}")
    key = of_persons.get("target_role_key")
    role = None if key is None else active_role(key, loc=("target_role_key",), keep=True)
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
    content = {"context_payload": context_payload, "constraints": constraints}
    changes, told = _changed_content(job, {name: new for name, new in content.items() if new is not None})
    if of_persons:
        more, more_told = _changed_terms(job, of_persons, role)
        changes, told = changes | more, told | more_told
    if changes:
        transitions.amend(
            job,
            actor=actor,
            event_type="task_updated",
            payload={"changes": told, "version": job.version + 1},
            version=job.version + 1,
            **changes,
        )
    if "labels" in changes:
        job.label_rows.all().delete()
        index_labels(job)
    return job


def _changed_content(job: Job, wanted: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Which columns change, and how the event tells it."""
    # Compared as the text that is stored: to Python 1, 1.0 and true are equal, to the reader of JSON they are not.
    changes = {
        name: value
        for name, value in wanted.items()
        if compact_json(value) != compact_json(getattr(job, name))
    }
    return changes, {name: told_change(getattr(job, name), value) for name, value in changes.items()}


def _changed_terms(
    job: Job, wanted: Mapping[str, Any], role: Role | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """As `_changed_content`, for what only a person may change."""
    changes = {
        name: value
        for name, value in wanted.items()
        if name != "target_role_key" and getattr(job, name) != value
    }
    told = {name: {"old": _plain(getattr(job, name)), "new": _plain(new)} for name, new in changes.items()}
    if role is not None and role.pk != job.target_role_id:
        changes["target_role_id"] = role.pk
        told["target_role_key"] = {"old": job.target_role.role_key, "new": role.role_key}
    if changes.keys() & {"not_before", "expires_at"}:
        _require_sound_times(job, changes)
    if "not_before" in changes:
        changes["is_deferred"] = bool(changes["not_before"] and changes["not_before"] > job.db_now)
    return changes, told


def _require_sound_times(job: Job, changes: Mapping[str, Any]) -> None:
    """The times that a job would have then, as at its publication."""
    expires_at = changes.get("expires_at")
    if expires_at is not None and expires_at <= job.db_now:
        raise invalid(
            "value_error", ("expires_at",), "Value error, expires_at must be in the future", str(expires_at)
        )
    begins, ends = (changes.get(name, getattr(job, name)) for name in ("not_before", "expires_at"))
    if begins is not None and ends is not None and ends <= begins:
        raise invalid(
            "value_error", ("expires_at",), "Value error, expires_at must be later than not_before", str(ends)
        )


def _plain(value: Any) -> Any:
    return iso(value) if isinstance(value, datetime) else value


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
