"""Who may call which route: the expected status of each route for nine callers, written down.

Columns: nobody · an unknown token · an expired one · a revoked one · a token without the scope · an agent without the
role · an agent of another job (it holds the role) · a viewer · an operator. The last two are people, by HTTP Basic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CALLERS = (
    "nobody",
    "an unknown token",
    "an expired token",
    "a revoked token",
    "a token without the scope",
    "an agent without the role",
    "an agent of another job",
    "a viewer",
    "an operator",
)


@dataclass(frozen=True)
class Row:
    """A call that would succeed for whoever may make it. `state` is that of the job at hand."""

    call: str
    statuses: str
    body: Any = None
    state: str = "published"


_PUBLISH: dict[str, Any] = {
    "parent_job_id": None, "summary": "s", "context_payload": {}, "target_role_key": "{role}", "constraints": [],
    "artifacts": [], "priority": 20,
}  # fmt: skip
_WHY = {"reason": "r"}
# Without, with a bad, and with too narrow a credential; people's are no agents'.
_OUT = "401 401 401 401 403"
# The same on people's routes, where an agent's token opens nothing.
_NO_AGENT = "401 401 401 401 403 403 403"

TABLE = (
    Row("GET /api/v1/health", "204 204 204 204 204 204 204 204 204"),
    Row("GET /api/v1/ready", "200 200 200 200 200 200 200 200 200"),
    Row("GET /api/v1/schema", f"{_OUT} 200 200 200 200"),
    Row("GET /api/v1/docs", f"{_OUT} 200 200 200 200"),
    Row("GET /api/v1/mcp/agents", f"{_OUT} 200 200 401 401"),
    Row("GET /api/v1/mcp/agents/me", f"{_OUT} 200 200 401 401"),
    Row("POST /api/v1/mcp/agents/me/heartbeat", f"{_OUT} 200 200 401 401", {}),
    Row("GET /api/v1/mcp/agents/me/roles", f"{_OUT} 200 200 401 401"),
    Row("GET /api/v1/mcp/agents/roles", f"{_OUT} 200 200 401 401"),
    Row("GET /api/v1/mcp/jobs", f"{_OUT} 200 200 401 401"),
    Row("POST /api/v1/mcp/jobs", f"{_OUT} 201 201 401 401", _PUBLISH),
    Row("POST /api/v1/mcp/jobs/claim-next", f"{_OUT} 403 201 401 401", {"target_role_key": "{role}"}),
    Row("GET /api/v1/mcp/jobs/{job_id}", f"{_OUT} 200 200 401 401"),
    Row("PATCH /api/v1/mcp/jobs/{job_id}", f"{_OUT} 403 403 401 401", {"constraints": ["c"]}),
    Row("GET /api/v1/mcp/jobs/{job_id}/artifacts", f"{_OUT} 200 200 401 401"),
    Row("GET /api/v1/mcp/jobs/{job_id}/events", f"{_OUT} 200 200 401 401"),
    Row("POST /api/v1/mcp/jobs/{job_id}/claim", f"{_OUT} 403 201 401 401", {}),
    Row(
        "POST /api/v1/mcp/jobs/{job_id}/status",
        f"{_OUT} 409 409 401 401",
        {"status": "completed"},
        "in_progress",
    ),
    Row("POST /api/v1/mcp/jobs/{job_id}/heartbeat", f"{_OUT} 409 409 401 401", {}, "in_progress"),
    Row("POST /api/v1/mcp/jobs/{job_id}/release", f"{_OUT} 409 409 401 401", _WHY, "in_progress"),
    Row("POST /api/v1/mcp/jobs/{job_id}/requeue", f"{_OUT} 403 403 401 401", _WHY, "failed"),
    Row("POST /api/v1/mcp/jobs/{job_id}/hold", f"{_OUT} 403 403 401 401", _WHY),
    Row("POST /api/v1/mcp/jobs/{job_id}/unhold", f"{_OUT} 403 403 401 401", _WHY),
    Row("GET /api/v1/ui/profile", f"{_NO_AGENT} 200 200"),
    Row("POST /api/v1/ui/profile", f"{_NO_AGENT} 403 201", {"is_onboarded": True}),
    Row("GET /api/v1/ui/jobs", f"{_NO_AGENT} 200 200"),
    Row("POST /api/v1/ui/jobs", f"{_NO_AGENT} 403 201", _PUBLISH),
    Row("GET /api/v1/ui/jobs/counts", f"{_NO_AGENT} 200 200"),
    Row("GET /api/v1/ui/jobs/{job_id}", f"{_NO_AGENT} 200 200"),
    Row("PATCH /api/v1/ui/jobs/{job_id}", f"{_NO_AGENT} 403 200", {"priority": 40}),
    Row("DELETE /api/v1/ui/jobs/{job_id}", f"{_NO_AGENT} 403 204", None, "failed"),
    Row("GET /api/v1/ui/jobs/{job_id}/events", f"{_NO_AGENT} 200 200"),
    Row("POST /api/v1/ui/jobs/{job_id}/cancel", f"{_NO_AGENT} 403 200", _WHY),
    Row("POST /api/v1/ui/jobs/{job_id}/hold", f"{_NO_AGENT} 403 200", _WHY),
    Row("POST /api/v1/ui/jobs/{job_id}/unhold", f"{_NO_AGENT} 403 200", _WHY),
    Row("POST /api/v1/ui/jobs/{job_id}/reassign", f"{_NO_AGENT} 403 200", {"agent_name": "{colleague}"}),
    Row("POST /api/v1/ui/jobs/{job_id}/requeue", f"{_NO_AGENT} 403 200", _WHY, "in_progress"),
    Row("POST /api/v1/ui/jobs/{job_id}/unblock", f"{_NO_AGENT} 403 200", {"unblock_reason": "r"}, "blocked"),
    Row("GET /api/v1/ui/stats", f"{_NO_AGENT} 200 200"),
    Row("GET /api/v1/ui/stuck", f"{_NO_AGENT} 200 200"),
    Row("GET /api/v1/ui/audit/verify", f"{_NO_AGENT} 200 200"),
    Row("GET /api/v1/ui/agents", f"{_NO_AGENT} 200 200"),
    Row(
        "POST /api/v1/ui/agents",
        f"{_NO_AGENT} 403 201",
        {"agent_label": "New", "target_role_ids": ["{role_id}"]},
    ),
    Row("PATCH /api/v1/ui/agents/{agent_id}", f"{_NO_AGENT} 403 200", {"agent_label": "Other"}),
    Row("DELETE /api/v1/ui/agents/{agent_id}", f"{_NO_AGENT} 403 200"),
    Row("POST /api/v1/ui/agents/{agent_id}/deactivate", f"{_NO_AGENT} 403 200", _WHY),
    Row("POST /api/v1/ui/agents/{agent_id}/activate", f"{_NO_AGENT} 403 409", _WHY),
    Row("GET /api/v1/ui/agents/{agent_id}/tokens", f"{_NO_AGENT} 200 200"),
    Row("POST /api/v1/ui/agents/{agent_id}/tokens", f"{_NO_AGENT} 403 201", {}),
    Row("DELETE /api/v1/ui/tokens/{token_id}", f"{_NO_AGENT} 403 204"),
    Row("POST /api/v1/ui/tokens/{token_id}/rotate", f"{_NO_AGENT} 403 201", {}),
    Row("GET /api/v1/ui/agents/roles", f"{_NO_AGENT} 200 200"),
    Row("POST /api/v1/ui/agents/roles", f"{_NO_AGENT} 403 201", {"role_key": "new", "role_label": "New"}),
    Row("PATCH /api/v1/ui/agents/roles/{role_id}", f"{_NO_AGENT} 403 200", {"role_label": "Other"}),
    Row("DELETE /api/v1/ui/agents/roles/{role_id}?move_to={other_role}", f"{_NO_AGENT} 403 204"),
    Row("POST /api/v1/ui/agents/roles/{role_id}/pause", f"{_NO_AGENT} 403 200", _WHY),
    Row("POST /api/v1/ui/agents/roles/{role_id}/resume", f"{_NO_AGENT} 403 200", {}),
)
