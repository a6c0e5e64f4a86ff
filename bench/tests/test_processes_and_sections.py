"""The clocks: CPU of a tree of processes, and which part of a call gets the time."""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
import time

import pytest

from bench import processes
from bench import sections as sections_module
from bench.processes import parent_of, read_cpu, tree_cpu_seconds
from bench.sections import Sections

SPENDS_CPU = "import time\nwhile time.process_time() < {seconds}: pass\n"


@pytest.mark.skipif(not processes.KNOWN, reason="CPU of processes is read from Linux's /proc")
class TestCpu:
    def test_a_tree_counts_running_and_ended_descendants(self):
        # A child that starts a grandchild, waits for it, and stays.
        grandchild = SPENDS_CPU.format(seconds=0.3)
        child = (
            f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {grandchild!r}], check=True)\n"
            "print('done', flush=True)\nsys.stdin.read()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "done\n"
            assert tree_cpu_seconds(process.pid) >= 0.29
            assert parent_of(process.pid) == os.getpid()
            assert tree_cpu_seconds(os.getpid()) >= tree_cpu_seconds(process.pid)
            process.communicate()
        with pytest.raises(ProcessLookupError):
            tree_cpu_seconds(process.pid)

    def test_a_reading_grows_with_what_was_used(self):
        before = read_cpu(server=os.getpid(), database=None)
        until = time.process_time() + 0.1
        while time.process_time() < until:
            pass
        after = read_cpu(server=os.getpid(), database=None)
        assert after.client - before.client >= 0.1
        assert before.server is not None
        assert after.server is not None
        assert after.server - before.server >= 0.08
        assert before.machine is not None
        assert after.machine is not None
        assert after.machine - before.machine >= 0.08
        assert after.database is None


class FakeClock:
    """Stands where it is until it is told to go on; its CPU runs at half speed."""

    def __init__(self) -> None:
        self.nanoseconds = 0

    def __call__(self) -> tuple[int, int]:
        return self.nanoseconds, self.nanoseconds // 2


class Work:
    """Two nested steps, the inner one behind a property."""

    clock = FakeClock()

    def outer(self) -> None:
        self.clock.nanoseconds += 20_000
        assert self.inner == "done"
        self.clock.nanoseconds += 4_000

    @property
    def inner(self) -> str:
        self.clock.nanoseconds += 30_000
        return "done"

    def whole(self) -> None:
        self.clock.nanoseconds += 1_000
        self.outer()


HERE = f"{__name__}:Work"


def test_time_inside_an_inner_part_counts_there_and_not_outside(monkeypatch):
    monkeypatch.setattr(sections_module, "_now", Work.clock)
    sections = Sections({"outer": [f"{HERE}.outer"], "inner": [f"{HERE}.inner"], "never": []})
    with sections.watching():
        work = Work()
        for _ in range(2):
            sections.call(work.whole)
    assert {name: dataclasses.astuple(part) for name, part in sections.spent.items()} == {
        "rest": (2, 2_000, 1_000),
        "outer": (2, 48_000, 24_000),
        "inner": (2, 60_000, 30_000),
    }
    printed = io.StringIO()
    sections.report(printed)
    rows = [line.split() for line in printed.getvalue().strip().splitlines()[2:]]
    assert rows[0] == ["outer", "24", "12", "12", "43.6%", "1.0"]
    assert [row[0] for row in rows] == ["outer", "inner", "never", "rest", "together"]
    assert rows[-1] == ["together", "55", "28", "28", "100.0%"]


def test_after_the_block_the_functions_are_their_own_again():
    outer = vars(Work)["outer"]
    with Sections({"outer": [f"{HERE}.outer"]}).watching():
        assert vars(Work)["outer"] is not outer
    assert vars(Work)["outer"] is outer


def test_a_part_that_is_gone_is_named():
    with (
        pytest.raises(LookupError, match=r"Work\.missing is gone.*“outer”"),
        Sections({"outer": [f"{HERE}.missing"]}).watching(),
    ):
        pass
