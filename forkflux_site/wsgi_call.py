"""One request in a thread: the WSGI application is called, its answer goes back to the event loop."""

import asyncio
import contextlib
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

import structlog

from forkflux_site.request_body import Body

log = structlog.get_logger(__name__)

RawHeaders = list[tuple[bytes, bytes]]
WSGIApplication = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

# An answer of known length is gathered up to this size and then sent as one message.
_GATHER_BYTES = 256 * 1024
# What may wait between a thread that produces and a client that reads. Above it the thread waits too.
_BUFFER_BYTES = 8 * 1024 * 1024

_UNPREFIXED = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}
_KNOWN_NAMES: dict[bytes, str] = dict(_UNPREFIXED)
_KNOWN_NAMES_MAX = 1_024


class ClientStalled(Exception):
    """The client has taken nothing of a long answer for too long."""


class ApplicationFailed(Exception):
    """The application raised something, which the log has."""


class Stream:
    """The chunks of a long answer: one thread puts them in, the event loop takes them out."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, stall_seconds: float) -> None:
        self._loop = loop
        self._stall_seconds = stall_seconds
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._changed = threading.Condition()
        self._filled = asyncio.Event()
        self._ended = False
        self._broken = False
        self._abandoned = False

    def put(self, chunk: bytes) -> None:
        """Add a chunk (in the thread); raises ClientStalled when the client takes nothing."""
        with self._changed:
            while self._buffered > _BUFFER_BYTES and not self._abandoned:
                before = self._buffered
                if not self._changed.wait(self._stall_seconds) and self._buffered >= before:
                    raise ClientStalled
            if self._abandoned:
                raise ClientStalled
            self._chunks.append(chunk)
            self._buffered += len(chunk)
        self._loop.call_soon_threadsafe(self._filled.set)

    def end(self, *, broken: bool = False) -> None:
        """Nothing more comes (in the event loop); `broken` means that the answer is not whole."""
        self._ended = True
        self._broken = broken
        self._filled.set()

    def abandon(self) -> None:
        """Nobody takes chunks any more (in the event loop): the thread must not wait for it."""
        with self._changed:
            self._abandoned = True
            self._chunks.clear()
            self._changed.notify_all()

    async def take(self) -> bytes | None:
        """The next chunk, or None at the end; raises ClientStalled if the answer broke off."""
        while not self._chunks:
            if self._ended:
                if self._broken:
                    raise ClientStalled
                return None
            self._filled.clear()
            await self._filled.wait()
        with self._changed:
            chunk = self._chunks.popleft()
            self._buffered -= len(chunk)
            self._changed.notify_all()
        return chunk


class Answer:
    """Status, headers and either the whole body or the stream of it."""

    __slots__ = ("body", "headers", "status", "stream")

    def __init__(self, status: int, headers: RawHeaders, body: bytes, stream: Stream | None = None) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.stream = stream


class Call:
    """A request on its way through a thread.

    `answered` is resolved in the event loop with the Answer. `finished` is called there once, when the
    thread is free again, whether or not anybody still waits for the answer.
    """

    __slots__ = (
        "_finished", "_loop", "_stall_seconds", "_status", "_stream", "_written",
        "abandoned", "answered", "body", "headers", "scope", "started",
    )  # fmt: skip

    def __init__(
        self,
        scope: dict[str, Any],
        body: Body | None,
        *,
        loop: asyncio.AbstractEventLoop,
        finished: Callable[["Call"], None],
        stall_seconds: float,
    ) -> None:
        self.scope = scope
        self.body = body
        self.answered: asyncio.Future[Answer] = loop.create_future()
        self.abandoned = False
        self.started = False
        self.headers: RawHeaders = []
        self._status = 0
        self._written: list[bytes] = []
        self._stream: Stream | None = None
        self._loop = loop
        self._finished = finished
        self._stall_seconds = stall_seconds

    def run(self, application: WSGIApplication) -> None:
        """Call the application; runs in a thread and never raises for what the application does."""
        answer: Answer | None = None
        error: Exception | None = None
        # A request whose client has gone, or was told to try again, before its turn came has no effect.
        if not self.abandoned:
            self.started = True
            try:
                answer = self._produce(application)
            except ClientStalled as stalled:
                error = stalled
            except BaseException:
                # Whatever it is, SystemExit included: the client gets a 500, and the thread lives on, since
                # nobody would start another one.
                log.exception("the application failed", path=self.scope["path"])
                error = ApplicationFailed()
        # The loop is closed only while the process ends; then nobody waits for the answer either.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._settle, answer, error)

    def _settle(self, answer: Answer | None, error: Exception | None) -> None:
        if self._stream is not None:
            self._stream.end(broken=error is not None)
        elif not self.answered.done():
            if answer is not None:
                self.answered.set_result(answer)
            elif error is not None:
                self.answered.set_exception(error)
            else:
                self.answered.cancel()
        self._finished(self)

    def _produce(self, application: WSGIApplication) -> Answer | None:
        result = application(environ_of(self.scope, self.body), self._start_response)
        try:
            # Django's plain responses say that they do not stream: the whole of them is there.
            if getattr(result, "streaming", True) is False or isinstance(result, list | tuple):
                return Answer(self._status, self.headers, b"".join((*self._written, *result)))
            return self._produce_in_parts(result)
        finally:
            close = getattr(result, "close", None)
            if close is not None:
                close()

    def _produce_in_parts(self, result: Iterable[bytes]) -> Answer | None:
        gathered, size = self._written, sum(map(len, self._written))
        most: int | None = None
        for chunk in result:
            if not chunk:
                continue
            if most is None:  # the status is known from the first chunk on, not before
                finite = any(name == b"content-length" for name, _ in self.headers)
                most = _GATHER_BYTES if finite else 0
            gathered.append(chunk)
            size += len(chunk)
            if size > most:
                self._pass_on(b"".join(gathered))
                gathered, size = [], 0
        rest = b"".join(gathered)
        if self._stream is None:
            return Answer(self._status, self.headers, rest)
        if rest:
            self._stream.put(rest)
        return None

    def _pass_on(self, chunk: bytes) -> None:
        if self._stream is None:
            self._stream = Stream(self._loop, stall_seconds=self._stall_seconds)
            answer = Answer(self._status, self.headers, b"", self._stream)
            self._loop.call_soon_threadsafe(self._begin, answer, self._stream)
        self._stream.put(chunk)

    def _begin(self, answer: Answer, stream: Stream) -> None:
        if self.answered.done():  # the deadline has passed: the client has its 503
            stream.abandon()
        else:
            self.answered.set_result(answer)

    def _start_response(
        self, status: str, headers: list[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], None]:
        if self._stream is not None and exc_info:
            raise exc_info[1].with_traceback(exc_info[2])
        self._status = int(status[:3])
        self.headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return self._written.append


def environ_of(scope: dict[str, Any], body: Body | None) -> dict[str, Any]:
    """The WSGI environment of an ASGI request whose body has been read.

    Text is bytes read as Latin-1, as PEP 3333 has it. Nothing is concluded from X-Forwarded-… headers:
    whether a proxy may be believed is for Django's settings to say.
    """
    path = path_of(scope)
    root = scope.get("root_path", "").encode().decode("latin-1")
    if root and path.startswith(root):
        path = path[len(root) :]
    server = scope.get("server") or ("localhost", 80)
    client = scope.get("client")
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": root,
        "PATH_INFO": path,
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1] or 0),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0] if client else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": body.file if body is not None else _NO_BODY,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    _add_headers(environ, scope["headers"])
    # The length that came, not the one that was announced: a chunked body announces none.
    environ["CONTENT_LENGTH"] = str(body.length) if body is not None else "0"
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    return environ


def path_of(scope: dict[str, Any]) -> str:
    """The path with its escapes decoded, byte for byte, also where the bytes are no UTF-8."""
    raw: bytes = scope.get("raw_path") or b""
    if not raw:
        return str(scope["path"]).encode("utf-8").decode("latin-1")
    raw = raw.partition(b"?")[0]
    if not raw.startswith(b"/") and b"://" in raw:
        # The form that proxies use, with scheme and host in the request line.
        raw = b"/" + raw.partition(b"://")[2].partition(b"/")[2]
    return (unquote_to_bytes(raw) if b"%" in raw else raw).decode("latin-1")


def _add_headers(environ: dict[str, Any], headers: RawHeaders) -> None:
    for name, value in headers:
        key = _KNOWN_NAMES.get(name)
        if key is None:
            # X_Real_Ip and X-Real-Ip would become the same key: the form with underscores is only ever
            # sent to slip past a proxy that sets or removes the other one.
            if b"_" in name:
                continue
            key = f"HTTP_{name.decode('latin-1').upper().replace('-', '_')}"
            if len(_KNOWN_NAMES) < _KNOWN_NAMES_MAX:
                _KNOWN_NAMES[name] = key
        text = value.decode("latin-1")
        if key in environ:
            text = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{text}"
        environ[key] = text


class _Empty:
    """The input of a request without a body: always at its end, shared by all of them."""

    def read(self, size: int = -1) -> bytes:
        return b""

    def readline(self, size: int = -1) -> bytes:
        return b""

    def readlines(self, hint: int = -1) -> list[bytes]:
        return []

    def __iter__(self) -> "_Empty":
        return self

    def __next__(self) -> bytes:
        raise StopIteration


_NO_BODY = _Empty()
