"""Stands between the event loop and Django's threads: a slow or greedy client costs no thread.

The body is read first, the queue is bounded, every request has a deadline. What the dispatcher refuses
itself has the API's error shape, `{"detail": "<sentence>"}`.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import structlog

from forkflux_site.request_body import (
    Body,
    BodyRules,
    BodyTooLarge,
    BodyTooSlow,
    ClientGone,
    MemoryBudget,
    Receive,
    Send,
    announced_length,
    read_body,
)
from forkflux_site.thread_pool import ThreadPool
from forkflux_site.wsgi_call import Answer, ApplicationFailed, Call, ClientStalled, Stream, WSGIApplication

log = structlog.get_logger(__name__)

# A request that is answered sooner needs nobody to watch its connection.
_WATCH_AFTER_SECONDS = 1.0
WATCHER = "forkflux: watch for the client's disconnect"
# How long, and how much, of a refused body is still read so that the client gets to see the refusal.
_DRAIN_SECONDS = 2.0
_DRAIN_BYTES = 16 * 1024 * 1024
# A longer answer goes out in pieces of this size, each of which the client has to take in time.
_PIECE_BYTES = 64 * 1024


class Overdue(Exception):
    """No thread answered before the request's deadline."""


class Refusal(Exception):
    """An answer that the dispatcher gives by itself."""

    def __init__(self, status: int, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.retry_after = retry_after

    def answer(self, *, close: bool = False) -> Answer:
        """The refusal as an answer; `close` announces that the connection ends with it."""
        headers = [(b"content-type", b"application/json")]
        if self.retry_after is not None:
            headers.append((b"retry-after", b"%d" % self.retry_after))
        if close:
            headers.append((b"connection", b"close"))
        return Answer(
            self.status, headers, json.dumps({"detail": self.detail}, separators=(",", ":")).encode()
        )


class Dispatcher:
    """An ASGI application for `http` that calls a WSGI application in a pool of lasting threads."""

    def __init__(
        self,
        application: WSGIApplication,
        *,
        threads: int,
        queue_max: int,
        deadline_seconds: float,
        body_rules: BodyRules,
        stall_seconds: float = 30.0,
        on_thread_exit: Callable[[], None] | None = None,
    ) -> None:
        self._pool = ThreadPool(application, size=threads, on_exit=on_thread_exit)
        self._capacity = threads + queue_max
        self._deadline_seconds = deadline_seconds
        self._body_rules = body_rules
        self._stall_seconds = stall_seconds
        self._budget = MemoryBudget()
        # Requests that wait for a thread or have one, also those whose client has its 503 already. Read
        # and written in the event loop only, as everything here is.
        self.pending = 0
        self._running = False
        self._closing = False
        self._idle = asyncio.Event()

    def start(self) -> None:
        """Start the threads, once; the first request does it where the server has no start-up event."""
        if not self._running:
            self._running = True
            self._pool.start()

    async def stop(self, *, timeout_seconds: float) -> None:
        """Refuse what comes from now on, let what is under way finish, and end the threads."""
        self._closing = True
        if not self._running:
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_seconds
        try:
            async with asyncio.timeout_at(deadline):
                while self.pending:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            log.warning("requests are still running at the end of the server", requests=self.pending)
        left = max(deadline - loop.time(), 1.0)
        stuck = await loop.run_in_executor(None, lambda: self._pool.stop(timeout_seconds=left))
        if stuck:
            log.warning("threads did not end with the server", threads=stuck)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        self.start()
        length, chunked = announced_length(scope["headers"])
        has_body = bool(length) or chunked
        unread = has_body
        try:
            # Before the body as well: there is no use in reading what cannot be answered anyway.
            self._check_room()
            body = await self._read(receive, length) if has_body else None
            unread = False
            call = self._submit(scope, body)
        except Refusal as refusal:
            await self._send(scope, send, refusal.answer(close=unread))
            if unread:
                await _drain(receive)
        except ClientGone:
            return
        else:
            await self._answer(call, receive, send)

    def _check_room(self) -> None:
        if self._closing:
            raise Refusal(503, "The server is about to stop. Repeat the request.", retry_after=1)
        if self.pending >= self._capacity:
            raise Refusal(503, "The server is busy. Repeat the request in a moment.", retry_after=1)

    async def _read(self, receive: Receive, length: int | None) -> Body:
        rules = self._body_rules
        try:
            return await read_body(receive, rules, self._budget, announced_bytes=length)
        except BodyTooLarge:
            raise Refusal(
                413,
                f"The request body is larger than {rules.max_bytes} bytes (FORKFLUX_BODY_MAX_BYTES). "
                "Send less, or put the data elsewhere and refer to it.",
            ) from None
        except BodyTooSlow:
            raise Refusal(
                408,
                f"The request body came too slowly: at least {rules.least_bytes_per_second} bytes a second "
                f"and at most {rules.total_seconds:g} seconds in all. Repeat the request.",
            ) from None

    def _submit(self, scope: dict[str, Any], body: Body | None) -> Call:
        try:
            self._check_room()
        except Refusal:
            if body is not None:
                body.release()
            raise
        call = Call(
            scope,
            body,
            loop=asyncio.get_running_loop(),
            finished=self._finished,
            stall_seconds=self._stall_seconds,
        )
        self.pending += 1
        self._pool.submit(call)
        return call

    def _finished(self, call: Call) -> None:
        """The thread is free again, which may be long after the client had its 503."""
        self.pending -= 1
        if call.body is not None:
            call.body.release()
        if not self.pending:
            self._idle.set()

    async def _answer(self, call: Call, receive: Receive, send: Send) -> None:
        try:
            answer = await self._outcome(call, receive)
        except Overdue:
            answer = _overdue(call, self._deadline_seconds).answer()
        except ClientGone:
            return
        except ApplicationFailed:
            answer = Refusal(500, "Internal Server Error").answer()
        finally:
            # Also when the server cancels this task: work that nobody waits for is not begun.
            call.abandoned = True
        await self._send(call.scope, send, answer)

    async def _outcome(self, call: Call, receive: Receive) -> Answer:
        """The thread's answer; raises Overdue, ClientGone or what the application raised."""
        loop = asyncio.get_running_loop()
        watcher: asyncio.Task[None] | None = None

        def watch() -> None:
            nonlocal watcher
            watcher = loop.create_task(_watch(call, receive), name=WATCHER)

        timers = (
            loop.call_later(self._deadline_seconds, _fail, call, Overdue()),
            loop.call_later(_WATCH_AFTER_SECONDS, watch),
        )
        try:
            return await call.answered
        finally:
            for timer in timers:
                timer.cancel()
            if watcher is not None:
                watcher.cancel()

    async def _send(self, scope: dict[str, Any], send: Send, answer: Answer) -> None:
        """Hand the answer to the server: in one piece if it is short, else as the client takes it."""
        status, headers = answer.status, answer.headers
        bodiless = scope["method"] == "HEAD" or status in (204, 304) or status < 200
        body = b"" if bodiless else answer.body
        if (
            answer.stream is None
            and not bodiless
            and not any(name == b"content-length" for name, _ in headers)
        ):
            headers = [*headers, (b"content-length", b"%d" % len(body))]
        try:
            await send({"type": "http.response.start", "status": status, "headers": headers})
            if answer.stream is not None and not bodiless:
                await self._send_stream(send, answer.stream)
            elif len(body) > _PIECE_BYTES:
                await self._send_pieces(send, body)
                body = b""
            await send({"type": "http.response.body", "body": body})
        except (ClientStalled, TimeoutError, OSError):
            # Returning with the answer unfinished makes the server close the connection: the client sees
            # that something is missing.
            return
        finally:
            if answer.stream is not None:
                answer.stream.abandon()

    async def _send_stream(self, send: Send, stream: Stream) -> None:
        while (chunk := await stream.take()) is not None:
            await self._send_pieces(send, chunk)

    async def _send_pieces(self, send: Send, body: bytes) -> None:
        for start in range(0, len(body), _PIECE_BYTES):
            piece = body[start : start + _PIECE_BYTES]
            # A slow client may take long in all, but one that takes nothing keeps no memory for ever.
            async with asyncio.timeout(self._stall_seconds):
                await send({"type": "http.response.body", "body": piece, "more_body": True})


def _fail(call: Call, error: Exception) -> None:
    if not call.answered.done():
        call.answered.set_exception(error)


async def _watch(call: Call, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    _fail(call, ClientGone())


def _overdue(call: Call, deadline_seconds: float) -> Refusal:
    if call.started:
        detail = (
            f"No answer within {deadline_seconds:g} seconds. The request may still take effect: repeat it "
            "with the same Idempotency-Key, or look before you repeat it."
        )
    else:
        detail = f"The server is busy: the request waited {deadline_seconds:g} seconds and was not begun."
    log.warning(
        "a request passed its deadline",
        method=call.scope["method"],
        path=call.scope["path"],
        begun=call.started,
    )
    return Refusal(503, detail, retry_after=5)


async def _drain(receive: Receive) -> None:
    """Read on for a moment after a refusal.

    Closing a connection with unread data in it resets it, and the reset can overtake the refusal on its
    way to a client that is still sending.
    """
    left = _DRAIN_BYTES
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return
