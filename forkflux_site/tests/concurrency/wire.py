"""One keep-alive connection of one agent to a served instance, in any process; without Django and httpx."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """What the server said: status, headers in lower case, and the parsed body (None when it was empty)."""

    status: int
    headers: dict[str, str]
    body: Any

    @property
    def code(self) -> str | None:
        """The machine's word for a refusal: `ctx.code` of a conflict, `reason` of nothing to claim, else `code`."""
        if not isinstance(self.body, dict):
            return None
        detail = self.body.get("detail")
        if isinstance(detail, list) and detail and isinstance(detail[0], dict):
            return str(detail[0].get("ctx", {}).get("code") or detail[0].get("type"))
        return self.body.get("reason") or self.body.get("code")

    @property
    def context(self) -> dict[str, Any]:
        """What a conflict tells besides its sentence."""
        found: dict[str, Any] = self.body["detail"][0]["ctx"]
        return found

    @property
    def replayed(self) -> bool:
        return self.headers.get("idempotency-replayed") == "true"


class Wire:
    """Speaks as the owner of `token`. A connection that the server drops is an OSError or HTTPException."""

    def __init__(self, base_url: str, token: str, *, session: str | None = None) -> None:
        address = urlsplit(base_url)
        assert address.hostname is not None
        self._connection = http.client.HTTPConnection(address.hostname, address.port, timeout=SECONDS)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if session is not None:
            self._headers["X-ForkFlux-Session"] = session

    @classmethod
    def over(cls, connection: http.client.HTTPConnection, token: str) -> Self:
        """Go on with a connection that is open already."""
        wire = cls(f"http://{connection.host}:{connection.port}", token)
        wire._connection = connection
        return wire

    def call(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Answer:
        """One request to a path under `/api/v1/mcp`; `key` is its Idempotency-Key."""
        headers = self._headers if key is None else self._headers | {"Idempotency-Key": key}
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, f"/api/v1/mcp{path}", body=data, headers=headers)
        return answer_of(self._connection.getresponse())

    def publish(self, role: str, *, key: str | None = None, **fields: Any) -> Answer:
        """Publish a job to the role."""
        return self.call("POST", "/jobs", publication(role, **fields), key=key)

    def published(self, role: str, **fields: Any) -> int:
        """Publish a job and give back its id."""
        answer = self.publish(role, **fields)
        assert answer.status == 201, answer
        return int(answer.body["job_id"])

    def claim_next(self, *roles: str, key: str | None = None, **fields: Any) -> Answer:
        """Claim the next job of one role or of several."""
        asked: dict[str, Any] = {"target_role_keys": list(roles)} if len(roles) > 1 else {}
        if len(roles) == 1:
            asked["target_role_key"] = roles[0]
        return self.call("POST", "/jobs/claim-next", asked | fields, key=key)

    def claim(self, job_id: int, *, key: str | None = None, **fields: Any) -> Answer:
        """Claim a job by its id."""
        return self.call("POST", f"/jobs/{job_id}/claim", fields, key=key)

    def move(self, job_id: int, status: str, *, key: str | None = None, **fields: Any) -> Answer:
        """Ask for a change of status."""
        return self.call("POST", f"/jobs/{job_id}/status", {"status": status} | fields, key=key)

    def heartbeat(self, job_id: int, **fields: Any) -> Answer:
        """Keep the job's lease alive."""
        return self.call("POST", f"/jobs/{job_id}/heartbeat", fields)

    def release(self, job_id: int, **fields: Any) -> Answer:
        """Give the job back."""
        return self.call("POST", f"/jobs/{job_id}/release", fields)

    def read(self, job_id: int) -> Answer:
        """Read the whole job."""
        return self.call("GET", f"/jobs/{job_id}")

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def answer_of(response: http.client.HTTPResponse) -> Answer:
    """The whole answer, read to its end."""
    text = response.read()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, json.loads(text) if text else None)


def publication(role: str, **fields: Any) -> dict[str, Any]:
    """A body that publishes; `fields` replaces what is in it."""
    return {
        "parent_job_id": None,
        "summary": "Count the leaves of a tree",
        "context_payload": {"tree": "oak"},
        "target_role_key": role,
        "constraints": [],
        "artifacts": [],
        "priority": 20,
    } | fields
