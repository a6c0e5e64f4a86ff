"""Clients that are slow, greedy or gone cost the server no thread, and are told so."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from forkflux_site.tests.dispatching.small_client import SmallServer, read_all
from forkflux_site.tests.dispatching.small_server import BODY_MAX_BYTES, LONG_ANSWER_BYTES, QUEUE_MAX, THREADS

pytestmark = pytest.mark.sqlite_only  # no database takes part; once is enough


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


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/whole", "/long"])
def test_a_client_that_reads_slowly_but_steadily_gets_everything(
    start: Callable[..., SmallServer], path: str
) -> None:
    server = start(TEST_STALL_SECONDS="1")
    connection = server.send(f"GET {path} HTTP/1.1", "Connection: close", buffer_bytes=4096)
    started, received = time.monotonic(), 0
    with contextlib.closing(connection):
        while chunk := connection.recv(128 * 1024):
            received += len(chunk)
            time.sleep(len(chunk) / LONG_ANSWER_BYTES * 3)
    assert received > LONG_ANSWER_BYTES
    assert time.monotonic() - started > 2.5


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/whole", "/long"])
def test_a_client_that_takes_nothing_is_given_up(start: Callable[..., SmallServer], path: str) -> None:
    server = start(TEST_STALL_SECONDS="0.5")
    before = server.control()["tasks"]
    connection = server.send(f"GET {path} HTTP/1.1", buffer_bytes=4096)
    server.wait_for(calls=[path], pending=0, tasks=before)
    assert len(read_all(connection)) < LONG_ANSWER_BYTES
    assert "Error in ASGI application" not in server.log.read_text()
