"""What the job routes share: where a conflict points, and what a move answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework.response import Response

from core.api.views import AgentViewSet, Done
from jobs.models import Job

_CLAIMS = "handoff_job_claim.invalid"
_STATUS = "handoff_job_status.invalid"
_UPDATE = "handoff_job_update.invalid"
_CONFLICT_TYPES = {"claim": _CLAIMS, "claim_next": _CLAIMS, "partial_update": _UPDATE}


class JobViewSet(AgentViewSet):
    """A route about jobs."""

    def conflict_place(self) -> tuple[str, list[str], Any]:
        """The reference's `type`, `loc` and `input` for a refusal by the current action."""
        if self.action == "change_status":
            parsed = getattr(self, "parsed", {})
            return _STATUS, ["body", "status"], parsed.get("status")
        job_id = self.kwargs.get("job_id")
        return (
            _CONFLICT_TYPES.get(self.action or "", _STATUS),
            ["path", "job_id"],
            int(job_id) if job_id else None,
        )

    def moved(self, run: Callable[[], Job], *, ignored: list[str]) -> Response:
        """Run a verb once and answer as the status route does: the job, where it was, where it is."""
        done: Done[dict[str, Any]] = self.once(
            lambda: _movement(run()), identify=lambda result: result, again=lambda result: result
        )
        self.alive(done.value["job_id"])
        return self.answer(done.value, replayed=done.replayed, ignored=ignored)


def _movement(job: Job) -> dict[str, Any]:
    return {"job_id": job.pk, "previous_status": job.previous_status, "new_status": job.status}
