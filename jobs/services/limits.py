"""The role limit: how many jobs of a role one agent may hold at a time."""

from __future__ import annotations

from agents.models import Agent
from core.actors import Actor
from jobs.authority import state_of
from jobs.errors import AtCapacity
from jobs.lifecycle import HELD
from jobs.models import Job


def lock_agent_when_limited(actor: Actor) -> None:
    """Make claims of one agent queue up while they count what it holds. Before any job is locked."""
    if any(role.has_limit for role in actor.roles.values()):
        # Two claims of one agent that both counted before either wrote would exceed the limit together.
        Agent.objects.select_for_update(no_key=True).filter(pk=actor.agent_id or 0).first()


def require_room(job: Job, actor: Actor) -> None:
    """AtCapacity when the agent already holds as many jobs of this job's role as one may."""
    limit = reached_limit(job, actor)
    if limit is not None:
        raise AtCapacity(role=job.target_role.role_key, limit=limit, **state_of(job))


def reached_limit(job: Job, agent: Actor) -> int | None:
    """The limit of this job's role, when the agent already holds that many other jobs of it."""
    limit = job.target_role.max_held_per_agent
    if limit is None:
        return None
    held = Job.objects.filter(
        assignee_agent_id=agent.agent_id, target_role_id=job.target_role_id, status__in=sorted(HELD)
    ).count()
    return limit if held >= limit else None
