"""A crew of client processes that start their shares of a race at the same instant."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier, Event
from typing import Any, TypeVar

T = TypeVar("T")

GATE_SECONDS = 60.0


@dataclass(frozen=True)
class Race:
    """What the processes of a race share: the gate they start at, a flag, and a counter."""

    barrier: Barrier
    flag: Event
    counter: Synchronized[int]

    def gate(self) -> None:
        """Wait here until every process of the crew has come; each share passes equally often, at least once."""
        self.barrier.wait(GATE_SECONDS)

    def count(self) -> None:
        """Add one to the counter that all processes share."""
        with self.counter.get_lock():
            self.counter.value += 1

    def in_threads(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Run each work in a thread of its own, all of them released when the whole crew is at the gate."""
        ready = threading.Barrier(len(works) + 1)

        def start(work: Callable[[], T]) -> T:
            ready.wait(GATE_SECONDS)
            try:
                return work()
            except BaseException:
                # Threads that go on until the flag is set would go on for ever.
                self.flag.set()
                raise

        with concurrent.futures.ThreadPoolExecutor(len(works)) as threads:
            running = [threads.submit(start, work) for work in works]
            self.gate()
            ready.wait(GATE_SECONDS)
            return [one.result() for one in running]


class Crew:
    """`size` processes that live as long as the test run, so that a round costs no start of a process."""

    def __init__(self, size: int = 4) -> None:
        self.size = size
        context = multiprocessing.get_context("spawn")
        self.race = Race(context.Barrier(size), context.Event(), context.Value("i", 0))
        self._pool = concurrent.futures.ProcessPoolExecutor(
            size, mp_context=context, initializer=enlist, initargs=(self.race,)
        )

    def start(
        self, function: Callable[..., T], shares: Sequence[tuple[Any, ...]]
    ) -> list[concurrent.futures.Future[T]]:
        """Give each process its share: `function(race, *share)`. Fewer shares leave processes with nothing to do."""
        self.race.barrier.reset()
        self.race.flag.clear()
        self.race.counter.value = 0
        running = [self._pool.submit(_take_part, function, share) for share in shares]
        # The gate is for all: each process, held up there, has exactly one share.
        for _ in range(self.size - len(shares)):
            self._pool.submit(_take_part, _stand_by, ())
        return running

    def finish(self, running: Sequence[concurrent.futures.Future[T]], *, seconds: float = 300.0) -> list[T]:
        """The results in the order of the shares; raises what the first failing share raised."""
        done, _ = concurrent.futures.wait(running, seconds, return_when=concurrent.futures.FIRST_EXCEPTION)
        for one in done:
            failure = one.exception()
            if failure is not None and not isinstance(failure, threading.BrokenBarrierError):
                raise failure
        return [one.result(timeout=0) for one in running]

    def run(self, function: Callable[..., T], shares: Sequence[tuple[Any, ...]]) -> list[T]:
        """`start` and `finish`."""
        return self.finish(self.start(function, shares))

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


_race: Race | None = None


def enlist(race: Race) -> None:
    """Make this process one of the crew."""
    global _race  # noqa: PLW0603 - a pool's process is told of its shared objects this way only
    _race = race
    end_with_parent()


def end_with_parent() -> None:
    """End this process when the one that started it ends, also when that is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _take_part(function: Callable[..., T], share: tuple[Any, ...]) -> T:
    assert _race is not None
    try:
        return function(_race, *share)
    except BaseException:
        # Nobody waits at the gate for a process that failed before it came there.
        _race.barrier.abort()
        raise


def _stand_by(race: Race) -> None:
    race.gate()
