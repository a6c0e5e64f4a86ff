"""Threads that last as long as the process, and with them what belongs to a thread: database connections."""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

import structlog

from forkflux_site.wsgi_call import WSGIApplication

log = structlog.get_logger(__name__)


class Work(Protocol):
    """What a thread does: it runs to its end and does not raise."""

    def run(self, application: WSGIApplication, /) -> None: ...


class ThreadPool:
    """A fixed number of threads that call one application; work waits in one queue, first come first."""

    def __init__(
        self, application: WSGIApplication, *, size: int, on_exit: Callable[[], None] | None = None
    ) -> None:
        self.size = size
        self._application = application
        self._on_exit = on_exit
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        # Daemons: a thread that is stuck in a database that does not answer must not keep a process alive
        # that was told to end. The orderly way out is `stop`.
        self._threads = [
            threading.Thread(target=self._serve, name=f"forkflux-request-{number}", daemon=True)
            for number in range(1, size + 1)
        ]

    def start(self) -> None:
        """Start all threads; may be called once."""
        for thread in self._threads:
            thread.start()

    def submit(self, work: Work) -> None:
        """Hand over work for the next free thread."""
        self._queue.put(work)

    def stop(self, *, timeout_seconds: float) -> int:
        """Let each thread end after the work before it; gives back how many did not in time."""
        for _ in self._threads:
            self._queue.put(None)
        left = timeout_seconds
        for thread in self._threads:
            started = time.monotonic()
            thread.join(max(left, 0))
            left -= time.monotonic() - started
        return sum(thread.is_alive() for thread in self._threads)

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            work.run(self._application)
            # Held until the next request otherwise: its body, its answer and all they refer to.
            del work
        if self._on_exit is not None:
            self._on_exit()
