"""What is taken away while jobs depend on it: an agent with work in hand, a role with jobs, a finished job."""

from __future__ import annotations

from agents.errors import AgentInactive
from agents.models import Agent
from agents.services import locked_agent, mark_active
from core.actors import Actor
from core.transactions import write_transaction
from jobs import transitions
from jobs.authority import require_person, state_of
from jobs.errors import HasChildren, NotFinished, RoleHasJobs
from jobs.lifecycle import FINAL, FINISHED, HELD
from jobs.models import Job
from jobs.services.returning import put_back
from roles.errors import RoleIsTarget
from roles.models import Role
from roles.services import locked_roles, mark_deleted


@write_transaction
def deactivate_agent(*, actor: Actor, agent_name: str, reason: str) -> tuple[Agent, list[int]]:
    """End an agent's access at once and put what it holds back on the board; gives those ids.

    Its tokens stay, and work again when it is activated. AgentUnknown, AgentInactive.
    """
    require_person(actor, "deactivate an agent")
    agent = locked_agent(agent_name)
    if not agent.is_active:
        raise AgentInactive(name=agent.name)
    held = Job.objects.filter(assignee_agent=agent, status__in=sorted(HELD)).order_by("pk")
    returned = []
    for job_id in list(held.values_list("pk", flat=True)):
        job = transitions.lock(job_id)
        # Completed or lost between the look and the lock: no longer this agent's to give back.
        if job.state in HELD and job.assignee_agent_id == agent.pk:
            put_back(job, actor=actor, reason=f"{agent.name} was deactivated: {reason}")
            returned.append(job.pk)
    mark_active(agent, actor=actor, is_active=False, reason=reason, returned_job_ids=returned)
    return agent, returned


@write_transaction
def delete_role(*, actor: Actor, role_key: str, move_to: str | None = None) -> tuple[Role, list[int]]:
    """Delete a role softly; its unfinished jobs move to another one. Gives the role and the ids that moved.

    RoleUnknown; RoleIsTarget when it should move to itself; RoleHasJobs, with their number, when jobs are
    left and nothing says where to. A failed job counts: it may still be requeued.
    """
    require_person(actor, "delete a role")
    if move_to == role_key:
        raise RoleIsTarget(role_key=role_key)
    # The exclusive lock waits for publications that reference the role and are not committed yet; later
    # ones wait for it, and then find the role deleted. So what is counted below is all there will be.
    roles = locked_roles(*filter(None, [role_key, move_to]))
    role, target = roles[role_key], roles.get(move_to or "")
    ids = list(
        Job.objects.filter(target_role=role)
        .exclude(status__in=sorted(FINAL))
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    if ids and target is None:
        raise RoleHasJobs(role=role_key, jobs=len(ids))
    moved = [job_id for job_id in ids if target is not None and _move(job_id, role, target, actor)]
    mark_deleted(role, actor=actor, moved_to=move_to, moved_jobs=len(moved))
    return role, moved


@write_transaction
def delete_job(*, job_id: int, actor: Actor) -> None:
    """Delete a finished job with what belongs to it; its events stay, and tell who deleted it.

    JobNotFound, NotFinished, HasChildren.
    """
    require_person(actor, f"delete job {job_id}")
    job = transitions.lock(job_id)
    if job.state not in FINISHED:
        raise NotFinished(**state_of(job))
    children = Job.objects.filter(parent_job=job).count()
    if children:
        raise HasChildren(children=children, **state_of(job))
    transitions.delete(job, actor=actor)


def _move(job_id: int, role: Role, target: Role, actor: Actor) -> bool:
    """Give an unfinished job to another role; False when it was finished since the look."""
    job = transitions.lock(job_id)
    if job.state in FINAL:
        return False
    change = {"target_role_key": {"old": role.role_key, "new": target.role_key}}
    transitions.amend(
        job,
        actor=actor,
        event_type="task_updated",
        payload={"changes": change, "version": job.version + 1, "reason": f"{role.role_key} was deleted"},
        version=job.version + 1,
        target_role_id=target.pk,
    )
    return True
