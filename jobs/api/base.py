"""What the job routes share: where a conflict points, and what a move answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework.response import Response

from core.api.base import Done
from core.api.views import AgentViewSet
from jobs.models import Job

_CLAIMS = "handoff_job_claim.invalid"
STATUS = "handoff_job_status.invalid"
UPDATE = "handoff_job_update.invalid"
_CONFLICT_TYPES = {"claim": _CLAIMS, "claim_next": _CLAIMS, "partial_update": UPDATE}


class JobViewSet(AgentViewSet):
    """A route about jobs."""

    def conflict_place(self) -> tuple[str, list[str], Any]:
        """The reference's `type`, `loc` and `input` for a refusal by the current action."""
        if self.action == "change_status":
            parsed = getattr(self, "parsed", {})
            return STATUS, ["body", "status"], parsed.get("status")
        job_id = self.kwargs.get("job_id")
        return (
            _CONFLICT_TYPES.get(self.action or "", STATUS),
            ["path", "job_id"],
            int(job_id) if job_id else None,
        )

    def moved(self, run: Callable[[], Job], *, ignored: list[str]) -> Response:
        """Run a verb once and answer as the status route does: the job, where it was, where it is."""
        done: Done[dict[str, Any]] = self.once(
            lambda: movement(run()), identify=lambda result: result, again=lambda result: result
        )
        self.alive(done.value["job_id"])
        return self.answer(done.value, replayed=done.replayed, ignored=ignored)


def movement(job: Job) -> dict[str, Any]:
    """Where the job was, and where it is now."""
    return {"job_id": job.pk, "previous_status": job.previous_status, "new_status": job.status}
