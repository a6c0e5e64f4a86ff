"""Reading what jobs point to."""

from __future__ import annotations

from django.db.models import QuerySet

from artifacts.models import Artifact


def artifacts_of(job_id: int) -> QuerySet[Artifact]:
    """A job's references, in the order in which they were attached."""
    return Artifact.objects.filter(job_id=job_id).order_by("id")
