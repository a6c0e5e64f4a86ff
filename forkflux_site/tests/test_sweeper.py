"""The sweep's loop goes on whatever a single sweep does, and ends at once when it is told to."""

import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from forkflux_site.sweeper import Sweeper
from testing.committed import database_of_one_test  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


class Sweeps:
    """Counts sweeps; the test waits for a number of them."""

    def __init__(self, fail: Callable[[int], bool] = lambda number: False) -> None:
        self.number = 0
        self._fail = fail
        self._changed = threading.Condition()

    def __call__(self) -> int:
        with self._changed:
            self.number += 1
            self._changed.notify_all()
        if self._fail(self.number):
            raise RuntimeError("planted")
        return self.number

    def wait_for(self, number: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.number >= number, timeout=20)


def test_it_sweeps_at_once_and_then_at_its_interval() -> None:
    sweeps = Sweeps()
    sweeper = Sweeper(interval_seconds=0.2, sweep=sweeps)
    started = time.monotonic()
    sweeper.start()
    sweeps.wait_for(1)
    assert time.monotonic() - started < 0.15
    sweeps.wait_for(4)
    assert time.monotonic() - started >= 0.6
    sweeper.stop(timeout_seconds=5)


def test_a_sweep_that_fails_is_followed_by_the_next(caplog: pytest.LogCaptureFixture) -> None:
    sweeps = Sweeps(fail=lambda number: number <= 2)
    reports: list[object] = []
    sweeper = Sweeper(interval_seconds=0.01, sweep=sweeps, on_report=reports.append)
    sweeper.start()
    sweeps.wait_for(4)
    sweeper.stop(timeout_seconds=5)
    assert reports[:2] == [3, 4]


def test_the_end_does_not_wait_for_the_interval() -> None:
    sweeps = Sweeps()
    sweeper = Sweeper(interval_seconds=3_600, sweep=sweeps)
    sweeper.start()
    sweeps.wait_for(1)
    started = time.monotonic()
    sweeper.stop(timeout_seconds=20)
    assert time.monotonic() - started < 5
    assert sweeps.number == 1


def test_sweeps_that_were_missed_are_not_made_up_for() -> None:
    times: list[float] = []
    never = threading.Event()

    def sweep() -> None:
        times.append(time.monotonic())
        if len(times) == 1:
            never.wait(0.5)

    def end_after_four(_report: object) -> None:
        if len(times) == 4:
            sweeper.request_stop()

    sweeper = Sweeper(interval_seconds=0.1, sweep=sweep, on_report=end_after_four)
    sweeper.run()
    assert times[1] - times[0] >= 0.5
    assert all(later - earlier >= 0.09 for earlier, later in pairwise(times))


def test_the_default_is_the_sweep_of_jobs() -> None:
    reports: list[object] = []

    def end(report: object) -> None:
        reports.append(report)
        sweeper.request_stop()

    sweeper = Sweeper(interval_seconds=3_600, on_report=end)
    sweeper.run()
    assert type(reports[0]).__name__ == "SweepReport"
