"""The sweep: takes back what expired, cancels what lapsed, forgets old idempotency keys.

It holds no lock that can go stale: each row is decided again under its own lock, in its own transaction,
so any number of sweeps may run at once and one bad row stops nobody.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import close_old_connections, connection

from agents.models import Agent
from core.actors import SYSTEM
from core.clock import NOW_SQL, iso
from core.idempotency import forget_old_keys
from core.transactions import write_transaction
from jobs import transitions
from jobs.authority import owner_of
from jobs.lifecycle import HELD, Status, Verb
from jobs.locking import indexed_by, locked
from jobs.models import Job
from jobs.services.returning import put_back

logger = logging.getLogger(__name__)

R = TypeVar("R")

BATCH = 500

_EXPIRED = "j.status IN ('in_progress', 'unblocked') AND j.lease_expires_at <= {now}"
_HELD_BY_THE_DEACTIVATED = f"""j.status IN ('blocked', 'in_progress', 'unblocked') AND EXISTS (
    SELECT 1 FROM {Agent._meta.db_table} x WHERE x.id = j.assignee_agent_id AND NOT x.is_active)"""  # noqa: S608
_OVERDUE = "j.status IN ('pending', 'published') AND j.expires_at <= {now} AND j.lease_generation = 0"


@dataclass(frozen=True, slots=True)
class _Due:
    """Which jobs are due: a condition on `j`, the time it asks for, and the index of that time."""

    condition: str
    column: str
    index: str

    def page(self, after: tuple[Any, int] | None) -> list[tuple[Any, int]]:
        """The next due times and ids. In the order of the index: by id, the whole table would be read."""
        vendor = connection.vendor
        behind = f"AND (j.{self.column}, j.id) > (%s, %s) " if after else ""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT j.{self.column}, j.id "  # noqa: S608 - names of our own columns
                f"FROM {Job._meta.db_table} j{indexed_by(self.index, vendor)} "
                f"WHERE {self.condition.replace('{now}', NOW_SQL[vendor])} {behind}"
                f"ORDER BY j.{self.column}, j.id LIMIT {BATCH}",
                after or (),
            )
            return [(row[0], row[1]) for row in cursor.fetchall()]


@dataclass(slots=True)
class SweepReport:
    """What one sweep did: ids of the jobs it moved, how many keys it forgot, and ids it could not move."""

    expired: list[int] = field(default_factory=list)
    lapsed: list[int] = field(default_factory=list)
    returned: list[int] = field(default_factory=list)
    forgotten_keys: int = 0
    errors: list[int] = field(default_factory=list)

    @property
    def did_something(self) -> bool:
        return bool(self.expired or self.lapsed or self.returned or self.errors)


def sweep_once() -> SweepReport:
    """Run one sweep over everything that is due now."""
    report = SweepReport()
    report.expired = _each(_Due(_EXPIRED, "lease_expires_at", "job_lease_end"), expire, report.errors)
    report.lapsed = _each(_Due(_OVERDUE, "expires_at", "job_lapse_due"), lapse, report.errors)
    report.returned = _take_back_from_the_deactivated(report.errors)
    report.forgotten_keys = forget_old_keys()
    return report


def sweep_forever(
    stop: threading.Event,
    *,
    sweep: Callable[[], R],
    interval_seconds: float,
    on_report: Callable[[R], None] | None = None,
) -> None:
    """Sweep at once and then at the interval until `stop` is set, whatever becomes of a single sweep."""
    due = time.monotonic()
    while not stop.wait(max(due - time.monotonic(), 0)):
        close_old_connections()
        try:
            report = sweep()
        except Exception:
            # A database that is away for a while must not end the sweep for good.
            logger.exception("a sweep failed; the next one follows within %g s", interval_seconds)
        else:
            if on_report is not None:
                on_report(report)
        finally:
            # Gives the connection back to the pool, and drops it if the failure broke it.
            close_old_connections()
        # A sweep that took longer than the interval is followed by the next one at once, but those that
        # it should have been in the meantime are not made up for.
        due = max(due + interval_seconds, time.monotonic())


@write_transaction
def expire(*, job_id: int) -> bool:
    """Take a job back whose lease ran out; False when that is no longer so."""
    # A completion or a heartbeat may have slipped in since the look: decided again under the lock.
    # A row that somebody has locked right now is being written by its holder, or by another sweep.
    found = locked(f"j.id = %s AND {_EXPIRED}", [job_id], skip_locked=True)
    if not found:
        return False
    [job] = found
    count = job.lease_expiry_count + 1
    payload = {
        "lease_generation": job.lease_generation,
        "holder": owner_of(job),
        "lease_expired_at": iso(job.lease_expires_at),
        "lease_expiry_count": count,
    }
    if count > job.target_role.max_lease_expiries:
        reason = (
            f"The lease expired {count} times; the role {job.target_role.role_key} allows "
            f"{job.target_role.max_lease_expiries}. Last holder: {owner_of(job)}."
        )
        transitions.move(
            job,
            Verb.EXPIRE,
            actor=SYSTEM,
            event_type="task_failed",
            payload=payload | {"failure_reason": reason},
            reason=reason,
            target=Status.FAILED,
            assignee_agent_id=None,
            lease_generation=job.lease_generation + 1,
            lease_expiry_count=count,
        )
    else:
        transitions.move(
            job,
            Verb.EXPIRE,
            actor=SYSTEM,
            event_type="task_lease_expired",
            payload=payload,
            lease_expiry_count=count,
        )
    return True


@write_transaction
def lapse(*, job_id: int) -> bool:
    """Cancel a job that nobody claimed before its `expires_at`; False when that is no longer so."""
    found = locked(f"j.id = %s AND {_OVERDUE}", [job_id], skip_locked=True)
    if not found:
        return False
    [job] = found
    transitions.move(
        job,
        Verb.LAPSE,
        actor=SYSTEM,
        event_type="task_expired",
        payload={"expires_at": iso(job.expires_at)},
        reason=f"Nobody claimed it before {iso(job.expires_at)}.",
    )
    return True


@write_transaction
def take_back(*, job_id: int) -> bool:
    """Put a job back that a deactivated agent holds; False when that is no longer so.

    A claim that was under way when its agent was deactivated is committed after that, and nobody who could
    finish the job or give it back is let in any more.
    """
    found = locked(f"j.id = %s AND {_HELD_BY_THE_DEACTIVATED}", [job_id], skip_locked=True)
    if not found:
        return False
    put_back(found[0], actor=SYSTEM, reason=f"{owner_of(found[0])} was deactivated.")
    return True


def _take_back_from_the_deactivated(errors: list[int]) -> list[int]:
    held = Job.objects.filter(assignee_agent__is_active=False, status__in=sorted(HELD)).order_by("pk")
    return _apply(take_back, list(held.values_list("pk", flat=True)[:BATCH]), errors)


def _each(due: _Due, verb: Callable[..., bool], errors: list[int]) -> list[int]:
    """Apply a verb to each due job, longest due first; those that fail are logged and passed over."""
    done: list[int] = []
    after: tuple[Any, int] | None = None
    while found := due.page(after):
        after = found[-1]
        done += _apply(verb, [job_id for _, job_id in found], errors)
    return done


def _apply(verb: Callable[..., bool], job_ids: list[int], errors: list[int]) -> list[int]:
    """Apply a verb to each; those that fail are logged and passed over."""
    done = []
    for job_id in job_ids:
        try:
            if verb(job_id=job_id):
                done.append(job_id)
        except Exception:
            logger.exception("sweep_failed", extra={"verb": verb.__name__, "job_id": job_id})
            errors.append(job_id)
    return done
