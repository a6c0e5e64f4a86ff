"""Drives a server with keep-alive connections from one thread, at so little cost that the server is measured.

HTTP is put together and taken apart by hand: a client library would use more of the shared CPUs than the
server's own work on a bare request.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

ANSWER_SECONDS = 60.0
"""How long an answer may take before the measurement is given up."""
_CHUNK = 262_144


class LoadFailed(RuntimeError):
    """The server did something that makes the figures meaningless."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The frame of an answer in a buffer: its status, where it ends, and whether the connection ends with it."""

    status: int
    end: int
    closes: bool


@dataclass
class Outcome:
    """What came back. `seconds` is the length of the window and `in_window` how many answers fell into it.

    A window that closed before the first answer came is taken to last until the last one.
    `latencies` are seconds from a request's sending to its whole answer, of all answers, also of those that
    came after the window had closed. `bodies` keeps the first text of each unexpected answer's status.
    """

    seconds: float = 0.0
    in_window: int = 0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    resets: int = 0
    bodies: dict[int, str] = field(default_factory=dict)

    @property
    def server_errors(self) -> int:
        return sum(count for status, count in self.statuses.items() if status >= 500)


class _Client:
    def __init__(self, address: tuple[str, int], request: bytes) -> None:
        self.address = address
        self.request = request
        self.received = b""
        self.sent_at = 0.0
        self.connection = self._connect()

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(self.address, timeout=ANSWER_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def reconnect(self) -> None:
        self.connection.close()
        self.received = b""
        self.connection = self._connect()

    def send(self) -> None:
        self.sent_at = time.perf_counter()
        self.connection.sendall(self.request)

    def receive(self) -> bool:
        """False when the server has closed the connection."""
        try:
            received = self.connection.recv(_CHUNK)
        except ConnectionError:
            return False
        self.received += received
        return bool(received)


def drive(
    address: tuple[str, int],
    requests: Sequence[bytes],
    *,
    expected: int,
    seconds: float,
    most: int | None = None,
) -> Outcome:
    """Send each of the requests again and again on a connection of its own, the next when the last is answered.

    Ends after `seconds`, or when `most` requests were sent, and waits for the answers that are still out.
    LoadFailed for a status below 500 that is not the expected one, for an answer that does not come, and when
    there was none at all; 5xx and closed connections are counted.
    """
    clients = [_Client(address, request) for request in requests]
    try:
        return _Drive(clients, expected=expected, seconds=seconds, most=most).run()
    finally:
        for client in clients:
            client.connection.close()


class _Drive:
    def __init__(self, clients: list[_Client], *, expected: int, seconds: float, most: int | None) -> None:
        self.clients = clients
        self.expected = expected
        self.seconds = seconds
        self.left = most
        self.outcome = Outcome()
        self.waiting = 0
        self.deadline = 0.0

    def run(self) -> Outcome:
        with selectors.DefaultSelector() as selector:
            self.selector = selector
            begun = time.perf_counter()
            self.deadline = begun + self.seconds
            for client in self.clients:
                selector.register(client.connection, selectors.EVENT_READ, client)
                self._send(client)
            while self.waiting:
                ready = selector.select(ANSWER_SECONDS)
                if not ready:
                    raise LoadFailed(f"no answer for {ANSWER_SECONDS:g} s to {self.waiting} requests")
                for key, _ in ready:
                    self._read(key.data)
            now = time.perf_counter()
        if not self.outcome.latencies:
            raise LoadFailed(f"nothing was answered; connections closed: {self.outcome.resets}")
        if self.outcome.in_window == 0:
            self.outcome.in_window, self.deadline = len(self.outcome.latencies), now
        self.outcome.seconds = min(now, self.deadline) - begun
        return self.outcome

    def _send(self, client: _Client) -> None:
        while self.left != 0 and time.perf_counter() < self.deadline:
            try:
                client.send()
            except ConnectionError:
                self._lost(client)
                continue
            if self.left is not None:
                self.left -= 1
            self.waiting += 1
            return

    def _read(self, client: _Client) -> None:
        if not client.receive():
            self.waiting -= 1
            self._lost(client)
            self._send(client)
            return
        answer = parse(client.received)
        if answer is None:
            return
        now = time.perf_counter()
        self.waiting -= 1
        self.outcome.latencies.append(now - client.sent_at)
        self.outcome.statuses[answer.status] += 1
        self.outcome.in_window += now <= self.deadline
        if answer.status != self.expected:
            self._unexpected(answer, client)
        if answer.closes:
            self._again(client)
        else:
            client.received = client.received[answer.end :]
        self._send(client)

    def _unexpected(self, answer: Answer, client: _Client) -> None:
        text = client.received[: answer.end].decode(errors="replace")
        if answer.status < 500:
            raise LoadFailed(f"{_first_line(client.request)} was answered with {text[:1000]}")
        self.outcome.bodies.setdefault(answer.status, text[:1000])

    def _lost(self, client: _Client) -> None:
        self.outcome.resets += 1
        self._again(client)

    def _again(self, client: _Client) -> None:
        self.selector.unregister(client.connection)
        try:
            client.reconnect()
        except OSError as error:
            raise LoadFailed(
                f"the server at {client.address} takes no connection any more: {error}"
            ) from error
        self.selector.register(client.connection, selectors.EVENT_READ, client)


def parse(received: bytes) -> Answer | None:
    """The first answer in the buffer, None while it is incomplete. LoadFailed when it has no length."""
    head_end = received.find(b"\r\n\r\n")
    if head_end < 0:
        return None
    head = received[:head_end].lower()
    status = int(head[9:12])
    closes = b"\r\nconnection: close" in head
    begin = head_end + 4
    if status in (204, 304):
        return Answer(status, begin, closes)
    _, found, rest = head.partition(b"\r\ncontent-length:")
    if found:
        end = begin + int(rest.split(b"\r\n", 1)[0])
        return Answer(status, end, closes) if len(received) >= end else None
    if b"\r\ntransfer-encoding: chunked" in head:
        chunked_end = _end_of_chunks(received, begin)
        return None if chunked_end is None else Answer(status, chunked_end, closes)
    raise LoadFailed(f"an answer without a length: {received[:200]!r}")


def _end_of_chunks(received: bytes, at: int) -> int | None:
    while True:
        line_end = received.find(b"\r\n", at)
        if line_end < 0:
            return None
        size = int(received[at:line_end].partition(b";")[0], 16)
        at = line_end + 2 + size + 2
        if len(received) < at:
            return None
        if size == 0:
            return at


def request(
    method: str, path: str, *, host: str, token: str | None = None, body: bytes | None = None
) -> bytes:
    """A request as it goes over the wire, on a connection that stays open."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Accept: application/json"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def _first_line(text: bytes) -> str:
    return text.partition(b"\r\n")[0].decode(errors="replace")
