"""What the doors are compared on: a board of its own for each, a job's row and its trail, without what is chance."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agents.selectors import acting_agent
from core.actors import Actor
from core.clock import as_datetime
from events.models import Event
from jobs.models import Job
from jobs.services.blocking import block, unblock
from jobs.services.claiming import claim
from jobs.services.closing import cancel, complete, fail
from jobs.services.holding import hold
from jobs.services.publishing import publish
from testing.wire import Caller, agent, role

REASON = "Because of the wind"
SUMMARY = "Mend the sails"
# What each verb is asked for with, in the words of its service; only what every door of the verb takes.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "claim": {"lease_seconds": 90},
    "claim_next": {},
    "complete": {"result_summary": "All mended", "result": {"sails": 3}},
    "fail": {"failure_reason": REASON},
    "block": {"blocked_reason": REASON},
    "unblock": {"unblock_reason": REASON},
    "resume": {},
    "restart": {},
    "heartbeat": {"progress_percent": 40, "note": "Half"},
    "release": {"reason": REASON},
    "requeue": {"reason": REASON},
    "reassign": {"reason": REASON},
    "cancel": {"reason": REASON},
    "hold": {"reason": REASON},
    "unhold": {"reason": REASON},
    "update": {"constraints": ["No holes"]},
    "edit": {"priority": 40, "labels": ["storm"]},
    "delete": {},
    "publish": {},
}
_numbers = itertools.count(1)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
# Another one for each job, or of no interest: the trail is compared on its own.
_CHANCE = {"id", "event_hash", "event_feed_tx"}


@dataclass(frozen=True)
class Told:
    """What a verb came to: the job as it is then (None: gone), and its last event."""

    row: dict[str, Any] | None
    event: dict[str, Any]
    events: int


@dataclass(frozen=True)
class Refusal:
    """Why not. A door that tells no code leaves it None."""

    code: str | None
    sentence: str


class Scene:
    """A role, four agents and a job in the state that was asked for.

    `source` published it, `worker` holds it or held it last, `rival` could hold it, `guest` could not.
    """

    def __init__(self, state: str) -> None:
        number = next(_numbers)
        self.role = role(f"doors-{number}")
        key = self.role.role_key
        self.callers: dict[str, Caller] = {
            "source": agent(f"source {number}"),
            "worker": agent(f"worker {number}", key),
            "rival": agent(f"rival {number}", key),
            "guest": agent(f"guest {number}"),
        }
        self.job_id = 0
        if state != "nothing":
            self.job_id = publish(
                actor=self.agent("source"),
                summary=SUMMARY,
                context_payload={},
                target_role_key=key,
                labels=["wind"],
            ).pk
            self._bring_to(state)

    def agent(self, who: str, *, via: str | None = None) -> Actor:
        return acting_agent(self.callers[who].name, via=via)

    def told(self) -> Told:
        """The job and its trail now, with `<worker>`, `<job>` and so on for what is this scene's own."""
        trail = Event.objects.filter(stream=f"job:{self.job_id}").order_by("-sequence")
        event = trail[0]
        job = Job.objects.filter(pk=self.job_id).first()
        return Told(
            row=None if job is None else self._row(job),
            event={
                "event_type": event.event_type,
                "previous_status": event.previous_status,
                "current_status": event.current_status,
                "payload": self._payload(event.payload),
            },
            events=len(trail),
        )

    def last_event(self) -> Event:
        return Event.objects.filter(stream=f"job:{self.job_id}").latest("sequence")

    def plain(self, text: str) -> str:
        """The text without the scene's own names."""
        for who, caller in self.callers.items():
            text = text.replace(caller.name, f"<{who}>").replace(caller.label, f"<{who}>")
        text = text.replace(self.role.role_key, "<role>").replace(self.role.role_label, "<role>")
        return re.sub(rf"\b[Jj]ob {self.job_id}\b", "job <job>", _MOMENT.sub("<time>", text))

    def _bring_to(self, state: str) -> None:
        worker = self.agent("worker")
        if state in {"published", "on_hold"}:
            if state == "on_hold":
                hold(job_id=self.job_id, actor=self.agent("source"))
            return
        claim(job_id=self.job_id, actor=worker)
        if state in {"blocked", "unblocked"}:
            block(job_id=self.job_id, actor=worker, blocked_reason="Which sail?")
        if state == "unblocked":
            unblock(job_id=self.job_id, actor=self.agent("source"), unblock_reason="The large one")
        if state == "failed":
            fail(job_id=self.job_id, actor=worker, failure_reason="Torn")
        if state == "completed":
            complete(job_id=self.job_id, actor=worker)
        if state == "cancelled":
            cancel(job_id=self.job_id, actor=self.agent("source"))

    def _row(self, job: Job) -> dict[str, Any]:
        names: dict[int | None, str] = {caller.agent_id: f"<{who}>" for who, caller in self.callers.items()}
        found: dict[str, Any] = {}
        for field in Job._meta.concrete_fields:
            value = getattr(job, field.attname)
            if field.attname in _CHANCE:
                continue
            if field.attname in {"source_agent_id", "assignee_agent_id", "last_holder_id"}:
                value = names.get(value)
            elif field.attname == "target_role_id":
                value = value == self.role.pk
            elif field.attname == "source_name":
                # A person's name is another one at each door; the event is asked for it.
                value = names.get(job.source_agent_id, "somebody")
            elif isinstance(value, datetime):
                value = "<time>"
            found[field.attname] = value
        return found

    def _payload(self, payload: dict[str, Any]) -> Any:
        payload = payload | ({"target_role_id": "<role>"} if "target_role_id" in payload else {})
        return json.loads(self.plain(json.dumps(payload, sort_keys=True)))


def seconds_of_lease(scene: Scene) -> int | None:
    """How long the last lease that the trail tells of was to run."""
    event = scene.last_event()
    ends = event.payload.get("lease_expires_at")
    return None if ends is None else round((as_datetime(ends) - event.created_at).total_seconds())
