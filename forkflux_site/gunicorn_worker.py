"""Gunicorn's ASGI worker, with an end that waits for requests but not for idle connections."""

import asyncio
import ctypes
import json
import os
import signal
import sys
from http import HTTPStatus
from typing import Any

from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers import gasgi

# How long a new connection may take to send its first head; gunicorn itself sets no limit.
_HEAD_SECONDS = 30.0
_PR_SET_PDEATHSIG = 1


class WatchedConnection(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """A connection that the worker knows about, so that it can be closed while nothing happens on it."""

    def connection_made(self, transport: Any) -> None:
        self._close_announced = False
        super().connection_made(transport)
        self.worker.connections.add(self)
        self._head_timer = self.worker.loop.call_later(_HEAD_SECONDS, self._head_is_late)

    def _send_response_start(
        self, status: int, headers: list[tuple[bytes, bytes]], request: Any, close: bool = False
    ) -> None:
        self._close_announced = (b"connection", b"close") in headers
        super()._send_response_start(status, headers, request, close=close)

    def _send_error_response(
        self, status: int, message: str, extra_headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        # What gunicorn refuses before the application sees it (a head that is too long, bad framing) has
        # the API's error shape too. Its messages are often no more than the part that it did not like.
        detail = f"The request is not valid HTTP ({message[:200]}): check its first line and its headers."
        body = json.dumps({"detail": detail}, separators=(",", ":")).encode()
        head = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in extra_headers),
            "Connection: close",
        ]
        self._safe_write("\r\n".join([*head, "", ""]).encode("latin-1") + body)

    def _arm_keepalive_timer(self) -> None:
        # Gunicorn passes the application's announcement on, but would go on to wait for a next request.
        if self._close_announced:
            self.worker.loop.call_soon(self._keepalive_timeout)
        else:
            super()._arm_keepalive_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_timer.cancel()
        self.worker.connections.discard(self)
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Between two requests, or before the first: nobody waits for an answer."""
        return bool(self._awaiting_request) and not self._finishing_calls

    def close_idle(self) -> None:
        """Close the connection if nothing happens on it."""
        if self.is_idle:
            self._keepalive_timeout()

    def _head_is_late(self) -> None:
        if self.req_count <= 1:
            self.close_idle()


class Worker(gasgi.ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """One process of `forkflux serve`; it ends at once when gunicorn's own process has ended."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connections: set[WatchedConnection] = set()
        self._announced = False
        self._serving: asyncio.Task[Any] | None = None

    def init_process(self) -> None:
        _end_with_parent(self.ppid)
        # The worker's serving loop makes its connections from this name in its module.
        gasgi.ASGIProtocol = WatchedConnection
        super().init_process()

    def notify(self) -> None:
        # The first sign of life that the serving loop gives comes when its sockets accept connections.
        if not self._announced:
            self._announced = True
            _announce()
        super().notify()

    def handle_exit_signal(self) -> None:
        was_serving = self.alive and self._announced
        super().handle_exit_signal()
        if was_serving and self._serving is not None:
            # The serving loop looks once a second whether it shall end; this ends its pause.
            self._serving.cancel()

    async def _serve(self) -> None:
        self._serving = asyncio.current_task()
        await super()._serve()

    async def _shutdown(self) -> None:
        if os.getppid() != self.ppid:
            # Nobody would restart or end this process any more, and a new server wants its place.
            self._quick_shutdown = True
        for connection in list(self.connections):
            connection.close_idle()
        await super()._shutdown()


def _end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when gunicorn's own process ends, however that happens.

    Elsewhere than on Linux the worker sees it by itself within a second.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the call
            sys.exit(0)


def _announce() -> None:
    """Print the server's address, once for all workers and however often one is replaced.

    `serve` leaves one byte in a pipe; the process that gets the byte prints the line.
    """
    fd = os.environ.get("FORKFLUX_SERVE_ANNOUNCE_FD")
    if fd is None:
        return
    try:
        first = os.read(int(fd), 1)
    except BlockingIOError:
        return
    if first:
        sys.stdout.write(f"ForkFlux listens on {os.environ['FORKFLUX_SERVE_URL']}\n")
        sys.stdout.flush()
