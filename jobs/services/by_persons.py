"""The verbs that a person may use on a job, as one table for every door at which persons stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.actors import Actor
from jobs.lifecycle import HELD, Status, Verb, Who, arrow_from
from jobs.models import Job
from jobs.services.blocking import unblock
from jobs.services.claiming import reassign
from jobs.services.closing import cancel
from jobs.services.holding import hold, unhold
from jobs.services.returning import requeue


@dataclass(frozen=True, slots=True)
class PersonVerb:
    """One verb: the service, what it is called on buttons, and what a person should know before.

    `warning` says what it does to whoever is affected; a door asks once before a verb that has one.
    """

    verb: Verb
    label: str
    run: Callable[..., Job]
    warning: str = ""
    reason_argument: str = "reason"
    names_an_agent: bool = False

    def act(self, *, job_id: int, actor: Actor, reason: str | None, **more: Any) -> Job:
        """Call the service; `more` is what only this verb takes (`agent_name`)."""
        return self.run(job_id=job_id, actor=actor, **{self.reason_argument: reason}, **more)


_BY_PERSONS = (
    PersonVerb(Verb.UNBLOCK, "Unblock", unblock, reason_argument="unblock_reason"),
    PersonVerb(
        Verb.REQUEUE,
        "Requeue",
        requeue,
        warning="Whoever holds the job loses it, and what it writes from then on is refused. "
        "Any agent of the role may claim it.",
    ),
    PersonVerb(
        Verb.REASSIGN,
        "Reassign",
        reassign,
        warning="Whoever holds the job loses it, and what it writes from then on is refused. "
        "The agent you name holds it at once, whether it is online or not.",
        names_an_agent=True,
    ),
    PersonVerb(Verb.HOLD, "Hold", hold),
    PersonVerb(Verb.UNHOLD, "Unhold", unhold),
    PersonVerb(
        Verb.CANCEL,
        "Cancel",
        cancel,
        warning="The job ends for good. Whoever holds it is told by its next call to stop.",
    ),
)
BY_PERSONS = {entry.verb: entry for entry in _BY_PERSONS}


def open_to_persons(job: Job) -> list[PersonVerb]:
    """The verbs that lead somewhere from where the job is now, in the order in which they are offered."""
    return [entry for entry in _BY_PERSONS if _leads_somewhere(job, entry.verb)]


def _leads_somewhere(job: Job, verb: Verb) -> bool:
    arrow = arrow_from(verb, job.state)
    if arrow is None or Who.PERSON not in arrow.who:
        return False
    if verb in {Verb.HOLD, Verb.UNHOLD}:
        return job.on_hold is (verb is Verb.UNHOLD)
    if verb is Verb.REASSIGN:
        return job.state in HELD or (job.state is Status.PUBLISHED and not job.on_hold)
    return True
