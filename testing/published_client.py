"""The original's published MCP client, unmodified, in an environment of its own, spoken to over stdio."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import venv
from collections.abc import Mapping
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import Any, Self

import pytest

from testing.installation import ROOT

VERSION = "0.6.0"
FOLDER = ROOT / ".venv-client"
# It declares a newer Python than it needs.
INSTALL = ("--quiet", "--disable-pip-version-check", "--ignore-requires-python", f"forkflux-mcp=={VERSION}")
ANSWER_SECONDS = 60.0
PROTOCOL = "2025-06-18"


def published_client() -> Path:
    """Its console script, installed once. Where that cannot be had the test is skipped loudly, and in CI it fails."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        # Two test processes would install into each other's half-made environment.
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = FOLDER / f"{VERSION}-python{sys.version_info.major}.{sys.version_info.minor}"
        stamp = folder / "complete"
        if not stamp.exists():
            venv.create(folder, with_pip=True, clear=True)
            command = [str(folder / "bin" / "python"), "-m", "pip", "install", *INSTALL]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                told = f"forkflux-mcp {VERSION} cannot be installed: {done.stderr.strip()[-500:]}"
                if os.environ.get("CI"):
                    pytest.fail(told, pytrace=False)
                pytest.skip(f"NOT TESTED WITH THE PUBLISHED CLIENT: {told}")
            stamp.touch()
    return folder / "bin" / "forkflux-mcp"


class Assistant:
    """An assistant that works through the client: one process, one JSON-RPC message a line."""

    def __init__(self, program: Path, *, url: str, token: str, folder: Path) -> None:
        environment: Mapping[str, str] = {
            "PATH": os.defpath,
            "HOME": str(folder),
            "FORKFLUX_API_URL": f"{url}/api/v1",
            "FORKFLUX_API_KEY": token,
            # Without it the client prints a warning into the protocol.
            "FORKFLUX_SHARED_API_KEY": "unused",
        }
        self._process = subprocess.Popen(
            [program], cwd=folder, env=environment, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._lines: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._number = 0
        client = {"name": "test", "version": "1"}
        self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """One request and its result."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while True:
            try:
                line = self._lines.get(timeout=ANSWER_SECONDS)
            except Empty:
                raise AssertionError(f"the client did not answer {method}") from None
            message = json.loads(line)
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One tool call: the envelope that the client makes of our answer."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        envelope: dict[str, Any] = result["structuredContent"]
        return envelope

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=10)
        self._process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
