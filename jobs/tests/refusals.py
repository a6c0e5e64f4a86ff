"""What one refusal in the tables is, and the board that all of them are tried on."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from agents.services import issue_token, revoke_token
from core.clock import database_moment
from jobs.models import Job
from jobs.services.blocking import block, unblock
from jobs.services.claiming import claim
from jobs.services.closing import cancel, complete, fail
from jobs.services.holding import hold
from jobs.services.sweeping import expire
from jobs.tests.board import (
    PERSON,
    Caller,
    age,
    caller,
    in_session,
    new_agent,
    new_role,
    publish_body,
    published,
)
from roles.models import Role
from roles.services import pause_role

SESSION = "desk"
# Above a third of the default lease: an accepted call by the holder would now renew it.
AGED_SECONDS = 700


@dataclass(frozen=True)
class Refusal:
    """A request that must be refused.

    `call` is method and path, in which `{held}` stands for the id of the board's job of that name. `code` is the
    entry's `type` of a 422, the `ctx.code` of a 409, the `code` of a 403, the `reason` of a 404. In a `body`
    that is a dict, strings of the form `{name}` are filled in as well; None sends nothing.
    """

    id: str
    call: str
    body: Any
    status: int
    code: str | None = None
    loc: Sequence[str | int] | None = None
    who: str = "worker"
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


class World:
    """One job in every state that a refusal needs, and callers of every kind. Made once: nothing may change it."""

    def __init__(self) -> None:
        self.roles = {
            "main": new_role(),
            "other": new_role(),
            "paused": new_role(),
            "limited": new_role(max_held_per_agent=1),
            "empty": new_role(),
            "held_back": new_role(),
            "not_due": new_role(),
            "overdue": new_role(),
        }
        mine = [role for key, role in self.roles.items() if key != "other"]
        self.worker = new_agent(*mine)
        self.stranger = new_agent(self.roles["main"], self.roles["other"])
        self.source = new_agent()
        self.callers = {
            "worker": caller(self.worker),
            "stranger": caller(self.stranger),
            "source": caller(self.source),
            "reader": caller(self.source, scopes=["read"]),
        }
        self.jobs: dict[str, Job] = {}
        self._make_jobs()
        pause_role(actor=PERSON, role_key=self.roles["paused"].role_key, reason="too much to do")
        age(Job.objects.filter(assignee_agent_id=self.worker.agent_id), AGED_SECONDS)
        self.callers |= self._callers_without_rights()
        self._use_keys()

    def new(self, name: str, role: str = "main", **fields: Any) -> int:
        self.jobs[name] = published(self.source, self.roles[role], **fields)
        return self.jobs[name].pk

    def held_by_worker(self, name: str, role: str = "main", **fields: Any) -> int:
        number = self.new(name, role, **fields)
        claim(job_id=number, actor=in_session(self.worker, SESSION))
        return number

    def _make_jobs(self) -> None:
        worker, source = in_session(self.worker, SESSION), self.source
        now = database_moment().now
        self.new("published")
        self.new("elsewhere", "other")
        self.new("paused", "paused")
        self.new("on_hold", "held_back", on_hold=True)
        self.new("not_due", "not_due", not_before=now + timedelta(hours=1))
        self.new("overdue", "overdue", expires_at=now + timedelta(seconds=10))
        age(Job.objects.filter(pk=self.jobs["overdue"].pk), 20)
        self.held_by_worker("held")
        self.held_by_worker("at_limit", "limited")
        self.new("above_limit", "limited")
        block(job_id=self.held_by_worker("blocked"), actor=worker, blocked_reason="which colour?")
        answered = self.held_by_worker("unblocked")
        block(job_id=answered, actor=worker, blocked_reason="which colour?")
        unblock(job_id=answered, actor=source, unblock_reason="red")
        complete(job_id=self.held_by_worker("completed"), actor=worker)
        fail(job_id=self.held_by_worker("failed"), actor=worker, failure_reason="no disk")
        fail(job_id=self.held_by_worker("spent", max_retries=0), actor=worker, failure_reason="no disk")
        cancel(job_id=self.held_by_worker("cancelled"), actor=source, reason="not wanted")
        for name in ("lost", "taken"):
            number = self.held_by_worker(name)
            Job.objects.filter(pk=number).update(lease_expires_at=now - timedelta(seconds=1))
            expire(job_id=number)
        claim(job_id=self.jobs["taken"].pk, actor=self.stranger)
        self.new("held_back_while_published")
        hold(job_id=self.jobs["held_back_while_published"].pk, actor=source)

    def _callers_without_rights(self) -> dict[str, Caller]:
        name = self.worker.name
        revoked = issue_token(actor=PERSON, agent_name=name)
        revoke_token(actor=PERSON, token_id=revoked.token.pk)
        expired = issue_token(actor=PERSON, agent_name=name)
        type(expired.token).objects.filter(pk=expired.token.pk).update(
            expires_at=database_moment().now - timedelta(seconds=1)
        )
        return {
            "revoked": Caller(self.worker, revoked.secret),
            "expired": Caller(self.worker, expired.secret),
            "unknown": Caller(self.worker, "x" * 43),
        }

    def _use_keys(self) -> None:
        """Keys that were used: one for a publication, one for a claim that was lost since."""
        worker = self.callers["worker"]
        key = {"Idempotency-Key": "used for a job"}
        assert worker.post("/jobs", publish_body(self.roles["other"]), **key).status_code == 201
        number = self.new("claimed_and_lost")
        key = {"Idempotency-Key": "used for a claim"}
        assert worker.post(f"/jobs/{number}/claim", None, **key).status_code == 201
        Job.objects.filter(pk=number).update(lease_expires_at=database_moment().now - timedelta(seconds=1))
        expire(job_id=number)

    def send(self, refusal: Refusal) -> Any:
        method, path = refusal.call.split(" ", 1)
        given = self.callers[refusal.who]
        headers = {name: value.format_map(_Secrets(self)) for name, value in refusal.headers.items()}
        return given.call(
            method,
            path.format_map(_Ids(self)),
            self.filled(refusal.body),
            headers,
            content_type=refusal.content_type,
        )

    def filled(self, body: Any) -> Any:
        """The body with `{name}` replaced by the key of the role or the id of the job of that name."""
        if isinstance(body, dict):
            return {key: self.filled(value) for key, value in body.items()}
        if isinstance(body, list):
            return [self.filled(value) for value in body]
        if isinstance(body, str) and body.startswith("{role:") and body.endswith("}"):
            return self.roles[body[6:-1]].role_key
        return body


class _Ids(dict[str, str]):
    """Job names in a path."""

    def __init__(self, world: World) -> None:
        super().__init__({name: str(job.pk) for name, job in world.jobs.items()})


class _Secrets(dict[str, str]):
    """Basic credentials in a header."""

    def __init__(self, world: World) -> None:
        worker = world.callers["worker"]
        super().__init__(
            {
                "basic": base64.b64encode(f"{worker.actor.name}:{worker.secret}".encode()).decode(),
                "other_name": base64.b64encode(f"somebody:{worker.secret}".encode()).decode(),
            }
        )


def publication(**fields: Any) -> dict[str, Any]:
    """A body that would be accepted but for the fields given; `...` leaves a field out."""
    body = publish_body(Role(role_key="{role:main}")) | fields
    return {key: value for key, value in body.items() if value is not ...}


def artifact(**fields: Any) -> dict[str, Any]:
    return {"type": "file", "uri": "file:///x", "checksum": None, "metadata_json": {}} | fields
