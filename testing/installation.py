"""A whole ForkFlux in a test: a database of its own, driven by the real `forkflux` command in processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from testing.leash import Leashed
from testing.secrets_watch import found_in, remember

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0
COMMAND_SECONDS = 120.0
_LISTENS = re.compile(r"ForkFlux listens on (http://\S+:\d+)\n")
TEST_SECRET = "a-secret-key-for-tests-that-guards-nothing-at-all"


@dataclass(frozen=True)
class AgentCredentials:
    """What `agent add` answered: the agent and its first token."""

    agent_id: int
    name: str
    label: str
    roles: tuple[str, ...]
    token: str

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:
        """From the JSON that `forkflux agent add --json` prints."""
        return cls(
            agent_id=answer["agent_id"],
            name=answer["name"],
            label=answer["agent_label"],
            roles=tuple(answer["roles"]),
            token=remember(answer["api_token"]),
        )

    @property
    def headers(self) -> dict[str, str]:
        """The request headers that this agent calls with."""
        return {"Authorization": f"Bearer {self.token}"}


class CommandFailed(AssertionError):
    """A command of ForkFlux ended with another exit code than expected."""


class Installation:
    """One ForkFlux: `folder` is its working directory and HOME, `database_url` where its jobs are.

    Everything that it starts is ended by `close`. Every process gets a clean environment plus `environment`.
    """

    def __init__(
        self, *, database_url: str, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.database_url = database_url
        self.folder = folder
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "DATABASE_URL": database_url,
            "SECRET_KEY": TEST_SECRET,
            **(environment or {}),
        }
        self._servers: list[Server] = []

    @property
    def command(self) -> Path:
        """The installed `forkflux` program."""
        program = Path(sys.executable).with_name("forkflux")
        assert program.exists(), f"{program} is missing: run `tools/bootstrap dev`"
        return program

    def run(
        self,
        *arguments: str | int,
        expect: int | None = 0,
        input: str | None = None,  # noqa: A002 - subprocess's own word
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run `forkflux ARGUMENTS` to its end; `expect` is the exit code it must have, None for any."""
        result = subprocess.run(
            [self.command, *map(str, arguments)],
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        if expect is not None and result.returncode != expect:
            raise CommandFailed(
                f"forkflux {' '.join(map(str, arguments))}: exit {result.returncode}, expected {expect}\n"
                f"stdout: {result.stdout}\nstderr: {result.stderr}"
            )
        return result

    def cli(self, *arguments: str | int) -> Any:
        """Run `forkflux ARGUMENTS --json` and give back what it printed, parsed."""
        printed = self.run(*arguments, "--json").stdout
        try:
            return json.loads(printed)
        except ValueError as error:
            raise CommandFailed(
                f"forkflux {' '.join(map(str, arguments))} --json printed no JSON: {printed!r}"
            ) from error

    def init(self) -> None:
        """Make the database's tables."""
        self.run("init")

    def agent(self, label: str, *roles: str) -> AgentCredentials:
        """A new agent that holds `roles`, made with `forkflux agent add`; the roles must exist."""
        return AgentCredentials.from_answer(
            self.cli("agent", "add", label, *(part for role in roles for part in ("--role", role)))
        )

    def agents(self, labels: Sequence[str], *roles: str) -> list[AgentCredentials]:
        """As `agent` for many labels, in one process (testing/add_agents.py)."""
        result = subprocess.run(
            [sys.executable, "-m", "testing.add_agents"],
            cwd=self.folder,
            env={**self.environment, "PYTHONPATH": str(ROOT)},
            input=json.dumps({"labels": list(labels), "roles": list(roles)}),
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        if result.returncode != 0:
            raise CommandFailed(f"testing.add_agents: {result.stderr}")
        return [AgentCredentials.from_answer(answer) for answer in json.loads(result.stdout)]

    def serve(
        self, *arguments: str | int, port: int = 0, environment: Mapping[str, str] | None = None
    ) -> Server:
        """Start `forkflux serve ARGUMENTS` and wait until it listens; port 0 is any free one."""
        server = Server(self, [*map(str, arguments), "--port", str(port)], {**(environment or {})})
        self._servers.append(server)
        server.start()
        return server

    def close(self) -> None:
        """End every server."""
        while self._servers:
            self._servers.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Server:
    """A running `forkflux serve`; it keeps its address over `restart`, so that clients find it again."""

    def __init__(
        self, installation: Installation, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self.installation = installation
        self.arguments = list(arguments)
        self.environment = {**installation.environment, **environment}
        self.base_url = ""
        number = len(list(installation.folder.glob("serve-*.log"))) + 1
        self.log_file = installation.folder / f"serve-{number}.log"
        self._process: Leashed | None = None

    @property
    def pid(self) -> int:
        """The process id of `serve`, which is the process group's of its workers too."""
        return self._running.pid

    @property
    def _running(self) -> Leashed:
        assert self._process is not None, "the server was never started"
        return self._process

    @property
    def log(self) -> str:
        """Everything that the server has written so far."""
        return self.log_file.read_text(errors="replace")

    def start(self) -> None:
        """Start it and wait until it listens; raises CommandFailed with its log when it does not."""
        already = self.log_file.stat().st_size if self.log_file.exists() else 0
        self._process = Leashed(
            [self.installation.command, "serve", *self.arguments],
            output=self.log_file,
            cwd=self.installation.folder,
            environment=self.environment,
        )
        deadline = time.monotonic() + START_SECONDS
        while True:
            written = self.log_file.read_bytes()[already:].decode(errors="replace")
            if match := _LISTENS.search(written):
                self.base_url = match[1]
                break
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.close()
                raise CommandFailed(f"forkflux serve {' '.join(self.arguments)} did not come up:\n{written}")
            time.sleep(0.02)
        self.arguments[self.arguments.index("--port") + 1] = self.base_url.rpartition(":")[2]

    def stop(self) -> int:
        """End it in good order (SIGTERM); gives back its exit code."""
        return self._running.close()

    def kill(self) -> None:
        """SIGKILL to it and its workers at once, as a power cut would."""
        self._running.kill_group()

    def restart(self) -> None:
        """Stop it if it still runs, and start it again on the same address."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End it if it runs; safe to call again. Its log has told nobody a token."""
        if self._process is not None:
            self._process.close()
        if self.log_file.exists():
            assert not found_in(self.log), f"{self.log_file} holds a token"

    def client(self, agent: AgentCredentials | None = None, *, timeout: float = 30.0) -> httpx.Client:
        """An HTTP client of `/api/v1`, speaking as `agent`; the caller closes it."""
        return httpx.Client(
            base_url=f"{self.base_url}/api/v1",
            headers=agent.headers if agent else {},
            timeout=timeout,
            # Proxies and certificates of the developer's environment have no say on loopback.
            trust_env=False,
        )

    def cli(self, *arguments: str | int) -> Any:
        """As `Installation.cli`, against the server's database."""
        return self.installation.cli(*arguments)

    def agent(self, label: str, *roles: str) -> AgentCredentials:
        """As `Installation.agent`."""
        return self.installation.agent(label, *roles)

    def agents(self, labels: Sequence[str], *roles: str) -> list[AgentCredentials]:
        """As `Installation.agents`."""
        return self.installation.agents(labels, *roles)


def clean_environment() -> None:
    """Make the environment the same for every run: what a shell says to ForkFlux and of its terminal goes."""
    ours = (
        "FORKFLUX_",
        "SECRET_KEY",
        "DATABASE_URL",
        "DEBUG",
        "ALLOWED_HOSTS",
        "CSRF_TRUSTED_ORIGINS",
        "REDIS_URL",
        "NO_COLOR",
        "FORCE_COLOR",
    )
    for name in [name for name in os.environ if name.startswith(ours)]:
        if name != "FORKFLUX_SOAK":
            del os.environ[name]
    os.environ["TERM"] = "xterm"  # a dumb one has no width to draw tables in
