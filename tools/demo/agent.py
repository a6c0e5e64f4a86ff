"""An agent of the demo as a process of its own: all it knows is an address and a token, all it does is HTTP.

A script of the standard library only, so that it also shows how little an agent needs. FORKFLUX_URL and
FORKFLUX_TOKEN say where the bus is and who calls. Orders come as lines of JSON on standard input,
``{"do": "publish", "with": {"job": {…}}}``; they stand for what a person would ask an assistant to do. Each
answer of the bus goes to standard output as a line ``{"call", "status", "body"}``, and ``{"done": …}`` ends an
order. When standard input closes, whoever gave the orders is gone and the process ends, whatever it is doing.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

CALL_SECONDS = 20.0
LOOK_AGAIN_SECONDS = 0.2


class Answer(NamedTuple):
    """What the bus said: HTTP status and the JSON of the body."""

    status: int
    body: Any


class Agent:
    """Speaks to the bus in one agent's name. Every public method is an order."""

    def __init__(self, url: str, token: str) -> None:
        self._base = f"{url}/api/v1/mcp"
        self._token = token
        # A random id of this process: a second one with the same token is not the holder of what this one claims.
        self._session = str(uuid.uuid4())
        # Proxies of the surrounding shell have no say on loopback.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def publish(self, job: Mapping[str, Any]) -> None:
        """Put a job on the board, and read back what stands there now."""
        published = self._call("POST", "/jobs", job)
        if published.status == 201:
            self.read(f"/jobs/{published.body['job_id']}")

    def read(self, path: str) -> None:
        """Look something up."""
        self._call("GET", path)

    def claim_next(self, role: str) -> None:
        """Take the next job of a role."""
        self._call("POST", "/jobs/claim-next", {"target_role_key": role})

    def change_status(self, job_id: int, **fields: Any) -> None:
        """Complete, fail, block, unblock or resume a job."""
        self._call("POST", f"/jobs/{job_id}/status", fields)

    def work(
        self,
        *,
        role: str,
        lease_seconds: int,
        notes: Sequence[str],
        result_summary: str,
        result: Any,
        last_seconds: float = 0,
    ) -> None:
        """Take the next job of a role, say at each heartbeat how far it is, and deliver.

        `notes` are what to say, one for each heartbeat; `last_seconds` is what the work takes after the last.
        """
        claimed = self._call(
            "POST", "/jobs/claim-next", {"target_role_key": role, "lease_seconds": lease_seconds}
        )
        if claimed.status != 201:
            return
        job_id, lease = claimed.body["id"], claimed.body["lease"]
        for number, note in enumerate(notes, 1):
            time.sleep(lease["heartbeat_seconds"])  # this is where an assistant would work
            beat = {
                "lease_generation": lease["generation"],
                "progress_percent": 100 * number // (len(notes) + 1),
                "note": note,
            }
            if self._call("POST", f"/jobs/{job_id}/heartbeat", beat).status != 200:
                return
        time.sleep(last_seconds)
        self.change_status(
            job_id,
            status="completed",
            lease_generation=lease["generation"],
            result_summary=result_summary,
            result=result,
        )

    def wait_until(self, job_id: int, status: str, seconds: float) -> None:
        """Look at a job until it is in a status, at most so long; tells what it saw last."""
        deadline = time.monotonic() + seconds
        while True:
            answer = self._send("GET", f"/jobs/{job_id}", None)
            arrived = answer.status == 200 and answer.body["status"] == status
            if arrived or answer.status >= 400 or time.monotonic() > deadline:
                _say({"call": f"GET /jobs/{job_id}", "status": answer.status, "body": answer.body})
                return
            time.sleep(LOOK_AGAIN_SECONDS)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        answer = self._send(method, path, body)
        _say({"call": f"{method} {path}", "status": answer.status, "body": answer.body})
        return answer

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> Answer:
        request = urllib.request.Request(  # noqa: S310 - http, as the demo was told
            self._base + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "X-ForkFlux-Session": self._session,
            },
        )
        if method != "GET":
            # Should the answer be lost on the way, the same call can be sent again without a second effect.
            request.add_header("Idempotency-Key", str(uuid.uuid4()))
        try:
            with self._opener.open(request, timeout=CALL_SECONDS) as response:
                return Answer(response.status, json.load(response))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, json.load(refusal))


def main() -> None:
    """Follow orders until standard input closes."""
    agent = Agent(os.environ["FORKFLUX_URL"], os.environ["FORKFLUX_TOKEN"])
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            orders.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        order = json.loads(orders.get())
        getattr(agent, order["do"])(**order["with"])
        _say({"done": order["do"]})


def _say(fact: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(fact) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
