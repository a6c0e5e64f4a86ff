"""When an agent counts as online, idle or offline: thresholds only."""

from __future__ import annotations

from datetime import datetime, timedelta

ONLINE_FOR = timedelta(minutes=5)
IDLE_FOR = timedelta(minutes=30)


def presence(last_seen_at: datetime | None, now: datetime) -> str:
    """`online`, `idle` or `offline`, from when the agent was last seen."""
    if last_seen_at is None or now - last_seen_at > IDLE_FOR:
        return "offline"
    return "online" if now - last_seen_at <= ONLINE_FOR else "idle"
