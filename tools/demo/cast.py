"""The agents of the demo at work: each method gives an order, checks the answers and tells what they say."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from tools.demo.jobs import PRIORITY_NAMES
from tools.demo.narrator import Narrator
from tools.demo.stage import ActingAgent, Fact, Stage, StepFailed

# Whose eyes the demo uses to look at jobs: any agent may read any job, and what it reads renews no lease
# but its own.
READER = "planner"
_VERBS = {
    "completed": "completes",
    "failed": "fails",
    "blocked": "blocks",
    "unblocked": "unblocks",
    "in_progress": "resumes",
}
_TEXTS = {
    "completed": "result_summary",
    "failed": "failure_reason",
    "blocked": "blocked_reason",
    "unblocked": "unblock_reason",
}


class Cast:
    """The agents by name, each of them a process."""

    def __init__(self, stage: Stage, narrator: Narrator) -> None:
        self._stage = stage
        self._tell = narrator
        self._agents: dict[str, ActingAgent] = {}
        self.tokens: dict[str, str] = {}

    def enter(self, name: str) -> None:
        """Start a process that acts as this agent, also a second time."""
        self._agents[name] = self._stage.enter(name, self.tokens[name])

    def __getitem__(self, name: str) -> ActingAgent:
        return self._agents[name]

    def read(self, path: str) -> Any:
        """What stands at a path now."""
        return self._agents[READER].last_fact("read", path=path).require(200)

    def trail(self, job_id: int) -> list[dict[str, Any]]:
        """A job's events, oldest first."""
        events: list[dict[str, Any]] = self.read(f"/jobs/{job_id}/events")
        return events

    def publish(self, who: str, job: dict[str, Any]) -> int:
        """Put a job on the board; its id."""
        facts = list(self._agents[who].facts("publish", job=job))
        facts[0].require(201)
        found = facts[-1].require(200)
        self._tell.did(
            who,
            f"publishes job {found['id']} to {found['target_role_key']}, "
            f"{PRIORITY_NAMES[found['priority']]}: {found['summary']!r}",
        )
        if found["parent_job_id"] is not None:
            self._tell.aside(f"job {found['parent_job_id']}", label="child of")
        self._tell.aside(json.dumps(found["context_payload"], ensure_ascii=False), label="context")
        for constraint in found["constraints"]:
            self._tell.aside(constraint, label="constraint")
        for artifact in found["artifacts"]:
            self._tell.aside(f"{artifact['type']} {artifact['uri']}", label="artifact")
        expect(found["status"] == "published", f"job {found['id']} is published, but is {found['status']}")
        number: int = found["id"]
        return number

    def claim(self, who: str, role: str, *, expected: int) -> dict[str, Any]:
        """Take the next job of a role, which is to be this one; the whole job."""
        job = self.claimed(self._agents[who].last_fact("claim_next", role=role))
        expect(job["id"] == expected, f"{who} gets job {expected}, but got job {job['id']}")
        return job

    def work(self, who: str, **order: Any) -> dict[str, Any]:
        """Take the next job, work on it with heartbeats, complete it; the job as it reads afterwards."""
        claimed: dict[str, Any] | None = None
        moved: Fact | None = None
        for fact in self._agents[who].facts("work", **order):
            if claimed is None:
                claimed = self.claimed(fact)
            elif fact.call.endswith("/heartbeat"):
                self.beaten(fact, claimed["id"])
            else:
                moved = fact
        if claimed is None or moved is None:
            raise StepFailed(f"{who} takes a job and completes it, but did not")
        return self._moved(moved)

    def change(self, who: str, job_id: int, status: str, **fields: Any) -> dict[str, Any]:
        """Move a job to a status; the job as it reads afterwards."""
        fact = self._agents[who].last_fact("change_status", job_id=job_id, status=status, **fields)
        job = self._moved(fact)
        expect(job["status"] == status, f"job {job_id} is {status}, but is {job['status']}")
        return job

    def claimed(self, fact: Fact) -> dict[str, Any]:
        """Tell of a claim."""
        job: dict[str, Any] = fact.require(201)
        lease = job["lease"]
        self._tell.did(
            fact.who,
            f"claims the next {job['target_role_key']} job: job {job['id']}, "
            f"generation {lease['generation']}, lease until {_clock(lease['expires_at'])}",
        )
        return job

    def beaten(self, fact: Fact, job_id: int) -> None:
        """Tell of a heartbeat, and of the progress that others read now."""
        lease = fact.require(200)["lease"]
        progress = self.read(f"/jobs/{job_id}")["progress"]
        self._tell.did(
            fact.who,
            f"heartbeat: {progress['percent']} %, {progress['note']}; lease until {_clock(lease['expires_at'])}",
        )

    def _moved(self, fact: Fact) -> dict[str, Any]:
        moved = fact.require(200)
        job: dict[str, Any] = self.read(f"/jobs/{moved['job_id']}")
        text = job.get(_TEXTS.get(moved["new_status"], ""))
        self._tell.did(
            fact.who,
            f"{_VERBS[moved['new_status']]} job {moved['job_id']} "
            f"({moved['previous_status']} → {moved['new_status']}){': ' + repr(text) if text else ''}",
        )
        if job["result"] is not None:
            self._tell.aside(json.dumps(job["result"], ensure_ascii=False), label="result")
        return job


def expect(happened: bool, sentence: str) -> None:
    """Raise StepFailed with the sentence unless it happened."""
    if not happened:
        raise StepFailed(sentence)


def seconds_between(earlier: str, later: str) -> float:
    """From one time of the wire to another."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def _clock(moment: str) -> str:
    """The time of day of a time of the wire, with a tenth of a second."""
    return moment[11:21]
