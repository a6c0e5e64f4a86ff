"""The API called in this process: a small board with its agents, and callers that speak HTTP as one of them."""

from __future__ import annotations

import base64
import functools
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from agents.models import Agent, AgentRole, AgentToken
from agents.scopes import DEFAULT_SCOPES
from agents.services import PREFIX_LENGTH, TOKEN_BYTES, issue_token, register_agent, token_hash
from core.actors import operator
from roles.models import Role
from roles.services import create_role

OPERATOR = operator("pat")
ROOT = "/api/v1"

# The reference's fields, in its order.
_IN_BOTH = ["status", "priority", "source_agent_label", "assignee_agent_label", "target_role_key"]
JOB_KEYS = [
    *("id", "parent_job_id", "summary", "context_payload", *_IN_BOTH),
    *("constraints", "retry_count", "max_retries", "routing_rules", "artifacts"),
    *("failure_reason", "blocked_reason", "unblock_reason", "published_at", "started_at", "completed_at"),
    *("failed_at", "blocked_at", "unblocked_at", "cancelled_at", "expires_at", "created_at", "updated_at"),
]
ITEM_KEYS = [
    *("id", "parent_job_id", "summary", *_IN_BOTH),
    *("retry_count", "max_retries", "routing_rules", "created_at"),
]


@dataclass(frozen=True)
class Caller:
    """Somebody at the door: the headers that say who, and a way to call."""

    headers: dict[str, str] = field(default_factory=dict)
    name: str = ""
    label: str = ""
    agent_id: int = 0
    token: str = ""

    def call(self, method: str, path: str, body: Any = None, **headers: str | None) -> Any:
        """One request, and Django's test response to it.

        `body` is sent as JSON unless it is bytes; `path` is below /api/v1/mcp unless it says more. Headers are
        written with underscores; None leaves out one that the caller always sends. Their values travel as UTF-8,
        as curl sends them.
        """
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent: dict[str, str | None] = {**self.headers}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        content_type = sent.pop("Content-Type", "application/json") or ""
        return _client().generic(
            method,
            path if path.startswith("/api") else f"{ROOT}/mcp{path}",
            data=raw,
            content_type=content_type,
            headers={
                name: value.encode().decode("latin-1") for name, value in sent.items() if value is not None
            },
        )

    def get(self, path: str, **headers: str | None) -> Any:
        return self.call("GET", path, None, **headers)

    def post(self, path: str, body: Any = None, **headers: str | None) -> Any:
        return self.call("POST", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str | None) -> Any:
        return self.call("PATCH", path, body, **headers)

    @property
    def basic(self) -> Caller:
        """The same agent as a person's browser sends it: HTTP Basic with name and token."""
        return Caller(basic_headers(self.name, self.token), self.name, self.label, self.agent_id, self.token)


NOBODY = Caller()


@functools.cache
def _client() -> Client:
    """One for all: a new one loads the middleware again, and with it the list of all static files."""
    return Client(raise_request_exception=False, SERVER_NAME="localhost")


def basic_headers(name: str, secret: str) -> dict[str, str]:
    pair = base64.b64encode(f"{name}:{secret}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


def bearer(token: str) -> Caller:
    """A caller that presents this as its token."""
    return Caller({"Authorization": f"Bearer {token}"}, token=token)


def role(key: str, *, label: str | None = None, **policy: Any) -> Role:
    """A role; `policy` are columns such as `max_held_per_agent`."""
    made = create_role(actor=OPERATOR, role_key=key, role_label=label or key.title())
    Role.objects.filter(pk=made.pk).update(**policy) if policy else None
    return made


def agent(label: str, *roles: str, tool_family: str | None = None) -> Caller:
    """A new agent that holds these roles, with its first token."""
    made, issued = register_agent(actor=OPERATOR, agent_label=label, role_keys=roles, tool_family=tool_family)
    return _with_token(made, issued.secret)


def another_token(of: Agent, *, scopes: Iterable[str] = DEFAULT_SCOPES, **options: Any) -> Caller:
    """The agent with one more token, of these scopes."""
    return _with_token(
        of, issue_token(actor=OPERATOR, agent_name=of.name, scopes=list(scopes), **options).secret
    )


def _with_token(made: Agent, token: str) -> Caller:
    return Caller(bearer(token).headers, made.name, made.agent_label, made.pk, token)


def job_body(**fields: Any) -> dict[str, Any]:
    """A body that publishes a job to `qa`, with exactly the fields that the reference requires."""
    body: dict[str, Any] = {
        "parent_job_id": None,
        "summary": "Review the login form",
        "context_payload": {"branch": "login"},
        "target_role_key": "qa",
        "constraints": ["Every field has a label"],
        "artifacts": [],
        "priority": 20,
    }
    return body | fields


class Board:
    """Two roles and three agents: `dev` publishes and holds `developer`, `qa` holds `qa`, `guest` holds none."""

    def __init__(self) -> None:
        # Rows, not services: hundreds of tests start with this, and the events of its making interest none.
        developer, qa = Role.objects.bulk_create(
            [Role(role_key="developer", role_label="Developer"), Role(role_key="qa", role_label="QA")]
        )
        agents = Agent.objects.bulk_create(
            [
                Agent(name="dev-agent", agent_label="Dev agent", tool_family="claude"),
                Agent(name="qa-agent", agent_label="QA agent"),
                Agent(name="guest", agent_label="Guest"),
            ]
        )
        AgentRole.objects.bulk_create(
            [AgentRole(agent=agents[0], role=developer), AgentRole(agent=agents[1], role=qa)]
        )
        tokens = [secrets.token_urlsafe(TOKEN_BYTES) for _ in agents]
        AgentToken.objects.bulk_create(
            AgentToken(
                token_hash=token_hash(token),
                prefix=token[:PREFIX_LENGTH],
                agent=one,
                scopes=list(DEFAULT_SCOPES),
            )
            for one, token in zip(agents, tokens, strict=True)
        )
        self.dev, self.qa, self.guest = (
            _with_token(one, token) for one, token in zip(agents, tokens, strict=True)
        )

    def job(self, **fields: Any) -> int:
        """The id of a new job that `dev` published."""
        response = self.dev.post("/jobs", job_body(**fields))
        assert response.status_code == 201, response.content
        job_id: int = response.json()["job_id"]
        return job_id

    def claimed(self, **fields: Any) -> int:
        """The id of a new job that `qa` has claimed."""
        job_id = self.job(**fields)
        response = self.qa.post(f"/jobs/{job_id}/claim")
        assert response.status_code == 201, response.content
        return job_id

    def moved(self, job_id: int, status: str, caller: Caller | None = None, **fields: Any) -> int:
        """The same job after a change of status by its holder, or by `caller`."""
        response = (caller or self.qa).post(f"/jobs/{job_id}/status", {"status": status, **fields})
        assert response.status_code == 200, response.content
        return job_id
