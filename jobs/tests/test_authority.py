"""In which order a verb is refused: may the caller at all, then state, holder and lease."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agents.models import Agent
from core.actors import SYSTEM, Actor, ActorKind, HeldRole, operator
from core.errors import DomainError, Forbidden
from jobs.authority import advice_from, capacities, require
from jobs.errors import AlreadyClaimed, LeaseLost, NotHolder, NotSource, RoleNotHeld, WrongStatus
from jobs.lifecycle import HELD, Status, Verb, Who
from jobs.models import Job
from roles.models import Role

ROLE = Role(id=1, role_key="qa", role_label="QA")
HOLDER, SOURCE, STRANGER = 1, 2, 3
PERSON = operator("pat")


def agent(number: int, *, roles: bool = True, session: str | None = None) -> Actor:
    held = HeldRole(id=1, key="qa", label="QA", has_limit=False, is_open=False)
    return Actor(
        kind=ActorKind.AGENT,
        name=f"agent-{number}",
        agent_id=number,
        roles={"qa": held} if roles else {},
        session=session,
    )


def job(status: Status, *, held_by: int | None = HOLDER, session: str | None = None) -> Job:
    """A job of generation 3, as it would be read; nothing here asks the database."""
    assignee = held_by if status in HELD | {Status.COMPLETED, Status.FAILED} else None
    found = Job(
        id=7,
        status=str(status),
        target_role=ROLE,
        source_agent_id=SOURCE,
        last_holder_id=held_by,
        lease_generation=3,
        lease_session=session,
        cancelled_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    found.assignee_agent = Agent(id=assignee, name=f"agent-{assignee}") if assignee else None
    return found


def refusal(job: Job, verb: Verb, actor: Actor, generation: int | None = None) -> DomainError | None:
    try:
        require(job, verb, actor, lease_generation=generation)
    except DomainError as refused:
        return refused
    return None


@pytest.mark.parametrize("status", [state for state in Status if state is not Status.PUBLISHED], ids=str)
def test_a_claim_without_the_role_is_forbidden_before_it_is_a_conflict(status):
    assert isinstance(refusal(job(status), Verb.CLAIM, agent(STRANGER, roles=False)), RoleNotHeld)
    assert isinstance(refusal(job(status), Verb.CLAIM, agent(STRANGER)), AlreadyClaimed | WrongStatus)


@pytest.mark.parametrize("status", list(Status), ids=str)
@pytest.mark.parametrize(
    "verb", [Verb.REQUEUE, Verb.HOLD, Verb.UNHOLD, Verb.CANCEL, Verb.UNBLOCK, Verb.UPDATE], ids=str
)
def test_a_stranger_is_forbidden_what_the_source_may_whatever_the_state(verb, status):
    assert isinstance(refusal(job(status), verb, agent(STRANGER)), NotSource)


@pytest.mark.parametrize("status", list(Status), ids=str)
@pytest.mark.parametrize(
    "verb",
    [
        Verb.CLAIM,
        Verb.HEARTBEAT,
        Verb.COMPLETE,
        Verb.FAIL,
        Verb.BLOCK,
        Verb.RESUME,
        Verb.RESTART,
        Verb.RELEASE,
    ],
    ids=str,
)
def test_a_person_is_forbidden_the_work_itself(verb, status):
    refused = refusal(job(status), verb, PERSON)
    assert type(refused) is Forbidden
    assert refused.http_status == 403


def test_the_state_is_told_before_the_holder():
    assert isinstance(refusal(job(Status.BLOCKED), Verb.COMPLETE, agent(STRANGER)), WrongStatus)
    assert isinstance(refusal(job(Status.IN_PROGRESS), Verb.COMPLETE, agent(STRANGER)), NotHolder)


def test_an_old_lease_is_told_before_the_state():
    assert isinstance(refusal(job(Status.BLOCKED), Verb.COMPLETE, agent(HOLDER), 2), LeaseLost)
    assert isinstance(refusal(job(Status.COMPLETED), Verb.COMPLETE, agent(HOLDER), 2), LeaseLost)


def test_another_session_of_the_holders_token_has_lost_the_lease():
    held = job(Status.IN_PROGRESS, session="desk")
    assert refusal(held, Verb.COMPLETE, agent(HOLDER, session="desk")) is None
    assert refusal(held, Verb.COMPLETE, agent(HOLDER)) is None
    assert isinstance(refusal(held, Verb.COMPLETE, agent(HOLDER, session="bed")), LeaseLost)


@pytest.mark.parametrize("status", [Status.PENDING, Status.PUBLISHED], ids=str)
def test_who_lost_a_job_learns_that_it_can_be_claimed_again(status):
    refused = refusal(job(status), Verb.COMPLETE, agent(HOLDER))
    assert isinstance(refused, LeaseLost)
    assert "claim it by id again" in refused.message


def test_a_source_that_holds_its_own_job_is_fenced_like_any_holder():
    own = job(Status.IN_PROGRESS, held_by=SOURCE, session="desk")
    assert refusal(own, Verb.UPDATE, agent(SOURCE, session="desk"), 3) is None
    assert isinstance(refusal(own, Verb.UPDATE, agent(SOURCE), 2), LeaseLost)
    assert isinstance(refusal(own, Verb.UPDATE, agent(SOURCE, session="bed")), LeaseLost)
    # Cancelling is the source's right, whoever holds the job; naming a lease is speaking as its holder.
    assert refusal(own, Verb.CANCEL, agent(SOURCE, session="bed")) is None
    assert isinstance(refusal(own, Verb.CANCEL, agent(SOURCE), 2), LeaseLost)


def test_the_source_may_requeue_a_failed_job_and_only_a_person_a_held_one():
    assert refusal(job(Status.FAILED), Verb.REQUEUE, agent(SOURCE)) is None
    for status in HELD:
        assert isinstance(refusal(job(status), Verb.REQUEUE, agent(SOURCE)), WrongStatus)
        assert refusal(job(status), Verb.REQUEUE, PERSON) is None


def test_a_refusal_says_where_the_job_is_who_holds_it_and_what_is_possible():
    refused = refusal(job(Status.IN_PROGRESS), Verb.COMPLETE, agent(STRANGER))
    assert refused is not None
    assert refused.data["current_status"] == "in_progress"
    assert refused.data["holder"] == "agent-1"
    assert refused.data["lease_generation"] == 3
    assert {"verb": "complete", "to": "completed", "by": ["the holder"]} in refused.data["allowed"]
    assert "complete by the holder" in refused.message


def test_the_advice_for_a_final_job_is_that_it_is_final():
    assert advice_from(Status.COMPLETED) == "completed is final."


def test_capacities_tell_the_holder_from_who_held_it_last():
    assert capacities(job(Status.BLOCKED), agent(HOLDER)) == {Who.ROLE_HOLDER, Who.HOLDER}
    assert capacities(job(Status.FAILED), agent(HOLDER)) == {Who.ROLE_HOLDER, Who.LAST_HOLDER}
    assert capacities(job(Status.PUBLISHED), agent(SOURCE, roles=False)) == {Who.SOURCE}
    assert capacities(job(Status.PUBLISHED), PERSON) == {Who.PERSON}
    assert capacities(job(Status.PUBLISHED), SYSTEM) == {Who.SYSTEM}
