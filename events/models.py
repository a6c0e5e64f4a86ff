"""The audit trail: one row per fact, never updated or deleted by the application."""

from __future__ import annotations

import json
from typing import Any

from django.db import models


class Event(models.Model):
    """One fact that happened in one stream (`job:7`, `agent:3`, `role:2`).

    `canonical` is the JSON text that was hashed; the payload is read out of it, so it exists once.
    The other columns repeat parts of it for queries, and `verify` compares them.
    No foreign keys: the trail outlives what it tells of.
    """

    stream = models.CharField(max_length=120)
    sequence = models.PositiveBigIntegerField()
    event_type = models.CharField(max_length=64)

    canonical = models.TextField()
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    actor_kind = models.CharField(max_length=16)
    actor_name = models.CharField(max_length=255)
    actor_agent_id = models.BigIntegerField(null=True)
    actor_user_id = models.BigIntegerField(null=True)
    job_id = models.BigIntegerField(null=True)

    previous_status = models.CharField(max_length=16, null=True)  # noqa: DJ001 - null: not about a status
    current_status = models.CharField(max_length=16, null=True)  # noqa: DJ001

    # The feed's order is (epoch, feed_tx, id): see docs/architecture.md.
    epoch = models.PositiveIntegerField()
    feed_tx = models.BigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["stream", "sequence"], name="event_sequence_is_unique_in_its_stream"
            ),
        ]
        indexes = [
            models.Index(fields=["epoch", "feed_tx", "id"], name="event_feed_order"),
        ]

    def __str__(self) -> str:
        return f"{self.stream}#{self.sequence} {self.event_type}"

    @property
    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = json.loads(self.canonical)["payload"]
        return payload

    @property
    def via(self) -> str | None:
        """The person who acted in the name of the agent that the event names as its actor."""
        via: str | None = json.loads(self.canonical)["actor"]["via"]
        return via


class StreamHead(models.Model):
    """The newest link of a stream whose noun has no head columns of its own (a job has)."""

    stream = models.CharField(max_length=120, primary_key=True)
    sequence = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="")
    feed_tx = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.stream}#{self.sequence}"
