"""The jobs of the demo: what agents would ask of each other."""

from __future__ import annotations

from typing import Any

LOW, NORMAL, URGENT = 10, 20, 40
PRIORITY_NAMES = {10: "low", 20: "normal", 30: "high", 40: "urgent"}


def _job(summary: str, role: str, priority: int, **fields: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"parent_job_id": None, "context_payload": {}, "constraints": [], "artifacts": []}
    return empty | {"summary": summary, "target_role_key": role, "priority": priority} | fields


CHANGELOG = _job(
    "Write the changelog of 2.4",
    "developer",
    NORMAL,
    context_payload={"repository": "shop", "from": "v2.3", "to": "main"},
    constraints=["Every merged change has one line"],
    artifacts=[
        {
            "type": "git_range",
            "uri": "git://shop/v2.3..main",
            "checksum": None,
            "metadata_json": {"commits": 41},
        }
    ],
)
LOGIN = _job(
    "Mend the login redirect",
    "developer",
    URGENT,
    context_payload={"repository": "shop", "seen": "After signing in, people land on a 404"},
    constraints=["People land where they wanted to go", "No redirect to another site"],
    artifacts=[
        {"type": "log", "uri": "file:///var/log/shop/404.log", "checksum": None, "metadata_json": {}},
        {"type": "git_branch", "uri": "git://shop/main", "checksum": None, "metadata_json": {}},
    ],
    labels=["security"],
)
SESSIONS = _job(
    "Drop the old sessions table",
    "developer",
    NORMAL,
    context_payload={"database": "shop", "table": "sessions_2024"},
    constraints=["A backup exists before anything is dropped"],
)
FOR_YOU = _job(
    "Say hello to the bus",
    "developer",
    LOW,
    context_payload={"note": "This one is left on the board for whoever watches the demo"},
    labels=["for-you"],
)


def review_of(job: dict[str, Any]) -> dict[str, Any]:
    """The review that follows a completed job; `job` as it reads on the wire."""
    return _job(
        f"Review: {job['summary']}",
        "reviewer",
        job["priority"],
        parent_job_id=job["id"],
        context_payload={"result": job["result"]},
        constraints=job["constraints"],
    )
