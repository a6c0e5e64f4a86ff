"""What every room needs to keep: idempotency records and the installation's own facts."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from core.fields import JSONTextField


class IdempotencyRecord(models.Model):
    """A write that was done under a client's `Idempotency-Key`, and what identifies its result.

    Written in the transaction of the write itself, so a refusal leaves none. Holds ids and states only,
    never a token or a payload.
    """

    actor_key = models.CharField(max_length=120)
    route = models.CharField(max_length=255)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    result = JSONTextField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["actor_key", "route", "key"], name="idempotency_key_is_used_once_per_actor_and_route"
            ),
        ]
        indexes = [models.Index(fields=["created_at"], name="idempotency_record_age")]

    def __str__(self) -> str:
        return f"{self.actor_key} {self.route}"


class Installation(models.Model):
    """This installation: exactly one row, made by the first migration."""

    is_onboarded = models.BooleanField(default=False)
    # Rises when the events' transaction ids stop being comparable (a dump restored into another cluster).
    feed_epoch = models.PositiveIntegerField(default=1)
    system_identifier = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="installation_is_one_row"),
        ]

    def __str__(self) -> str:
        return "this installation"
