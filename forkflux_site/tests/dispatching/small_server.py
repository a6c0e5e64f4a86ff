"""A server with the real gunicorn worker and dispatcher, small bounds, and an application made for tests.

Run as `python -m forkflux_site.tests.dispatching.small_server`. Paths below `/control/` are answered beside the
dispatcher, so that a test can look at it and open its gates while all its threads are busy.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from forkflux_site.dispatcher import WATCHER, Dispatcher
from forkflux_site.gunicorn_app import Program, configuration
from forkflux_site.request_body import BodyRules, Receive, Send

THREADS = 2
QUEUE_MAX = 2
BODY_MAX_BYTES = 512 * 1024
LONG_ANSWER_BYTES = 6 * 1024 * 1024

gate = threading.Event()
calls: list[str] = []
thread_ids: set[int] = set()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Does what the path says."""
    path = environ["PATH_INFO"]
    calls.append(path)
    thread_ids.add(threading.get_ident())
    if path == "/boom":
        raise RuntimeError("planted")
    if path == "/exit":
        raise SystemExit(1)
    if path == "/gated":
        gate.wait()
    if path == "/parts":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return parts()
    if path == "/broken":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return broken()
    if path == "/whole":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"x" * LONG_ANSWER_BYTES]
    if path == "/long":
        start_response("200 OK", [("Content-Length", str(LONG_ANSWER_BYTES))])
        return (b"x" * 4096 for _ in range(LONG_ANSWER_BYTES // 4096))
    if path == "/fifo":
        body = Path(os.environ["TEST_FIFO"]).read_bytes()
    else:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    seen = {name: value for name, value in environ.items() if isinstance(value, str)}
    answer = json.dumps({"environ": seen, "body": base64.b64encode(body).decode()}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


def parts() -> Iterator[bytes]:
    """The first part at once, the second when the gate opens."""
    yield b"first,"
    gate.wait()
    yield b"second"


def broken() -> Iterator[bytes]:
    """Breaks off after the first part."""
    yield b"first,"
    raise RuntimeError("planted")


class TestSite:
    """The dispatcher, and beside it the test's control over it."""

    def __init__(self) -> None:
        self.dispatcher = Dispatcher(
            application,
            threads=THREADS,
            queue_max=QUEUE_MAX,
            deadline_seconds=float(os.environ.get("TEST_DEADLINE_SECONDS", "20")),
            body_rules=BodyRules(max_bytes=BODY_MAX_BYTES, grace_seconds=0.5, total_seconds=3),
            stall_seconds=float(os.environ.get("TEST_STALL_SECONDS", "20")),
        )

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http" and scope["path"].startswith("/control/"):
            await self._control(scope["path"], send)
        elif scope["type"] == "http":
            await self.dispatcher(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while (await receive())["type"] == "lifespan.startup":
            self.dispatcher.start()
            await send({"type": "lifespan.startup.complete"})
        await self.dispatcher.stop(timeout_seconds=10)
        await send({"type": "lifespan.shutdown.complete"})

    async def _control(self, path: str, send: Send) -> None:
        if path == "/control/open":
            gate.set()
        elif path == "/control/close":
            gate.clear()
        state = {
            "pid": os.getpid(),
            "pending": self.dispatcher.pending,
            "body_bytes": self.dispatcher._budget.used_bytes,
            "watched": sum(task.get_name() == WATCHER for task in asyncio.all_tasks()),
            "tasks": len(asyncio.all_tasks()),
            "calls": calls,
            "threads": len(thread_ids),
        }
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(state).encode()})


class TestProgram(Program):
    """Gunicorn as `serve` runs it, with the test's application in it."""

    def load(self) -> Any:
        return TestSite()


def main() -> None:
    """Serve on a free port and print the address as `serve` does."""
    listener = socket.create_server(("127.0.0.1", 0))
    reader, writer = os.pipe()
    os.write(writer, b"1")
    os.close(writer)
    os.set_blocking(reader, False)
    os.environ["FORKFLUX_SERVE_URL"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
    os.environ["FORKFLUX_SERVE_ANNOUNCE_FD"] = str(reader)
    TestProgram(configuration(listener=listener.detach(), workers=1)).run()


if __name__ == "__main__":
    main()
