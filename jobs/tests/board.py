"""A board to test on: roles, agents and jobs of the test's own, calls through the REST door, and time moved by SQL."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import F, QuerySet
from django.test import Client

from agents.scopes import DEFAULT_SCOPES
from agents.selectors import identity_by_name
from agents.services import issue_token, register_agent
from core.actors import Actor, operator
from jobs.models import Job
from jobs.services.publishing import publish
from roles.models import Role
from roles.services import create_role

PERSON = operator("pat")
# What time means to a job: ageing moves all of them, so that the row looks as it would look then.
TIMES = ("lease_expires_at", "lease_heartbeat_at", "not_before", "expires_at")

_numbers = itertools.count(1)


def new_role(**policy: Any) -> Role:
    """A role that no other test knows; `policy` are columns such as `max_held_per_agent`."""
    key = f"role-{next(_numbers)}"
    role = create_role(actor=PERSON, role_key=key, role_label=key)
    if policy:
        Role.objects.filter(pk=role.pk).update(**policy)
        role.refresh_from_db()
    return role


def new_agent(*roles: Role, label: str = "worker") -> Actor:
    """An agent that holds the roles, as its credential shows it."""
    agent, _ = register_agent(
        actor=PERSON, agent_label=f"{label}-{next(_numbers)}", role_keys=[role.role_key for role in roles]
    )
    return as_now(agent.name)


def as_now(name: str, *, session: str | None = None) -> Actor:
    """The agent as it would be authenticated now, with the roles as they are now."""
    identity = identity_by_name(name)
    if identity is None:
        raise AssertionError(f"no agent {name}")
    return dataclasses.replace(identity.actor, session=session)


def in_session(actor: Actor, session: str | None) -> Actor:
    return dataclasses.replace(actor, session=session)


def published(actor: Actor, role: Role, **fields: Any) -> Job:
    """A new job on the role's board."""
    given: dict[str, Any] = {"summary": "Review the login form", "context_payload": {"branch": "login"}}
    return publish(actor=actor, target_role_key=role.role_key, **given | fields)


def age(jobs: QuerySet[Job], seconds: float) -> None:
    """Let time pass for these jobs: everything that happens to them at a time comes nearer by as much."""
    jobs.update(**{column: F(column) - timedelta(seconds=seconds) for column in TIMES})


def dump(*tables: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every column of every row of the tables."""
    found = {}
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
            found[table] = cursor.fetchall()
    return found


@dataclasses.dataclass(frozen=True)
class Caller:
    """An agent at the REST door."""

    actor: Actor
    secret: str

    def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, **options: Any
    ) -> Any:
        """One request below `/api/v1/mcp`. `body` is sent as JSON unless it is bytes."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.secret}"} | (headers or {})
        content_type = options.pop("content_type", "application/json")
        return Client(SERVER_NAME="localhost").generic(
            method, f"/api/v1/mcp{path}", data=raw, content_type=content_type, headers=given, **options
        )

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("POST", path, body, headers)

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, None, headers)


def caller(actor: Actor, *, scopes: Iterable[str] = DEFAULT_SCOPES) -> Caller:
    """The agent with a token of its own."""
    issued = issue_token(actor=PERSON, agent_name=actor.name, scopes=list(scopes))
    return Caller(actor, issued.secret)


def publish_body(role: Role, **fields: Any) -> dict[str, Any]:
    """A body of `POST /jobs` that is accepted; `fields` replace or add."""
    return {
        "parent_job_id": None,
        "summary": "Review the login form",
        "context_payload": {"branch": "login"},
        "target_role_key": role.role_key,
        "constraints": [],
        "artifacts": [],
        "priority": 20,
    } | fields


def copies(job: Job, count: int, **columns: Any) -> list[int]:
    """Ids of so many rows that look like the job; they have no events. `columns` replace the job's."""
    fields = {field.attname: getattr(job, field.attname) for field in Job._meta.concrete_fields}
    rows = [Job(**fields | columns | {"id": None}) for _ in range(count)]
    return [row.pk for row in Job.objects.bulk_create(rows)]
