"""Every verb on a board of jobs in plain Python, written from the rules and not from the code: a second opinion.

Imports nothing of ForkFlux. Time is a number of seconds that the test moves. A verb either changes the model or
raises `Refused` with the codes that the rules allow for it; a refused verb has changed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jobs.tests.model_table import (
    HELD,
    LEASED,
    SYSTEMS_WORDS,
    UNCLAIMED,
    Fact,
    ModelJob,
    ModelRole,
    Refused,
    Who,
    admit,
)

IMPLICIT_TERMS = 4
RENEW_AFTER = 20
SYSTEM = ("system", "system")


@dataclass
class Board:
    """All jobs and roles of one example."""

    roles: dict[str, ModelRole]
    jobs: list[ModelJob] = field(default_factory=list)
    clock: int = 0

    # --- entering, being handed out ---

    def publish(self, who: Who, role: str, **given: object) -> ModelJob:
        expires_at = given.get("expires_at")
        if role not in self.roles or (isinstance(expires_at, int) and expires_at <= self.clock):
            raise Refused("invalid")
        job = ModelJob(len(self.jobs), role, None if who.is_person else who.name, **given)  # type: ignore[arg-type]
        self.jobs.append(job)
        self._tell(job, "task_published", (who.kind, who.name), None)
        return job

    def claim(self, who: Who, job: ModelJob, lease: int | None) -> None:
        admit(job, "claim", who)
        why_not = self._kept_back(job) + self._no_room(job, who)
        if why_not:
            raise Refused(*why_not)
        self._take(job, who, lease)

    def claim_next(self, who: Who, roles: list[str], labels: frozenset[str], lease: int | None) -> ModelJob:
        if any(role not in self.roles for role in roles):
            raise Refused("invalid")
        held = [role for role in roles if role in who.roles]
        if not held:
            raise Refused("role_not_held")
        asked = [job for job in self.jobs if job.role in held and labels <= job.labels]
        asked = [job for job in asked if job.status == "published"]
        free = [job for job in asked if not self._kept_back(job) and not self._no_room(job, who)]
        if not free:
            reasons = {code for job in asked for code in self._kept_back(job) + self._no_room(job, who)}
            # What expired unclaimed is no work any more, whatever else keeps it back.
            if all(self._is_overdue(job) for job in asked):
                reasons.add("empty")
            raise Refused("nothing_to_claim", reasons=reasons - {"expired"})
        first = min(free, key=lambda job: (-job.priority, job.number))
        self._take(first, who, lease)
        return first

    def _take(self, job: ModelJob, who: Who, lease: int | None) -> None:
        job.assignee = job.last_holder = who.name
        job.generation += 1
        job.percent = job.note = None
        job.lost_by = dict.fromkeys(job.lost_by, True)
        self._open_lease(job, lease or self.roles[job.role].lease, who.session)
        self._move(job, "in_progress", "task_claimed", (who.kind, who.name))

    def _kept_back(self, job: ModelJob) -> list[str]:
        found = []
        if self.roles[job.role].paused:
            found.append("paused")
        if job.on_hold:
            found.append("on_hold")
        if job.not_before is not None and job.not_before > self.clock:
            found.append("not_due")
        if self._is_overdue(job):
            found.append("expired")
        return found

    def _is_overdue(self, job: ModelJob) -> bool:
        return job.expires_at is not None and job.expires_at <= self.clock and job.generation == 0

    def _no_room(self, job: ModelJob, who: Who) -> list[str]:
        limit = self.roles[job.role].limit
        mine = [
            other
            for other in self.jobs
            if other.role == job.role and other.assignee == who.name and other.status in HELD
        ]
        return ["at_capacity"] if limit is not None and len(mine) >= limit else []

    # --- work in hand ---

    def heartbeat(
        self, who: Who, job: ModelJob, generation: int | None, percent: int | None, note: str | None
    ) -> None:
        admit(job, "heartbeat", who, generation)
        if job.status in LEASED:
            self._open_lease(job, job.term, who.session or job.session)
        new_percent = job.percent if percent is None else percent
        new_note = job.note if note is None else note
        if (new_percent, new_note) != (job.percent, job.note):
            job.percent, job.note = new_percent, new_note
            self._tell(job, "task_progress", (who.kind, who.name), job.status)

    def complete(self, who: Who, job: ModelJob, generation: int | None, summary: str | None) -> None:
        admit(job, "complete", who, generation)
        job.result_summary = summary
        self._close_lease(job)
        self._move(job, "completed", "task_completed", (who.kind, who.name))

    def fail(self, who: Who, job: ModelJob, generation: int | None, reason: str | None) -> None:
        admit(job, "fail", who, generation)
        self._close_lease(job)
        self._move(job, "failed", "task_failed", (who.kind, who.name), reason)

    def block(self, who: Who, job: ModelJob, generation: int | None, reason: str | None) -> None:
        admit(job, "block", who, generation)
        job.lease_until = None
        self._move(job, "blocked", "task_blocked", (who.kind, who.name), reason)

    def unblock(self, who: Who, job: ModelJob, generation: int | None, reason: str) -> None:
        admit(job, "unblock", who, generation)
        self._open_lease(job, job.term, job.session)
        self._move(job, "unblocked", "task_unblocked", (who.kind, who.name), reason)

    def resume(self, who: Who, job: ModelJob, generation: int | None) -> None:
        admit(job, "resume", who, generation)
        self._open_lease(job, job.term, who.session or job.session)
        self._move(job, "in_progress", "task_started", (who.kind, who.name))

    def restart(self, who: Who, job: ModelJob) -> None:
        admit(job, "restart", who)
        if job.retry_count >= job.max_retries:
            raise Refused("retry_budget_used")
        if self._no_room(job, who):
            raise Refused("at_capacity")
        job.retry_count += 1
        job.expiry_count = 0
        job.generation += 1
        self._open_lease(job, self.roles[job.role].lease, who.session)
        self._move(job, "in_progress", "task_restarted", (who.kind, who.name))

    # --- back to the board, or out of it ---

    def release(self, who: Who, job: ModelJob, generation: int | None) -> None:
        admit(job, "release", who, generation)
        self._back(job, "task_released", who)

    def requeue(self, who: Who, job: ModelJob) -> None:
        admit(job, "requeue", who)
        job.expiry_count = 0
        self._back(job, "task_requeued", who)

    def _back(self, job: ModelJob, kind: str, who: Who) -> None:
        self._lose(job, by=who)
        self._move(job, "published", kind, (who.kind, who.name))

    def cancel(self, who: Who, job: ModelJob, generation: int | None, reason: str | None) -> None:
        admit(job, "cancel", who, generation)
        if job.status in HELD:
            assignee = job.assignee
            self._lose(job, by=who)
            job.assignee = assignee
        self._move(job, "cancelled", "task_cancelled", (who.kind, who.name), reason)

    def hold(self, who: Who, job: ModelJob, *, on_hold: bool) -> None:
        admit(job, "hold" if on_hold else "unhold", who)
        if job.on_hold != on_hold:
            job.on_hold = on_hold
            self._tell(job, "task_held" if on_hold else "task_unheld", (who.kind, who.name), job.status)

    def update(
        self,
        who: Who,
        job: ModelJob,
        generation: int | None,
        *,
        context: str | None,
        constraints: tuple[str, ...] | None,
        expected_version: int | None,
    ) -> None:
        admit(job, "update", who, generation)
        if job.status in HELD and constraints is not None:
            raise Refused("constraints_fixed")
        if expected_version is not None and expected_version != job.version:
            raise Refused("version_mismatch")
        new = (
            job.context if context is None else context,
            job.constraints if constraints is None else constraints,
        )
        if new != (job.context, job.constraints):
            job.context, job.constraints = new
            job.version += 1
            self._tell(job, "task_updated", (who.kind, who.name), job.status)

    # --- time, and what the system does ---

    def sign_of_life(self, who: Who, named: ModelJob | None) -> None:
        for job in self.jobs:
            if job.status not in LEASED or job.assignee != who.name or job.lease_until is None:
                continue
            mine = who.session is not None and job.session == who.session
            if job is named and (who.session is None or job.session is None):
                mine = True
            if mine and self.clock - (job.lease_until - job.term) > RENEW_AFTER:
                most = job.heartbeat_at + IMPLICIT_TERMS * job.term
                job.lease_until = max(job.lease_until, min(self.clock + job.term, most))

    def agent_heartbeat(self, who: Who) -> list[ModelJob]:
        """What the caller's session holds, every lease extended."""
        if who.session is None:
            return []
        held = [
            job
            for job in self.jobs
            if job.status in LEASED and job.assignee == who.name and job.session == who.session
        ]
        for job in held:
            self._open_lease(job, job.term, who.session)
        return held

    def lost(self, who: Who, *, also_claimed_since: bool) -> set[int]:
        """Numbers of the jobs that the caller's session lost without its doing."""
        key = (who.name, who.session or "")
        return {
            job.number
            for job in self.jobs
            if key in job.lost_by and (also_claimed_since or not job.lost_by[key])
        }

    def sweep(self) -> tuple[list[ModelJob], list[ModelJob]]:
        """What expired and what lapsed, oldest job first."""
        expired = [
            job
            for job in self.jobs
            if job.status in LEASED and job.lease_until is not None and job.lease_until <= self.clock
        ]
        for job in expired:
            job.expiry_count += 1
            self._lose(job, by=None)
            if job.expiry_count > self.roles[job.role].max_expiries:
                self._move(job, "failed", "task_failed", SYSTEM, SYSTEMS_WORDS)
            else:
                self._move(job, "published", "task_lease_expired", SYSTEM)
        lapsed = [job for job in self.jobs if job.status in UNCLAIMED and self._is_overdue(job)]
        for job in lapsed:
            self._move(job, "cancelled", "task_expired", SYSTEM, SYSTEMS_WORDS)
        return expired, lapsed

    # --- what every change does ---

    def _open_lease(self, job: ModelJob, term: int, session: str | None) -> None:
        job.term, job.session = term, session
        job.heartbeat_at = self.clock
        job.lease_until = self.clock + term

    def _close_lease(self, job: ModelJob) -> None:
        job.lease_until = job.session = None

    def _lose(self, job: ModelJob, *, by: Who | None) -> None:
        if job.assignee and job.session and job.status in HELD and (by is None or by.name != job.assignee):
            job.lost_by[job.assignee, job.session] = False
        job.assignee = None
        job.generation += 1
        self._close_lease(job)

    def _move(
        self, job: ModelJob, status: str, kind: str, actor: tuple[str, str], reason: str | None = None
    ) -> None:
        previous, job.status = job.status, status
        # A reason tells of the state it came with, and goes with it.
        job.reason = reason
        self._tell(job, kind, actor, previous)

    def _tell(self, job: ModelJob, kind: str, actor: tuple[str, str], previous: str | None) -> None:
        job.trail.append(Fact(len(job.trail) + 1, kind, actor, previous, job.status))
