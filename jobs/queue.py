"""What can be claimed, in which order, and why nothing can: the queue's rules, shared by every claim.

SQL by hand: the values that the partial index names must stand in the statement as literals, or a
prepared statement's plan could not use it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from agents.models import AgentRole
from core.actors import Actor, HeldRole
from core.clock import NOW_SQL, DatabaseNow, database_moment
from jobs.errors import NothingToClaim
from jobs.lifecycle import HELD, Status
from jobs.locking import indexed_by, locked
from jobs.models import Job, JobLabel
from roles.models import Role

RETRY_AFTER_SECONDS = 5
# A handful of jobs become due at one time; what is left over is taken up by the next look.
RIPEN_BATCH = 200

_JOBS, _LABELS = Job._meta.db_table, JobLabel._meta.db_table
_ROLES, _HELD = Role._meta.db_table, AgentRole._meta.db_table

ORDER = "j.priority DESC, j.created_at, j.id"
CLAIM_INDEX = "job_claim_order"
_READY = (
    "j.status = 'published' AND NOT j.on_hold AND NOT j.is_deferred "
    "AND (j.expires_at IS NULL OR j.expires_at > {now} OR j.lease_generation > 0)"
)
# The role hands out work to this agent now. With the role's id as a value, asked once a statement, not once a job.
_OPEN_TO = f"""EXISTS (
    SELECT 1 FROM {_ROLES} o WHERE o.id = {{role}} AND NOT o.is_deleted AND o.paused_at IS NULL
    AND (o.is_open OR EXISTS (SELECT 1 FROM {_HELD} g WHERE g.role_id = o.id AND g.agent_id = %s))
    AND (o.max_held_per_agent IS NULL OR o.max_held_per_agent > (
        SELECT count(*) FROM {_JOBS} m{{held_index}} WHERE m.assignee_agent_id = %s AND m.target_role_id = o.id
        AND m.status IN ('blocked', 'in_progress', 'unblocked'))))"""  # noqa: S608 - names of our own tables
# Until a job whose time has come was let in, the order is not known: of no role that is asked for.
_NOTHING_RIPE = f"""NOT EXISTS (
    SELECT 1 FROM {_JOBS} d{{deferred_index}} WHERE d.status = 'published' AND d.is_deferred
    AND d.not_before <= {{now}} AND d.target_role_id IN ({{roles}}))"""  # noqa: S608
_LABELLED = f" AND EXISTS (SELECT 1 FROM {_LABELS} l WHERE l.job_id = j.id AND l.label = %s)"  # noqa: S608


def pick(actor: Actor, roles: Sequence[HeldRole], labels: Sequence[str], *, look_at: int) -> Job | None:
    """The first claimable job that nobody else has locked, locked.

    Of several roles, the first `look_at` are looked at without a lock and the best free one is taken.
    """
    if len(roles) == 1:
        where, parameters = _claimable(actor, roles[0], labels, asked=roles)
        index = CLAIM_INDEX
    else:
        ids = candidates(actor, roles, labels, look_at)
        if not ids:
            return None
        # Asked again, for each job: a role may have been paused since the look without a lock.
        open_to = _for_vendor(_OPEN_TO.replace("{role}", "j.target_role_id"), connection.vendor)
        where = f"{_READY} AND j.id IN ({', '.join(['%s'] * len(ids))}) AND {open_to}"
        parameters = [*ids, actor.agent_id, actor.agent_id]
        index = None
    return next(iter(locked(where, parameters, order=ORDER, skip_locked=True, index=index)), None)


def candidates(actor: Actor, roles: Sequence[HeldRole], labels: Sequence[str], most: int) -> list[int]:
    """Ids of the first claimable jobs over all roles, in the claim's order, without locking any.

    A pick per role, because one sort over several roles reads every published job of them (173 ms
    instead of 0.2 at a million).
    """
    claim_index = indexed_by(CLAIM_INDEX, connection.vendor)
    picks: list[str] = []
    parameters: list[Any] = []
    for number, role in enumerate(roles):
        where, values = _claimable(actor, role, labels, asked=roles)
        picks.append(
            f"SELECT * FROM (SELECT j.id, j.priority, j.created_at FROM {_JOBS} j{claim_index} WHERE {where} "  # noqa: S608
            f"ORDER BY {ORDER} LIMIT {int(most)}) AS pick_{number}"
        )
        parameters += values
    sql = " UNION ALL ".join(picks) + f" ORDER BY 2 DESC, 3, 1 LIMIT {int(most)}"
    with connection.cursor() as cursor:
        cursor.execute(sql.replace("{now}", NOW_SQL[connection.vendor]), parameters)
        return [row[0] for row in cursor.fetchall()]


def ripen(role_ids: Sequence[int]) -> int:
    """Let in jobs whose `not_before` has passed; answers how many. Must run before a job is locked."""
    due = list(
        Job.objects.filter(
            status=Status.PUBLISHED,
            is_deferred=True,
            not_before__lte=DatabaseNow(),
            target_role_id__in=role_ids,
        )
        .select_for_update(no_key=True)
        .order_by("id")
        .values_list("pk", flat=True)[:RIPEN_BATCH]
    )
    return Job.objects.filter(pk__in=due).update(is_deferred=False) if due else 0


def is_overdue(job: Job, now: datetime) -> bool:
    """Whether the job's `expires_at` passed before anybody claimed it; what was claimed once never lapses."""
    return job.expires_at is not None and job.expires_at <= now and job.lease_generation == 0


def nothing_to_claim(roles: Sequence[HeldRole], labels: Sequence[str]) -> NothingToClaim:
    """The refusal that tells why there is nothing: what would have to happen first."""
    role_ids = [role.id for role in roles]
    waiting = _with_labels(
        Job.objects.filter(target_role__in=role_ids, status__in=[Status.PUBLISHED, Status.PENDING]), labels
    )
    published = waiting.filter(status=Status.PUBLISHED)
    ready = published.filter(on_hold=False, is_deferred=False).filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=DatabaseNow()) | Q(lease_generation__gt=0)
    )
    if ready.filter(target_role__paused_at__isnull=False).exists():
        return NothingToClaim(reason="paused", retry_after_seconds=RETRY_AFTER_SECONDS)
    if ready.exists():
        return NothingToClaim(reason="at_capacity", retry_after_seconds=RETRY_AFTER_SECONDS)
    deferred = published.filter(is_deferred=True, on_hold=False)
    next_due = deferred.order_by("not_before").values_list("not_before", flat=True).first()
    if next_due is not None:
        seconds = (next_due - database_moment().now).total_seconds()
        return NothingToClaim(reason="not_due", retry_after_seconds=max(1, round(seconds)))
    if published.filter(on_hold=True).exists():
        return NothingToClaim(reason="on_hold", retry_after_seconds=RETRY_AFTER_SECONDS)
    if waiting.filter(status=Status.PENDING).exists():
        return NothingToClaim(reason="blocked", retry_after_seconds=RETRY_AFTER_SECONDS)
    return NothingToClaim(reason="empty", retry_after_seconds=RETRY_AFTER_SECONDS)


def _claimable(
    actor: Actor, role: HeldRole, labels: Sequence[str], *, asked: Sequence[HeldRole]
) -> tuple[str, list[Any]]:
    """The condition on `j` under which this agent can claim in this role now, and its parameters.

    `asked` are all the roles that the claim asks for, this one included.
    """
    wanted = list(dict.fromkeys(labels))
    ids = [other.id for other in asked]
    parameters = [role.id, role.id, actor.agent_id, actor.agent_id, *ids, *wanted]
    return _claimable_sql(connection.vendor, len(asked), len(wanted)), parameters


@functools.lru_cache(maxsize=256)
def _claimable_sql(vendor: str, asked: int, wanted: int) -> str:
    open_to = _OPEN_TO.replace("{role}", "%s")
    nothing_ripe = _NOTHING_RIPE.replace("{roles}", ", ".join(["%s"] * asked))
    sql = f"j.target_role_id = %s AND {_READY} AND {open_to} AND {nothing_ripe}{_LABELLED * wanted}"
    return _for_vendor(sql, vendor)


def _for_vendor(sql: str, vendor: str) -> str:
    return sql.replace("{held_index}", indexed_by("job_held_by_agent", vendor)).replace(
        "{deferred_index}", indexed_by("job_deferred_until", vendor)
    )


def _with_labels(jobs: QuerySet[Job], labels: Sequence[str]) -> QuerySet[Job]:
    for label in dict.fromkeys(labels):
        jobs = jobs.filter(Exists(JobLabel.objects.filter(job=OuterRef("pk"), label=label)))
    return jobs


if {str(status) for status in HELD} != {"in_progress", "blocked", "unblocked"}:
    raise AssertionError("the held states stand as literals in this module's SQL")
