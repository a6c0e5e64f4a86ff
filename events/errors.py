"""What the audit trail refuses."""

from __future__ import annotations

from core.errors import NotFound


class StreamUnknown(NotFound):
    """There is no stream {stream}: streams are named like job:7, agent:3 and role:2."""

    code = "stream_not_found"
