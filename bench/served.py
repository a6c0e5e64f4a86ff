"""A served ForkFlux to measure: its processes, its board, and requests as its agents send them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from bench.filling import Board
from bench.load import request
from bench.processes import CpuTimes, read_cpu
from bench.seeding import CLAIMED_ROLES, PUBLICATION, PUBLISHED_ROLE, Seeded
from testing.installation import ROOT, CommandFailed, Installation, Server
from testing.postgres import PostgresServer

Database = Literal["postgresql", "sqlite"]
SEED_SECONDS = 120.0
ONE_ROLE = CLAIMED_ROLES[:1]


@dataclass(frozen=True)
class Served:
    """One server with its database. Requests come as one for each of so many clients."""

    database: Database
    workers: int
    server: Server
    board: Board
    seeded: Seeded
    database_root: int | None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the server."""
        parts = urlsplit(self.server.base_url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def cpu(self) -> CpuTimes:
        """CPU that the server, its database and this process have used so far."""
        return read_cpu(server=self.server.pid, database=self.database_root)

    def role_id(self, key: str) -> int:
        """The id of one of the seeded roles."""
        return self.seeded.roles[key]

    def health(self, clients: int) -> list[bytes]:
        """The bare DRF view: no credential, no database."""
        return [self._request("GET", "/health") for _ in range(clients)]

    def me(self, clients: int) -> list[bytes]:
        """The bare authenticated DRF view."""
        return [self._request("GET", "/mcp/agents/me", token=token) for token in self.seeded.others[:clients]]

    def lists(self, clients: int) -> list[bytes]:
        """The first page of what is published in the agent's roles: 50 jobs."""
        path = "/mcp/jobs?status=published"
        return [self._request("GET", path, token=token) for token in self.seeded.others[:clients]]

    def publishes(self, clients: int) -> list[bytes]:
        """A new job with about 500 bytes of context."""
        body = json.dumps(PUBLICATION | {"target_role_key": PUBLISHED_ROLE}).encode()
        return [
            self._request("POST", "/mcp/jobs", token=token, body=body)
            for token in self.seeded.others[:clients]
        ]

    def claims(self, clients: int, roles: tuple[str, ...] = ONE_ROLE) -> list[bytes]:
        """claim-next of one role, or of several."""
        asked = {"target_role_key": roles[0]} if len(roles) == 1 else {"target_role_keys": list(roles)}
        body = json.dumps(asked).encode()
        return [
            self._request("POST", "/mcp/jobs/claim-next", token=token, body=body)
            for token in self.seeded.claimers[:clients]
        ]

    def _request(
        self, method: str, path: str, *, token: str | None = None, body: bytes | None = None
    ) -> bytes:
        host, port = self.address
        return request(method, f"/api/v1{path}", host=f"{host}:{port}", token=token, body=body)


@contextlib.contextmanager
def serving(
    database: Database,
    *,
    folder: Path,
    postgres: PostgresServer | None,
    workers: int,
    agents: int,
) -> Iterator[Served]:
    """A new database, migrated and seeded, and a server on it; both gone at the end of the block.

    FORKFLUX_* of this process's environment are handed on to the server. CommandFailed when it does not start.
    """
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        if database == "sqlite":
            url = f"sqlite:///{folder}/forkflux.db"
        else:
            assert postgres is not None
            url = stack.enter_context(postgres.database())
        installation = stack.enter_context(
            Installation(database_url=url, folder=folder, environment=forkflux_settings())
        )
        server = installation.serve("--workers", workers)
        seeded = _seed(installation, agents)
        masters = {seeded.roles[key]: job for key, job in seeded.jobs.items()}
        board = stack.enter_context(contextlib.closing(Board(url, masters)))
        yield Served(database, workers, server, board, seeded, board.server_root())


def forkflux_settings() -> dict[str, str]:
    """What the environment says to ForkFlux; it holds for the measured servers."""
    return {name: value for name, value in os.environ.items() if name.startswith("FORKFLUX_")}


def _seed(installation: Installation, agents: int) -> Seeded:
    result = subprocess.run(
        [sys.executable, "-m", "bench.seeding"],
        cwd=installation.folder,
        env={**installation.environment, "PYTHONPATH": str(ROOT)},
        input=json.dumps({"agents": agents}),
        capture_output=True,
        text=True,
        timeout=SEED_SECONDS,
        check=False,
    )
    if result.returncode != 0:
        raise CommandFailed(f"bench.seeding: {result.stderr}")
    return Seeded(**json.loads(result.stdout))
