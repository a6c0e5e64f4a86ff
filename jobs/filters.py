"""Lists for persons: any of the filters, and of every job whether it is stuck. No payloads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from jobs.inputs import PersonListInput, StuckInput
from jobs.models import Job
from jobs.selectors import LISTED, JobPage, filtered, page_of, sort_keys
from jobs.stuck import StuckJob, explained, stuck_jobs

_LISTED = (
    *(column for column in LISTED if column != "routing_rules"),
    "parent_job__summary",
    "target_role__role_label",
    "assignee_agent__name",
    "status_changed_at",
)


def list_for_person(query: PersonListInput, now: datetime) -> JobPage:
    """One page of the jobs that a person asked for, always with the total."""
    jobs = Job.objects.all()
    if query.stuck is True:
        jobs = stuck_jobs(now)
    elif query.stuck is False:
        jobs = jobs.exclude(pk__in=stuck_jobs(now).order_by().values("pk"))
    if query.assignee is not None:
        jobs = jobs.filter(assignee_agent__name=query.assignee)
    return page_of(filtered(jobs, query), query, sort_keys(query.order), _LISTED, count=True)


def stuck_page(query: StuckInput, now: datetime) -> tuple[list[StuckJob], JobPage]:
    """One page of the stuck jobs, longest first: each with its reason, and where the page stands."""
    keys = [("stuck_since", False), ("id", False)]
    stuck = stuck_jobs(now, minutes=query.stuck_minutes)
    page = page_of(stuck, query, keys, ("id", "stuck_since"), count=True)
    found = explained(stuck.filter(pk__in=[row["id"] for row in page.rows]), now)
    return found, page


def stuck_among(job_ids: Sequence[int], now: datetime) -> dict[int, StuckJob]:
    """Those of the jobs that are stuck, by id."""
    found = explained(stuck_jobs(now).filter(pk__in=job_ids), now)
    return {stuck.job.pk: stuck for stuck in found}
