"""PostgreSQL goes away under a running server and comes back: 503 meanwhile, and all well after, by itself."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import pytest

from testing.installation import Installation, Server
from testing.postgres import PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.both_databases, pytest.mark.timeout(180)]

JOB: dict[str, Any] = {
    "parent_job_id": None,
    "summary": "Review the login form",
    "context_payload": {},
    "target_role_key": "qa",
    "constraints": [],
    "artifacts": [],
    "priority": 20,
}
ROUTES = [
    ("GET", "/mcp/agents/me", None),
    ("GET", "/mcp/agents/roles", None),
    ("GET", "/mcp/agents", None),
    ("GET", "/mcp/jobs", None),
    ("GET", "/mcp/jobs/1", None),
    ("GET", "/mcp/jobs/1/events", None),
    ("POST", "/mcp/jobs", JOB),
    ("POST", "/mcp/jobs/claim-next", {"target_role_key": "qa"}),
    ("POST", "/mcp/jobs/1/claim", None),
    ("POST", "/mcp/jobs/1/status", {"status": "completed"}),
    ("POST", "/mcp/agents/me/heartbeat", None),
]
RECOVERY_SECONDS = 30


class Line:
    """The line between server and database, which can be cut and mended: a small TCP proxy."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break every connection, and refuse new ones."""
        with self._lock:
            self._cut = True
            for end in self._open:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._cut = False

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                if self._cut:
                    here.close()
                    continue
                there = socket.create_connection(self._target)
                with self._lock:
                    self._open |= {here, there}
                for source, sink in ((here, there), (there, here)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while content := source.recv(65_536):
                sink.sendall(content)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def line(postgres_url: str) -> Iterator[Line]:
    address = urlsplit(postgres_url)
    made = Line((address.hostname or "", address.port or 5432))
    yield made
    made.close()


@pytest.fixture
def server(line: Line, postgres_url: str, tmp_path: Path) -> Iterator[Server]:
    address = urlsplit(postgres_url)
    login = address.netloc.rpartition("@")[0]
    url = urlunsplit(address._replace(netloc=f"{login}@127.0.0.1:{line.port}"))
    with Installation(database_url=url, folder=tmp_path) as installation:
        installation.init()
        installation.cli("role", "add", "qa")
        yield installation.serve()


def until(seconds: float, succeeded: Callable[[], bool]) -> None:
    """Ask again and again; fails when the answer is still no at the end."""
    deadline = time.monotonic() + seconds
    while not succeeded():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.1)


def test_every_route_is_503_while_postgresql_is_away_and_well_when_it_is_back(
    server: Server, line: Line
) -> None:
    worker = server.agent("QA", "qa")
    with server.client(worker) as client, server.client() as stranger:
        assert client.post("/mcp/jobs", json=JOB).status_code == 201
        assert stranger.get("/ready").json() == {"ready": True}
        line.cut()
        for _ in range(2):
            for method, path, body in ROUTES:
                answer = client.request(method, path, json=body)
                assert answer.status_code == 503, (path, answer.text)
                assert int(answer.headers["Retry-After"]) >= 1
                assert answer.json()["detail"]
        assert client.get("/mcp/jobs", headers={"Accept": "text/html"}).status_code == 503
        ready = stranger.get("/ready")
        assert (ready.status_code, ready.json()) == (503, {"ready": False})
        assert stranger.get("/health").status_code == 204
        assert stranger.get("/mcp/jobs").status_code == 401
        line.mend()
        until(RECOVERY_SECONDS, lambda: stranger.get("/ready").status_code == 200)
        # Every thread of every process has to find out for itself.
        answers = [client.get("/mcp/jobs").status_code for _ in range(60)]
        assert answers[20:] == [200] * 40
        assert client.post("/mcp/jobs/claim-next", json={"target_role_key": "qa"}).status_code == 201
        listed = client.get("/mcp/jobs?my_roles_only=false").json()
        assert [(job["id"], job["status"]) for job in listed] == [(1, "in_progress")]
    assert "Traceback" not in server.log


def test_sessions_that_the_database_ended_cost_no_request(
    server: Server, postgres_server: PostgresServer
) -> None:
    worker = server.agent("QA", "qa")
    with server.client(worker) as client, psycopg.connect(postgres_server.url, autocommit=True) as operator:
        ids = [client.post("/mcp/jobs", json=JOB).json()["job_id"] for _ in range(20)]
        operator.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'forkflux'"
        )
        # As after a restart of PostgreSQL: the connections are gone and nobody has noticed yet.
        answers: list[httpx.Response] = [client.get(f"/mcp/jobs/{job_id}") for job_id in ids]
        assert {answer.status_code for answer in answers} <= {200, 503}
        assert [answer.status_code for answer in answers][-5:] == [200] * 5
        taken = [client.post("/mcp/jobs/claim-next", json={"target_role_key": "qa"}) for _ in range(20)]
        assert sorted(answer.json()["id"] for answer in taken) == ids
    assert "Internal Server Error" not in server.log
