"""The load's own HTTP: where an answer ends, and what is counted when a server misbehaves."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from bench.load import Answer, LoadFailed, drive, parse, request

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
EMPTY = b"HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"


@pytest.mark.parametrize("whole", [OK, EMPTY, CHUNKED], ids=["length", "no content", "chunks"])
def test_an_answer_is_incomplete_until_its_last_byte_and_ends_there(whole):
    assert [parse(whole[:length]) for length in range(len(whole))] == [None] * len(whole)
    answer = parse(whole + OK)
    assert answer is not None
    assert answer.end == len(whole)


def test_the_status_and_the_end_of_the_connection_are_read():
    closing = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    assert parse(closing) == Answer(503, len(closing), closes=True)


def test_an_answer_without_a_length_is_refused():
    with pytest.raises(LoadFailed, match="without a length"):
        parse(b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n")


def test_a_request_names_host_token_and_the_length_of_its_body():
    text = request("POST", "/a", host="h:1", token="t", body=b"{}").decode()
    head, _, body = text.partition("\r\n\r\n")
    assert head.splitlines()[0] == "POST /a HTTP/1.1"
    assert {"Host: h:1", "Authorization: Bearer t", "Content-Length: 2"} <= set(head.splitlines())
    assert body == "{}"


Script = Callable[[socket.socket, int], None]


@contextlib.contextmanager
def server(script: Script) -> Iterator[tuple[str, int]]:
    """Runs `script(connection, number)` for each connection, in a thread of its own."""
    threads: list[threading.Thread] = []

    def accept() -> None:
        number = 0
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=script, args=(connection, number)))
            threads[-1].start()
            number += 1

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield listener.getsockname()
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
    for thread in threads:
        thread.join()


def answering(*answers: bytes) -> Script:
    """Answers each request of a connection with the next of `answers`, then with OK."""

    def script(connection: socket.socket, _: int) -> None:
        with connection:
            left = list(answers)
            while connection.recv(65_536):
                connection.sendall(left.pop(0) if left else OK)

    return script


GET = request("GET", "/", host="127.0.0.1")


def test_every_client_sends_its_next_request_when_the_last_is_answered():
    with server(answering()) as address:
        outcome = drive(address, [GET] * 3, expected=200, seconds=30, most=31)
    assert outcome.statuses == {200: 31}
    assert (outcome.in_window, len(outcome.latencies), outcome.resets) == (31, 31, 0)


def test_the_window_closes_in_time():
    with server(answering()) as address:
        outcome = drive(address, [GET], expected=200, seconds=0.5)
    assert outcome.seconds == pytest.approx(0.5, abs=0.05)
    assert 0 < outcome.in_window <= len(outcome.latencies) <= outcome.in_window + 1


def test_errors_of_the_server_are_counted_and_told():
    unavailable = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"
    with server(answering(OK, unavailable)) as address:
        outcome = drive(address, [GET], expected=200, seconds=30, most=3)
    assert outcome.statuses == {200: 2, 503: 1}
    assert outcome.server_errors == 1
    assert outcome.bodies[503].endswith("busy")


def test_a_refusal_ends_the_measurement_with_its_words():
    refused = b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nempty"
    with server(answering(refused)) as address, pytest.raises(LoadFailed, match=r"(?s)GET / .*empty"):
        drive(address, [GET], expected=200, seconds=30, most=3)


def test_a_connection_that_the_server_drops_is_counted_and_made_anew():
    def drop_the_first(connection: socket.socket, number: int) -> None:
        with connection:
            while connection.recv(65_536):
                if number == 0:
                    return
                connection.sendall(OK)

    with server(drop_the_first) as address:
        outcome = drive(address, [GET], expected=200, seconds=30, most=3)
    # The dropped request was sent and is not answered.
    assert (outcome.resets, outcome.statuses) == (1, {200: 2})


def test_a_connection_that_ends_with_its_answer_is_no_error():
    def answer_once(connection: socket.socket, _: int) -> None:
        with connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")

    with server(answer_once) as address:
        outcome = drive(address, [GET], expected=200, seconds=30, most=3)
    assert (outcome.resets, outcome.statuses) == (0, {200: 3})


def test_a_window_that_closes_before_the_first_answer_lasts_until_it_comes():
    answer_now = threading.Event()

    def late(connection: socket.socket, _: int) -> None:
        with connection:
            while connection.recv(65_536):
                assert answer_now.wait(30)
                connection.sendall(OK)

    with server(late) as address:
        threading.Timer(0.2, answer_now.set).start()
        outcome = drive(address, [GET], expected=200, seconds=0.05)
    assert outcome.in_window == len(outcome.latencies) == 1
    assert outcome.seconds >= outcome.latencies[0] > 0.05


def test_a_server_that_answers_nothing_gives_no_figure():
    def drop(connection: socket.socket, _: int) -> None:
        with connection:
            connection.recv(65_536)

    with server(drop) as address, pytest.raises(LoadFailed, match="nothing was answered"):
        drive(address, [GET], expected=200, seconds=0.05)
