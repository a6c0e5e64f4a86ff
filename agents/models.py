"""Who is calling: agents, the roles they hold, and their tokens."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from core.fields import JSONTextField
from roles.models import Role


class Agent(models.Model):
    """An AI assistant or script that acts on the bus. `name` is its address; `agent_label` need not be unique."""

    name = models.SlugField(max_length=80, unique=True)
    agent_label = models.CharField(max_length=255)
    tool_family = models.CharField(max_length=255, null=True, blank=True)  # noqa: DJ001 - the wire says null
    status_line = models.CharField(max_length=2000, blank=True, default="")

    roles = models.ManyToManyField(Role, through="AgentRole", related_name="agents")

    is_active = models.BooleanField(default=True)
    # What the agent last said of itself: active, idle or waiting. Online and offline are derived, never stored.
    reported_state = models.CharField(max_length=16, blank=True, default="")

    created_at = models.DateTimeField(db_default=Now())
    last_seen_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class AgentRole(models.Model):
    """An agent holds a role."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE)
    role = models.ForeignKey(Role, on_delete=models.CASCADE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "role"], name="agent_holds_a_role_once"),
        ]

    def __str__(self) -> str:
        return f"{self.agent_id}:{self.role_id}"


class AgentToken(models.Model):
    """A credential of one agent. Only its SHA-256 is stored; the token itself is shown once."""

    token_hash = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=8)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="tokens")
    scopes = JSONTextField()

    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.prefix}…"
