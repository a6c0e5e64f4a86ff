"""What a job refuses, each with the sentence that its caller reads. See `core.errors`."""

from __future__ import annotations

from core.errors import Conflict, DomainError, Forbidden, NotFound


class JobNotFound(NotFound):
    """Handoff job not found."""

    code = "job_not_found"


class NothingToClaim(NotFound):
    """No published jobs available for the given target role."""

    # The sentence is the reference's. `reason` tells what is so, `retry_after_seconds` when to ask again.
    code = "nothing_to_claim"


class RoleNotHeld(Forbidden):
    """You do not hold the role {role}; you hold: {held}. Ask an operator to assign it to you, or claim work of a role you hold."""  # noqa: E501

    code = "role_not_held"


class NotSource(Forbidden):
    """Only {who} may {verb} job {job_id}: ask one of them, or leave it as it is."""

    code = "not_source"


class WrongStatus(Conflict):
    """Job {job_id} is {current_status}, and {verb} is not possible from there. {advice}"""

    code = "wrong_status"


class AlreadyClaimed(Conflict):
    """Job {job_id} is already held by {owner}. {advice}"""

    code = "already_claimed"


class NotHolder(Conflict):
    """Job {job_id} is held by {owner}, not by you, so you cannot {verb} it. {advice}"""

    code = "not_holder"


class LeaseLost(Conflict):
    """You no longer hold job {job_id}: it is {current_status}, held by {owner}. Nothing was changed. {advice}"""

    code = "lease_lost"


class JobCancelled(Conflict):
    """Job {job_id} was cancelled by {cancelled_by} at {cancelled_at}: {reason}. Stop working on it and claim other work."""  # noqa: E501

    code = "cancelled"


class RetryBudgetUsed(Conflict):
    """Job {job_id} was restarted {retry_count} of {max_retries} times: ask its source agent or a person to requeue it."""  # noqa: E501

    code = "retry_budget_used"


class AtCapacity(Conflict):
    """You already hold as many jobs of the role {role} as one agent may ({limit}): finish or release one first."""

    code = "at_capacity"


class AgentAtCapacity(Conflict):
    """{agent} already holds as many jobs of the role {role} as one agent may ({limit}): choose another agent, or raise the role's limit."""  # noqa: E501

    code = "agent_at_capacity"


class AgentLacksRole(Conflict):
    """{agent} does not hold the role {role} of job {job_id}; it holds: {held}. Assign the role to it first, or choose another agent."""  # noqa: E501

    code = "agent_lacks_role"


class RolePaused(Conflict):
    """The role {role} is paused ({reason}), so nothing of it is handed out: claim work of another role, or wait."""

    code = "paused"


class OnHold(Conflict):
    """Job {job_id} is on hold: its source agent or a person must unhold it first. Claim other work."""

    code = "on_hold"


class NotDue(Conflict):
    """Job {job_id} is not handed out before {not_before}: claim other work until then."""

    code = "not_due"


class Overdue(Conflict):
    """Job {job_id} expired at {expires_at} before anybody claimed it, and is being cancelled: claim other work."""

    code = "expired"


class ConstraintsFixed(Forbidden):
    """The holder may change the context of job {job_id}, never its constraints: ask its source agent or a person."""

    code = "constraints_fixed"


class PersonsOnly(Forbidden):
    """Only a person may {deed}: ask an operator."""

    code = "persons_only"


class NotFinished(Conflict):
    """Job {job_id} is {current_status}: only a completed, failed or cancelled job can be deleted. Cancel it first."""

    code = "not_finished"


class HasChildren(Conflict):
    """Job {job_id} is the parent of {children} other jobs, which would lose what they belong to: delete those first."""

    code = "has_children"


class RoleHasJobs(Conflict):
    """The role {role} still has {jobs} unfinished jobs: say with `move_to` which role takes them, or end them first."""

    code = "role_has_jobs"


class VersionMismatch(Conflict):
    """Job {job_id} is at version {version}, not {expected_version}: read it again and repeat your update on that."""

    code = "version_mismatch"


class NotYetPossible(DomainError):
    """{what} cannot be used yet on this server: publish without it."""

    code = "not_yet_possible"
    http_status = 422
