"""The throw-away installation of the demo: a folder, a server, the command line, and agents as processes.

Nothing of it outlives the demo. The server hangs on a leash that ends it and removes the folder when this
process is gone, also by SIGKILL; an agent ends when its orders stop coming.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testing.leash import Leashed

START_SECONDS = 60.0
COMMAND_SECONDS = 60.0
ANSWER_SECONDS = 30.0
STOP_SECONDS = 5.0
LOG_LINES = 15
_LOG_BYTES = 1_000_000

_AGENT = Path(__file__).with_name("agent.py")
_LISTENS = re.compile(r"ForkFlux listens on (http://\S+:\d+)")
# What the surrounding shell says to ForkFlux is about another installation.
_OURS = (
    "FORKFLUX_", "DATABASE_URL", "SECRET_KEY", "SHARED_API_KEY", "DEBUG", "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS", "DJANGO_SETTINGS_MODULE", "REDIS_URL",
)  # fmt: skip
# Leases short enough to watch one run out.
_SETTINGS = {"FORKFLUX_LEASE_SECONDS_MIN": "1", "FORKFLUX_SWEEP_SECONDS": "1"}


class StepFailed(Exception):
    """Something did not happen as the demo tells it."""


@dataclass(frozen=True)
class Fact:
    """One answer that an agent got from the bus."""

    who: str
    call: str
    status: int
    body: Any

    def require(self, status: int) -> Any:
        """The body, if the bus answered with this HTTP status; StepFailed otherwise."""
        if self.status != status:
            told = json.dumps(self.body, ensure_ascii=False)[:600]
            raise StepFailed(
                f"{self.who}: {self.call} should be answered with {status}, and was with {self.status}: {told}"
            )
        return self.body


class Stage:
    """A fresh ForkFlux on a free port (or `port`), from `open` until `close`, which ends everything on it."""

    def __init__(self, *, port: int = 0) -> None:
        self._port = port
        self.folder = Path(tempfile.mkdtemp(prefix="forkflux-demo-"))
        # Held open, for the folder goes away with the server, and a server that fails is what it is for.
        self._log_file = (self.folder / "serve.log").open("w+b")
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(_OURS)},
            **_SETTINGS,
            "DATABASE_URL": f"sqlite:///{self.folder}/forkflux.db",
            "PYTHONUNBUFFERED": "1",
        }
        self._program = Path(sys.executable).with_name("forkflux")
        self._server: Leashed | None = None
        self._actors: list[ActingAgent] = []
        self.url = ""

    def open(self) -> None:
        """Start the server and wait until it listens; StepFailed when it does not."""
        if not self._program.exists():
            raise StepFailed(f"{self._program} is missing; run: tools/bootstrap run")
        self._server = Leashed(
            [self._program, "serve", "--port", str(self._port)],
            output=Path(self._log_file.name),
            cwd=self.folder,
            environment=self._environment,
            remove=self.folder,
            stop_seconds=STOP_SECONDS,
        )
        deadline = time.monotonic() + START_SECONDS
        while not (match := _LISTENS.search(self.log())):
            if self._server.poll() is not None:
                raise StepFailed(f"the server ended with exit {self._server.poll()} before it listened")
            if time.monotonic() > deadline:
                raise StepFailed(f"the server did not listen within {START_SECONDS:.0f} s")
            time.sleep(0.05)
        self.url = match[1]

    def log(self) -> str:
        """What the server has written so far."""
        return os.pread(self._log_file.fileno(), _LOG_BYTES, 0).decode(errors="replace")

    def end_of_log(self) -> str:
        """The last lines of that."""
        return "\n".join(self.log().splitlines()[-LOG_LINES:])

    def server_ended(self) -> bool:
        """Whether the server is gone although nobody stopped it."""
        return self._server is None or self._server.poll() is not None

    def command(self, *arguments: str) -> str:
        """Run `forkflux ARGUMENTS` and give back what it printed; StepFailed when it fails."""
        try:
            result = subprocess.run(
                [self._program, *arguments],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise StepFailed(
                f"`forkflux {' '.join(arguments)}` did not end within {COMMAND_SECONDS:.0f} s"
            ) from error
        if result.returncode != 0:
            raise StepFailed(
                f"`forkflux {' '.join(arguments)}` ended with exit {result.returncode}: "
                f"{result.stderr.strip() or result.stdout.strip()}"
            )
        return result.stdout

    def command_json(self, *arguments: str) -> Any:
        """Run `forkflux ARGUMENTS --json` and give back what it printed, parsed."""
        printed = self.command(*arguments, "--json")
        try:
            return json.loads(printed)
        except ValueError as error:
            raise StepFailed(
                f"`forkflux {' '.join(arguments)} --json` printed no JSON: {printed!r}"
            ) from error

    def enter(self, name: str, token: str) -> ActingAgent:
        """A process that acts as this agent."""
        actor = ActingAgent(name, url=self.url, token=token)
        self._actors.append(actor)
        return actor

    def close(self) -> None:
        """End everybody, then the server, then remove the folder. Safe to call again."""
        while self._actors:
            self._actors.pop().close()
        if self._server is not None:
            self._server.close()
        # The leash has removed it, unless it never came up.
        shutil.rmtree(self.folder, ignore_errors=True)
        self._log_file.close()


class ActingAgent:
    """An agent's process, and the orders to it."""

    def __init__(self, name: str, *, url: str, token: str) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-I", _AGENT],
            env={"PATH": os.defpath, "FORKFLUX_URL": url, "FORKFLUX_TOKEN": token},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # A terminal's Ctrl-C is for the demo, which then ends everybody in order.
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for as a pipe
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def facts(self, order: str, **arguments: Any) -> Iterator[Fact]:
        """Give an order, and get each answer of the bus when it comes; StepFailed when none does."""
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.write(json.dumps({"do": order, "with": arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise StepFailed(f"{self.name} is gone and takes no order to {order}") from error
        while True:
            try:
                line = self._lines.get(timeout=ANSWER_SECONDS)
            except queue.Empty as error:
                raise StepFailed(
                    f"{self.name} said nothing for {ANSWER_SECONDS:.0f} s while it was to {order}"
                ) from error
            if not line:
                raise StepFailed(f"{self.name} ended while it was to {order}")
            fact: Mapping[str, Any] = json.loads(line)
            if "done" in fact:
                return
            yield Fact(self.name, fact["call"], fact["status"], fact["body"])

    def last_fact(self, order: str, **arguments: Any) -> Fact:
        """Give an order, wait until it is followed, and get the last answer."""
        last: Fact | None = None
        for fact in self.facts(order, **arguments):
            last = fact
        if last is None:
            raise StepFailed(f"{self.name} called nobody when it was to {order}")
        return last

    def kill(self) -> int:
        """SIGKILL, as a crash would end it; gives back the exit status."""
        self._process.kill()
        return self._process.wait()

    def close(self) -> None:
        """No more orders; it ends by itself."""
        with contextlib.suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
