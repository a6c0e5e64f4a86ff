"""The figures above the admin's index: each leads to the rows that it counted."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse

from core.clock import database_moment
from jobs.lifecycle import Status
from jobs.stats import counts
from jobs.stuck import stuck_jobs

register = template.Library()


@register.inclusion_tag("admin/forkflux/tiles.html", takes_context=True)
def job_tiles(context: Any) -> dict[str, Any]:
    """How many jobs are where now; nothing for whoever may not see jobs."""
    if not context["request"].user.has_perm("jobs.view_job"):
        return {"tiles": []}
    found = counts()
    stuck = stuck_jobs(database_moment().now).count()
    jobs = reverse("admin:jobs_job_changelist")
    tiles = [
        ("Stuck", stuck, "stuck=yes", stuck > 0),
        ("Waiting", found[Status.PUBLISHED], "status=published", False),
        ("Working", found[Status.IN_PROGRESS], "status=in_progress", False),
        ("Blocked", found[Status.BLOCKED], "status=blocked", False),
        ("Failed", found[Status.FAILED], "status=failed", False),
        ("Done", found[Status.COMPLETED], "status=completed", False),
    ]
    return {
        "tiles": [
            {"word": word, "count": count, "url": f"{jobs}?{query}", "needs": needs}
            for word, count, query, needs in tiles
        ]
    }
