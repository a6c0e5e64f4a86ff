"""Takes a request's body off the network before a thread is given to the request.

A client that sends the head and then a byte a minute costs a little memory, never a thread.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class BodyTooLarge(Exception):
    """The body is longer than the installation accepts."""


class BodyTooSlow(Exception):
    """The body came slower than the least rate, or took longer than any body may."""


class ClientGone(Exception):
    """The client closed the connection; nobody is left to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyRules:
    """How much a client may send and how long it may take for it.

    A body has `grace_seconds`, plus one second for each `least_bytes_per_second` that have come, but
    never more than `total_seconds`. Up to `memory_bytes` of it stay in memory, the rest goes to disk.
    """

    max_bytes: int
    grace_seconds: float = 5.0
    least_bytes_per_second: int = 1_024
    total_seconds: float = 60.0
    memory_bytes: int = 256 * 1024


@dataclass(slots=True)
class MemoryBudget:
    """What all bodies of a process together may hold in memory; beyond it they go to disk at once."""

    limit_bytes: int = 64 * 1024 * 1024
    used_bytes: int = 0


@dataclass(slots=True)
class Body:
    """A whole body: a readable file at its start, and its length in bytes."""

    file: IO[bytes]
    length: int
    budget: MemoryBudget | None = field(default=None, repr=False)
    reserved_bytes: int = 0

    def release(self) -> None:
        """Give memory and disk back; called once, in the event loop's thread."""
        self.file.close()
        if self.budget is not None:
            self.budget.used_bytes -= self.reserved_bytes
            self.budget = None


def announced_length(headers: list[tuple[bytes, bytes]]) -> tuple[int | None, bool]:
    """What the head says about the body: its Content-Length if there is one, and whether it is chunked.

    A Content-Length that is not a number does not get here: the server refuses it as bad framing.
    """
    length: int | None = None
    chunked = False
    for name, value in headers:
        if name == b"content-length":
            length = int(value)
        elif name == b"transfer-encoding":
            chunked = True
    return length, chunked


async def read_body(
    receive: Receive, rules: BodyRules, budget: MemoryBudget, *, announced_bytes: int | None = None
) -> Body:
    """Read to the end; raises BodyTooLarge, BodyTooSlow or ClientGone, and then holds nothing.

    A body that is announced as too large is not even begun.
    """
    if announced_bytes is not None and announced_bytes > rules.max_bytes:
        raise BodyTooLarge
    body = Body(BytesIO(), 0, budget)
    try:
        await _fill(body, receive, rules, budget)
    except BaseException:
        # A cancelled request (the server gives up on a lost connection) must not keep its share either.
        body.release()
        raise
    body.file.seek(0)
    return body


async def _fill(body: Body, receive: Receive, rules: BodyRules, budget: MemoryBudget) -> None:
    started = asyncio.get_running_loop().time()
    in_memory = True
    while True:
        earned = rules.grace_seconds + body.length / rules.least_bytes_per_second
        try:
            async with asyncio.timeout_at(started + min(earned, rules.total_seconds)):
                message = await receive()
        except TimeoutError:
            raise BodyTooSlow from None
        if message["type"] != "http.request":
            raise ClientGone
        chunk = message.get("body", b"")
        body.length += len(chunk)
        if body.length > rules.max_bytes:
            raise BodyTooLarge
        if in_memory and chunk:
            fits = body.length <= rules.memory_bytes and budget.used_bytes + len(chunk) <= budget.limit_bytes
            if fits:
                budget.used_bytes += len(chunk)
                body.reserved_bytes += len(chunk)
            else:
                _move_to_disk(body, budget)
                in_memory = False
        body.file.write(chunk)
        if not message.get("more_body", False):
            return


def _move_to_disk(body: Body, budget: MemoryBudget) -> None:
    in_memory = body.file
    in_memory.seek(0)
    body.file = tempfile.TemporaryFile(prefix="forkflux-body-")  # noqa: SIM115 - closed by Body.release
    body.file.write(in_memory.read())
    in_memory.close()
    budget.used_bytes -= body.reserved_bytes
    body.reserved_bytes = 0
