"""Splits the time of a call into named parts by wrapping the functions that do them."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO
from unittest import mock

REST = "rest"


@dataclass
class Spent:
    """Own time of one part: without the parts that it called."""

    calls: int = 0
    wall: int = 0
    cpu: int = 0


@dataclass
class Sections:
    """`targets` maps a part's name to functions as `module:qualified.name`.

    Wall and CPU nanoseconds of the calling thread; their difference is waiting, mostly for the database.
    A property's getter is wrapped as a function is.
    """

    targets: Mapping[str, Sequence[str]]
    spent: dict[str, Spent] = field(default_factory=dict)
    _running: list[str] = field(default_factory=list)
    _since: tuple[int, int] = (0, 0)
    _thread: int = 0

    def call(self, function: Callable[[], Any]) -> None:
        """One call to be split up; what belongs to no part counts as `rest`."""
        self._thread = threading.get_ident()
        self._since = _now()
        self._enter(REST)
        try:
            function()
        finally:
            self._leave()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Wrap the functions for the length of the block; LookupError for one that is no longer there."""
        with contextlib.ExitStack() as patches:
            for part, paths in self.targets.items():
                for path in paths:
                    patches.enter_context(self._wrapped(part, path))
            yield

    def report(self, out: TextIO) -> None:
        """A line for each part: microseconds per call, and its share."""
        calls = max(1, self.spent[REST].calls)
        total = sum(part.wall for part in self.spent.values())
        print("\nsplit up (us per claim; waiting = wall - CPU):", file=out)
        print(f"  {'part':<22}{'wall':>8}{'CPU':>8}{'waiting':>9}{'share':>8}{'times':>7}", file=out)
        for name in [*self.targets, REST]:
            part = self.spent.get(name, Spent())
            wall, cpu = part.wall / calls / 1000, part.cpu / calls / 1000
            share = part.wall / total if total else 0.0
            print(
                f"  {name:<22}{wall:8.0f}{cpu:8.0f}{wall - cpu:9.0f}{share:8.1%}{part.calls / calls:7.1f}",
                file=out,
            )
        wall, cpu = total / calls / 1000, sum(part.cpu for part in self.spent.values()) / calls / 1000
        print(f"  {'together':<22}{wall:8.0f}{cpu:8.0f}{wall - cpu:9.0f}{1:8.1%}", file=out)

    def _wrapped(self, part: str, path: str) -> contextlib.AbstractContextManager[Any]:
        module_name, _, qualified = path.partition(":")
        owner: Any = importlib.import_module(module_name)
        *outer, name = qualified.split(".")
        try:
            for step in outer:
                owner = getattr(owner, step)
            original = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
        except (AttributeError, KeyError):
            raise LookupError(
                f"{path} is gone; say in bench/profile_claim.py what does “{part}” now"
            ) from None
        if isinstance(original, property):
            return mock.patch.object(owner, name, property(self._timed(part, original.fget)))
        return mock.patch.object(owner, name, self._timed(part, original))

    def _timed(self, part: str, function: Any) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if not self._running or threading.get_ident() != self._thread:
                return function(*args, **kwargs)
            self._enter(part)
            try:
                return function(*args, **kwargs)
            finally:
                self._leave()

        return run

    def _enter(self, part: str) -> None:
        self._charge()
        self._running.append(part)
        self.spent.setdefault(part, Spent()).calls += 1

    def _leave(self) -> None:
        self._charge()
        self._running.pop()

    def _charge(self) -> None:
        wall, cpu = _now()
        if self._running:
            part = self.spent[self._running[-1]]
            part.wall += wall - self._since[0]
            part.cpu += cpu - self._since[1]
        self._since = (wall, cpu)


def _now() -> tuple[int, int]:
    return time.perf_counter_ns(), time.thread_time_ns()
