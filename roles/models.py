"""Capabilities that work is addressed to, and their policy."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Role(models.Model):
    """A capability such as `developer` or `qa`. Deleted softly: jobs and events keep pointing at it."""

    role_key = models.CharField(max_length=255)
    role_label = models.CharField(max_length=255)
    is_open = models.BooleanField(default=False, help_text="Any agent may claim, without holding the role.")

    lease_seconds = models.PositiveIntegerField(default=1800, validators=[MinValueValidator(1)])
    max_lease_expiries = models.PositiveIntegerField(default=5)
    stuck_after_minutes = models.PositiveIntegerField(default=60)
    max_held_per_agent = models.PositiveIntegerField(null=True, blank=True)

    is_deleted = models.BooleanField(default=False)
    paused_at = models.DateTimeField(null=True, blank=True)
    pause_reason = models.TextField(blank=True, default="")

    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["role_key"], condition=Q(is_deleted=False), name="role_key_is_unique_among_active"
            ),
            models.CheckConstraint(
                condition=Q(max_held_per_agent__isnull=True) | Q(max_held_per_agent__gt=0),
                name="role_limit_is_positive",
            ),
            models.CheckConstraint(condition=Q(lease_seconds__gt=0), name="role_lease_is_positive"),
        ]

    def __str__(self) -> str:
        return self.role_key
