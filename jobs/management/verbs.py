"""The verbs of a job at the terminal: what each asks for, and the service that it calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError, CommandParser

from agents.selectors import acting_agent
from core.actors import Actor
from core.cli import Options, add_reason_option, person_at_the_terminal, read, row_id
from core.exits import WRONG_USAGE
from jobs.inputs import ClaimInput, ReasonInput, ReassignInput, StatusInput
from jobs.lifecycle import Status
from jobs.management.values import context
from jobs.models import Job
from jobs.services.blocking import block, resume, unblock
from jobs.services.claiming import claim, reassign
from jobs.services.closing import cancel, complete, fail, restart
from jobs.services.holding import hold, unhold
from jobs.services.returning import release, requeue


@dataclass(frozen=True, slots=True)
class TerminalVerb:
    """One action of `forkflux job`.

    `acts_as`: "agent" when only an agent may (`--as` is needed), "either", or "person". `reason` says what
    the option is for, and `reason_argument` what the service calls it.
    """

    name: str
    run: Callable[..., Job]
    says: str
    example: str
    acts_as: str
    done: str
    reason: str = ""
    reason_argument: str = "reason"


VERBS = (
    TerminalVerb(
        "claim", claim, "claim a job for an agent", "forkflux job claim 7 --as reviewer", "agent",
        "is held by {holder} until {until}",
    ),
    TerminalVerb(
        "complete", complete, "finish a job that an agent holds",
        'forkflux job complete 7 --as reviewer --result-summary "No findings"', "agent", "is completed",
    ),
    TerminalVerb(
        "fail", fail, "give a job up that an agent holds",
        'forkflux job fail 7 --as reviewer --reason "The branch is gone"', "agent", "is failed",
        "why it could not be done", "failure_reason",
    ),
    TerminalVerb(
        "block", block, "say that an agent's job needs an answer",
        'forkflux job block 7 --as reviewer --reason "Which browser?"', "agent", "is blocked",
        "what it waits for", "blocked_reason",
    ),
    TerminalVerb(
        "unblock", unblock, "answer a blocked job",
        'forkflux job unblock 7 --reason "Firefox and Chromium"', "either", "is unblocked",
        "the answer", "unblock_reason",
    ),
    TerminalVerb(
        "resume", resume, "go on with a blocked or unblocked job of an agent",
        "forkflux job resume 7 --as reviewer", "agent", "is in progress",
    ),
    TerminalVerb(
        "restart", restart, "take up again a job that the agent failed",
        "forkflux job restart 7 --as reviewer", "agent", "is in progress",
    ),
    TerminalVerb(
        "release", release, "give a job back that an agent holds",
        'forkflux job release 7 --as reviewer --reason "Needs a screen"', "agent", "is published again",
        "why it is given back",
    ),
    TerminalVerb(
        "requeue", requeue, "put a failed or held job back on the board",
        'forkflux job requeue 7 --reason "Its agent is gone"', "either", "is published again",
        "why it is put back",
    ),
    TerminalVerb(
        "reassign", reassign, "give a published or held job to an agent",
        'forkflux job reassign 7 --to reviewer --reason "It knows the module"', "person",
        "is held by {holder} until {until}", "why this agent",
    ),
    TerminalVerb(
        "cancel", cancel, "end a job for good",
        'forkflux job cancel 7 --reason "No longer wanted"', "either", "is cancelled", "why it ends",
    ),
    TerminalVerb(
        "hold", hold, "keep a published job from being handed out",
        'forkflux job hold 7 --reason "Wait for the release"', "either", "is on hold", "why it waits",
    ),
    TerminalVerb(
        "unhold", unhold, "hand a held-back job out again",
        'forkflux job unhold 7 --reason "Released"', "either", "is handed out again", "why now",
    ),
)  # fmt: skip


VERB_OPTIONS = {
    "agent_name": "--to",
    "lease_seconds": "--lease-seconds",
    "result_summary": "--result-summary",
    "result": "--result",
    "reason": "--reason",
}


def read_reason(text: str) -> str:
    """The reason, checked as a request's is; InvalidInput."""
    return read(ReasonInput, {"reason": text}).reason or ""


def add_verb_arguments(parser: CommandParser, verb: TerminalVerb) -> None:
    parser.add_argument("job_id", type=row_id, metavar="ID")
    if verb.acts_as != "person":
        needed = "" if verb.acts_as == "agent" else " (default: you)"
        parser.add_argument("--as", dest="agent", metavar="AGENT", help=f"the agent that acts{needed}")
    if verb.reason:
        add_reason_option(parser, verb.reason)
    if verb.name == "reassign":
        parser.add_argument("--to", required=True, dest="agent_name", metavar="AGENT", help="who gets it")
    if verb.name in {"claim", "reassign", "restart"}:
        parser.add_argument("--lease-seconds", type=int, metavar="N", help="how long (default: the role's)")
    if verb.name == "complete":
        parser.add_argument("--result-summary", metavar="TEXT", help="what was delivered, in words")
        parser.add_argument(
            "--result", metavar="JSON", help="what was delivered: JSON, @FILE, or - for stdin"
        )


def actor_of(verb: TerminalVerb, options: Options) -> Actor:
    """Who acts: the agent that was named, in whose name the person at the terminal does it, or that person."""
    person = person_at_the_terminal()
    name = options.get("agent")
    if name is None:
        if verb.acts_as == "agent":
            raise CommandError(
                f"--as is needed: only an agent can {verb.name} a job; say for which one you do it.",
                returncode=WRONG_USAGE,
            )
        return person
    return acting_agent(name, via=person.name)


def arguments_of(verb: TerminalVerb, options: Options) -> dict[str, Any]:
    """What else the service takes, checked as the body of a request is; InvalidInput."""
    found: dict[str, Any] = {}
    if verb.name == "reassign":
        fields = read(
            ReassignInput, {"agent_name": options["agent_name"], "lease_seconds": options["lease_seconds"]}
        )
        found = {"agent_name": fields.agent_name, "lease_seconds": fields.lease_seconds}
    elif verb.name in {"claim", "restart"}:
        found = read(ClaimInput, {"lease_seconds": options["lease_seconds"]}).as_arguments()
    elif verb.name == "complete":
        result = None if options["result"] is None else context(options["result"], option="--result")
        done = read(
            StatusInput,
            {"status": Status.COMPLETED, "result_summary": options["result_summary"], "result": result},
        )
        found = {"result_summary": done.result_summary, "result": done.result}
    return found
