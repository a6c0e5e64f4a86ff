"""What the audit trail refuses."""

from __future__ import annotations

from core.errors import NotFound


class StreamUnknown(NotFound):
    """There is no stream {stream}: use a name like job:7, agent:3 or role:2."""

    code = "stream_not_found"
