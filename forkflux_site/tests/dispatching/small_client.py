"""The test's side of `small_server`: start it, look into it, speak to it byte by byte."""

from __future__ import annotations

import contextlib
import re
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from testing.installation import ROOT
from testing.leash import Leashed


class SmallServer:
    """A running `small_server` and the means to speak to it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.log = folder / "server.log"
        self.process = Leashed(
            [sys.executable, "-m", "forkflux_site.tests.dispatching.small_server"],
            output=self.log,
            cwd=ROOT,
            environment={"PATH": "/usr/bin:/bin", "PYTHONUNBUFFERED": "1", **environment},
        )
        self.url = until(lambda: re.search(r"listens on (\S+)", self.log.read_text()), "the address")[1]
        self.port = int(self.url.rpartition(":")[2])
        self.client = httpx.Client(base_url=self.url, timeout=20, trust_env=False)

    def close(self) -> None:
        with contextlib.suppress(httpx.TransportError):
            self.client.get("/control/open")
        self.client.close()
        assert self.process.close() == 0

    def control(self, what: str = "look") -> dict[str, Any]:
        answer: dict[str, Any] = self.client.get(f"/control/{what}").json()
        return answer

    def connect(self, *, buffer_bytes: int | None = None) -> socket.socket:
        """A connection; a small `buffer_bytes` makes the server notice early that nobody reads."""
        connection = socket.socket()
        if buffer_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        connection.settimeout(20)
        try:
            connection.connect(("127.0.0.1", self.port))
        except OSError:
            connection.close()
            raise
        return connection

    def send(self, *lines: str, body: bytes = b"", buffer_bytes: int | None = None) -> socket.socket:
        """A connection on which these head lines, Host and the body have been sent."""
        connection = self.connect(buffer_bytes=buffer_bytes)
        connection.sendall("\r\n".join([*lines, "Host: localhost", "", ""]).encode("latin-1") + body)
        return connection

    def wait_for(self, **expected: Any) -> None:
        until(
            lambda: all(self.control()[name] == value for name, value in expected.items()) or None,
            f"{expected}, last seen {self.control()}",
        )


def until(look: Callable[[], Any], what: str, *, seconds: float = 20) -> Any:
    """What `look` gives back once it is true; looks again until then."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}"
        time.sleep(0.01)
    return found


def read_all(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
    received = b""
    with contextlib.closing(connection):
        while chunk := connection.recv(65536):
            received += chunk
    return received


def environ_seen(response: httpx.Response) -> dict[str, str]:
    assert response.status_code == 200, response.text
    seen: dict[str, str] = response.json()["environ"]
    return seen
