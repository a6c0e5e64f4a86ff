"""The dispatcher behind the real server: bad clients cost no thread, and good ones get what WSGI promises."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from forkflux_site.tests.small_server import BODY_MAX_BYTES, LONG_ANSWER_BYTES, QUEUE_MAX, THREADS
from forkflux_site.wsgi_call import environ_of
from testing.installation import ROOT
from testing.leash import Leashed

pytestmark = pytest.mark.sqlite_only  # no database takes part; once is enough


class SmallServer:
    """A running `small_server` and the means to speak to it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.log = folder / "server.log"
        self.process = Leashed(
            [sys.executable, "-m", "forkflux_site.tests.small_server"],
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

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def send(self, *lines: str, body: bytes = b"") -> socket.socket:
        connection = self.connect()
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


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., SmallServer]]:
    with contextlib.ExitStack() as servers:

        def make(**environment: str) -> SmallServer:
            server = SmallServer(tmp_path, environment)
            servers.callback(server.close)
            return server

        yield make


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallServer]:
    server = SmallServer(tmp_path_factory.mktemp("small"), {})
    yield server
    server.close()


@pytest.fixture(autouse=True)
def nothing_is_left_over(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "server" in request.fixturenames:
        small: SmallServer = request.getfixturevalue("server")
        small.control("open")
        small.wait_for(pending=0, body_bytes=0)
        small.control("close")


def environ_seen(response: httpx.Response) -> dict[str, str]:
    assert response.status_code == 200, response.text
    seen: dict[str, str] = response.json()["environ"]
    return seen


# --- Clients that are slow, greedy or gone --------------------------------------------------------


@pytest.mark.slow
def test_clients_that_stall_in_their_body_hold_no_thread_and_are_told_to_go(server: SmallServer) -> None:
    stalled = [
        server.send("POST /stalled HTTP/1.1", "Content-Length: 1000", body=b"a")
        for _ in range(4 * (THREADS + QUEUE_MAX))
    ]
    assert server.client.get("/quick").status_code == 200
    for connection in stalled:
        head, _, body = read_all(connection).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in head.lower()
        assert "too slowly" in json.loads(body)["detail"]
    assert "/stalled" not in server.control()["calls"]


@pytest.mark.slow
def test_a_body_that_drips_fast_enough_still_ends_at_the_total_time(
    server: SmallServer,
) -> None:
    connection = server.send("POST /dripping HTTP/1.1", f"Content-Length: {BODY_MAX_BYTES}", body=b"a" * 1024)
    started = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(read_all, connection)
        while not answer.done() and time.monotonic() < started + 15:
            with contextlib.suppress(OSError):
                connection.sendall(b"a" * 400)
            time.sleep(0.1)
        assert answer.result().startswith(b"HTTP/1.1 408 ")
    assert 2.5 < time.monotonic() - started < 10


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
def test_a_body_above_the_bound_is_refused_and_the_client_gets_to_read_it(
    server: SmallServer, chunked: bool
) -> None:
    sent = b"z" * (BODY_MAX_BYTES * 3)
    response = httpx.post(
        f"{server.url}/large", content=iter([sent]) if chunked else sent, trust_env=False, timeout=20
    )
    assert response.status_code == 413
    assert f"{BODY_MAX_BYTES} bytes" in response.json()["detail"]
    assert response.headers["connection"] == "close"
    assert "/large" not in server.control()["calls"]


def test_a_client_that_sends_on_after_a_refusal_is_not_reset_before_it_reads_it(server: SmallServer) -> None:
    connection = server.send("POST /large HTTP/1.1", f"Content-Length: {8 << 20}")
    # More than the buffers between both ends hold: without a reader at the other end this is a reset.
    connection.sendall(b"z" * (8 << 20))
    assert read_all(connection).startswith(b"HTTP/1.1 413 ")


def test_who_waits_for_100_continue_is_refused_before_sending(server: SmallServer) -> None:
    connection = server.send(
        "POST /large HTTP/1.1", "Expect: 100-continue", f"Content-Length: {BODY_MAX_BYTES + 1}"
    )
    assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")
    connection.close()


def test_who_waits_for_100_continue_gets_it_and_then_the_answer(server: SmallServer) -> None:
    connection = server.send(
        "POST /echo HTTP/1.1", "Expect: 100-continue", "Content-Length: 3", "Connection: close"
    )
    assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(b"abc")
    assert read_all(connection).startswith(b"HTTP/1.1 200 ")


def test_a_truncated_body_reaches_no_thread_and_leaves_nothing(server: SmallServer) -> None:
    connection = server.send("POST /truncated HTTP/1.1", "Content-Length: 100000", body=b"a" * 60_000)
    server.wait_for(body_bytes=60_000)
    connection.close()
    server.wait_for(body_bytes=0)
    assert "/truncated" not in server.control()["calls"]


def test_beyond_the_queue_clients_are_told_to_come_back(
    server: SmallServer,
) -> None:
    with ThreadPoolExecutor(THREADS + QUEUE_MAX) as pool:
        held = [
            pool.submit(httpx.get, f"{server.url}/gated", timeout=20, trust_env=False)
            for _ in range(THREADS + QUEUE_MAX)
        ]
        server.wait_for(pending=THREADS + QUEUE_MAX)
        for refused in (server.client.get("/more"), server.client.post("/more", content=b"abc")):
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert "busy" in refused.json()["detail"]
        server.control("open")
        assert [answer.result().status_code for answer in held] == [200] * len(held)
    assert server.client.get("/after").status_code == 200
    assert "/more" not in server.control()["calls"]


def test_a_request_whose_client_left_while_it_waited_is_not_begun(server: SmallServer) -> None:
    held = [server.send("GET /gated HTTP/1.1") for _ in range(THREADS)]
    server.wait_for(pending=THREADS)
    left = server.send("POST /left HTTP/1.1", "Content-Length: 2", body=b"{}")
    server.wait_for(pending=THREADS + 1, watched=THREADS + 1)
    left.close()
    server.wait_for(watched=THREADS)
    server.control("open")
    server.wait_for(pending=0)
    assert "/left" not in server.control()["calls"]
    for connection in held:
        connection.close()


@pytest.mark.slow
def test_no_answer_by_the_deadline_is_a_503_that_says_what_may_have_happened(
    start: Callable[..., SmallServer],
) -> None:
    server = start(TEST_DEADLINE_SECONDS="0.5")
    with ThreadPoolExecutor(THREADS + 1) as pool:
        answers = list(
            pool.map(
                lambda path: httpx.post(f"{server.url}{path}", timeout=20, trust_env=False),
                ["/gated"] * THREADS,
            )
        )
        waiting = httpx.get(f"{server.url}/waiting", timeout=20, trust_env=False)
    for answer in answers:
        assert answer.status_code == 503
        assert "may still take effect" in answer.json()["detail"]
        assert int(answer.headers["retry-after"]) > 0
    assert waiting.status_code == 503
    assert "was not begun" in waiting.json()["detail"]
    # The threads are still at it, and counted; then they serve on.
    assert server.control()["pending"] == THREADS + 1
    server.control("open")
    server.wait_for(pending=0)
    assert server.client.get("/after").status_code == 200
    assert "/waiting" not in server.control()["calls"]
    assert "a request passed its deadline" in server.log.read_text()


def test_a_client_that_does_not_read_a_long_answer_holds_no_thread(server: SmallServer) -> None:
    idle_readers = [server.send("GET /long HTTP/1.1") for _ in range(THREADS)]
    server.wait_for(pending=0)
    assert server.control()["calls"].count("/long") >= THREADS
    for connection in idle_readers:
        head, _, body = _read_response(connection).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert len(body) == LONG_ANSWER_BYTES
        connection.close()


def _read_response(connection: socket.socket) -> bytes:
    received = b""
    while len(received) < LONG_ANSWER_BYTES:
        received += connection.recv(1 << 20)
    return received


# --- What WSGI promises ---------------------------------------------------------------------------


def test_the_environment_is_what_wsgi_wants(server: SmallServer) -> None:
    seen = environ_seen(
        server.client.post(
            "/a%20b/%C3%A9/%FF?x=%201&y",
            content=b"{}",
            headers=[
                (b"X-Tag", b"one"),
                (b"x-tag", b"two"),
                (b"Cookie", b"a=1"),
                (b"X_Real_Ip", b"10.9.9.9"),
                (b"X-Forwarded-For", b"10.9.9.9"),
                (b"X-Forwarded-Proto", b"https"),
                (b"Content-Type", b"application/json"),
                (b"X-Latin", b"\xe9"),
            ],
        )
    )
    assert seen["PATH_INFO"].encode("latin-1") == "/a b/é/".encode() + b"\xff"
    assert seen["QUERY_STRING"] == "x=%201&y"
    assert seen["HTTP_X_TAG"] == "one,two"
    assert seen["HTTP_X_LATIN"] == "\xe9"
    assert seen["CONTENT_TYPE"] == "application/json"
    assert seen["CONTENT_LENGTH"] == "2"
    assert seen["REMOTE_ADDR"] == "127.0.0.1"
    assert seen["wsgi.url_scheme"] == "http"
    assert seen["HTTP_X_FORWARDED_PROTO"] == "https"
    assert "HTTP_X_REAL_IP" not in seen
    assert seen["SERVER_PORT"] == str(server.port)


def test_names_with_underscores_do_not_slip_past_a_proxy_whatever_the_server_lets_through() -> None:
    scope = {
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "http_version": "1.1",
        "headers": [(b"x_real_ip", b"10.9.9.9"), (b"cookie", b"a=1"), (b"cookie", b"b=2")],
    }
    environ = environ_of(scope, None)
    assert "HTTP_X_REAL_IP" not in environ
    assert environ["HTTP_COOKIE"] == "a=1; b=2"
    assert environ["CONTENT_LENGTH"] == "0"
    assert environ["wsgi.input"].read() == b""


def test_a_mounted_site_has_its_prefix_apart_from_the_path() -> None:
    scope = {
        "method": "GET", "path": "/bus/jobs", "raw_path": b"/bus/jobs", "root_path": "/bus",
        "query_string": b"", "http_version": "1.1", "headers": [], "client": ("192.0.2.1", 5),
    }  # fmt: skip
    environ = environ_of(scope, None)
    assert (environ["SCRIPT_NAME"], environ["PATH_INFO"]) == ("/bus", "/jobs")
    assert environ["REMOTE_ADDR"] == "192.0.2.1"


def test_a_request_line_with_scheme_and_host_has_the_path_all_the_same(server: SmallServer) -> None:
    connection = server.send("GET http://localhost/proxied?q=1 HTTP/1.1", "Connection: close")
    seen = json.loads(read_all(connection).partition(b"\r\n\r\n")[2])["environ"]
    assert (seen["PATH_INFO"], seen["QUERY_STRING"]) == ("/proxied", "q=1")


@pytest.mark.parametrize("size", [0, 10, 200_000, 300_000, BODY_MAX_BYTES])
@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
def test_a_body_arrives_whole_in_memory_or_on_disk(server: SmallServer, size: int, chunked: bool) -> None:
    sent = bytes(number % 251 for number in range(size))
    pieces = (sent[at : at + 10_000] for at in range(0, size, 10_000))
    response = server.client.post("/echo", content=pieces if chunked else sent)
    assert base64.b64decode(response.json()["body"]) == sent
    assert environ_seen(response)["CONTENT_LENGTH"] == str(size)
    assert "HTTP_TRANSFER_ENCODING" not in environ_seen(response)


def test_head_has_the_headers_and_no_body(server: SmallServer) -> None:
    connection = server.send("HEAD /echo HTTP/1.1", "Connection: close")
    head, _, body = read_all(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"content-length: " in head.lower()
    assert body == b""
    assert "no-body response" not in server.log.read_text()


def test_the_parts_of_a_stream_come_when_they_are_made(server: SmallServer) -> None:
    with server.client.stream("GET", "/parts") as response:
        parts = response.iter_raw()
        assert next(parts) == b"first,"
        httpx.get(f"{server.url}/control/open", trust_env=False)
        assert b"".join(parts) == b"second"


def test_a_stream_that_breaks_off_does_not_look_whole(server: SmallServer) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
        server.client.get("/broken")


def test_an_error_in_the_application_is_a_500_in_the_apis_shape_and_the_thread_lives(
    server: SmallServer,
) -> None:
    for _ in range(2 * THREADS):
        response = server.client.get("/boom")
        assert response.status_code == 500
        assert response.json() == {"detail": "Internal Server Error"}
    assert "planted" in server.log.read_text()
    for _ in range(20):
        assert server.client.get("/fine").status_code == 200
    assert server.control()["threads"] <= THREADS


# --- The process ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_end_waits_for_what_is_under_way_and_not_for_idle_connections(
    start: Callable[..., SmallServer], tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    server = start(TEST_FIFO=str(fifo))
    idle = server.send("GET /idle HTTP/1.1")
    assert idle.recv(65536).startswith(b"HTTP/1.1 200 ")
    under_way = server.send("GET /fifo HTTP/1.1")
    server.wait_for(pending=1)
    server.process.send_signal(signal.SIGTERM)
    # Closed although the process cannot end yet; so is the way in for new ones.
    assert read_all(idle) == b""
    with pytest.raises(OSError, match="refused"):
        until(lambda: server.connect().close(), "the refusal")
    fifo.write_text("go on")
    answer = read_all(under_way)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"go on" in base64.b64decode(json.loads(answer.partition(b"\r\n\r\n")[2])["body"])
    assert server.process.wait(10) == 0


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_without_a_second_announcement(
    start: Callable[..., SmallServer],
) -> None:
    server = start()
    first = server.control()["pid"]
    os.kill(first, signal.SIGKILL)

    def second() -> Any:
        with contextlib.suppress(httpx.TransportError):
            return server.control()["pid"] != first
        return None

    until(second, "another worker")
    assert server.log.read_text().count("listens on") == 1


@pytest.mark.slow
def test_the_workers_end_with_their_master_even_if_that_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with log.open("w") as output:
        master = subprocess.Popen(
            [sys.executable, "-m", "forkflux_site.tests.small_server"],
            cwd=ROOT, stdout=output, stderr=output, env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
    try:
        url = until(lambda: re.search(r"listens on (\S+)", log.read_text()), "the address")[1]
        worker = httpx.get(f"{url}/control/look", trust_env=False).json()["pid"]
        assert worker != master.pid
    finally:
        master.kill()
        master.wait()
    until(lambda: not _runs(worker), "the worker's end", seconds=10)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    # What nobody has waited for yet has ended all the same.
    return state != "Z"
