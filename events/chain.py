"""The chain: canonical text and hash of one event. Pure, so that `verify` and `record` cannot disagree."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from core.actors import Actor
from core.clock import iso

GENESIS = ""


def canonical_text(
    *,
    stream: str,
    sequence: int,
    previous_hash: str,
    event_type: str,
    actor: Actor,
    job_id: int | None,
    previous_status: str | None,
    current_status: str | None,
    payload: dict[str, Any],
    created_at: datetime,
) -> str:
    """JSON with sorted keys and no blanks; times in UTC with six digits and `Z`."""
    return json.dumps(
        {
            "actor": {
                "kind": str(actor.kind),
                "name": actor.name,
                "agent_id": actor.agent_id,
                "user_id": actor.user_id,
                "via": actor.via,
            },
            "created_at": iso(created_at),
            "current_status": current_status,
            "event_type": event_type,
            "job_id": job_id,
            "payload": payload,
            "previous_hash": previous_hash,
            "previous_status": previous_status,
            "sequence": sequence,
            "stream": stream,
        },
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
    )


def digest(canonical: str) -> str:
    """Lower-case hex SHA-256 of the canonical text as UTF-8."""
    return hashlib.sha256(canonical.encode()).hexdigest()
