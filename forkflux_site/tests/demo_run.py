"""Running `make demo`'s program in tests: its output as it comes, its whole family of processes, its folder."""

from __future__ import annotations

import contextlib
import functools
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from testing.installation import ROOT
from testing.processes import eventually, is_running

STORY_SECONDS = 90.0
END_SECONDS = 20.0


class Demo:
    """A running demo. `temporary` is where it makes its folder; on a terminal when `terminal` is true."""

    def __init__(
        self, temporary: Path, *, terminal: bool = False, through_parent: bool = False, **environment: str
    ) -> None:
        self.temporary = temporary
        self._text: list[str] = []
        command = [sys.executable, "-m", "tools.demo"]
        if through_parent:
            # As make does: a parent that is not the demo itself, and tells it nothing when it is killed.
            command = ["sh", "-c", '"$@" & wait', "sh", *command]
        ours, theirs = pty.openpty() if terminal else os.pipe()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the demo
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={
                "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                "HOME": str(temporary),
                "LANG": "C.UTF-8",
                "TERM": "xterm",
                "TMPDIR": str(temporary),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=self._errors,
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, args=(ours,))
        self._reader.start()

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb", buffering=0) as output, contextlib.suppress(OSError):
            # A terminal whose other side is gone is an error on Linux, where a pipe is just at its end.
            while chunk := output.read(65_536):
                self._text.append(chunk.decode(errors="replace").replace("\r\n", "\n"))

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return "".join(self._text)

    @property
    def errors(self) -> str:
        """What it has written to standard error so far."""
        return os.pread(self._errors.fileno(), 1_000_000, 0).decode(errors="replace")

    @property
    def pid(self) -> int:
        """The process that was started."""
        return self._process.pid

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until it has printed something that matches."""
        eventually(
            lambda: re.search(pattern, self.output) or self._process.poll() is not None,
            f"the demo's {pattern!r}",
            seconds=STORY_SECONDS,
        )
        match = re.search(pattern, self.output)
        assert match, f"the demo ended without {pattern!r}:\n{self.output}\n{self.errors}"
        return match

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the process that was started, and nobody else."""
        self._process.send_signal(number)

    def wait(self, seconds: float = STORY_SECONDS) -> int:
        """Its exit status, once it has ended and all of its output was read."""
        status = self._process.wait(seconds)
        self._reader.join(END_SECONDS)
        return status

    def family(self) -> set[int]:
        """The ids of the demo and of every process below it, as they are now."""
        parents = dict(_processes())
        found = {self.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found

    def require_nothing_left(self, family: set[int]) -> None:
        """No process of the family runs any more, and no folder is left."""
        eventually(
            lambda: not [pid for pid in family if is_running(pid)],
            f"the end of all of {sorted(family)}",
            seconds=END_SECONDS,
        )
        eventually(
            lambda: not list(self.temporary.iterdir()),
            f"the removal of {list(self.temporary.iterdir())}",
            seconds=END_SECONDS,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._reader.join(END_SECONDS)
        self._errors.close()


def _processes() -> Iterator[tuple[int, int]]:
    """Every process and its parent. A bare Debian has no `ps`; a Mac has no /proc."""
    if sys.platform != "linux":
        listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
        for line in listed.stdout.splitlines():
            pid, parent = line.split()
            yield int(pid), int(parent)
        return
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
                yield int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])


@dataclass(frozen=True)
class FinishedDemo:
    """What one run came to: exit status, what it printed where, and what was left in its temporary folder."""

    status: int
    output: str
    errors: str
    left: list[str]


@functools.cache
def finished_demo() -> FinishedDemo:
    """One run to its end, the same for every test that reads its output."""
    with tempfile.TemporaryDirectory() as folder, Demo(Path(folder), ONCE="1") as demo:
        status = demo.wait()
        return FinishedDemo(status, demo.output, demo.errors, [path.name for path in Path(folder).iterdir()])
