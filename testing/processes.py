"""What tests ask about other processes: whether they run, and when something that they do has happened."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether the process is there and has not ended; one that has and only waits to be asked how does not count."""
    try:
        os.kill(pid, 0)
        state = (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if sys.platform == "linux"
            else ""
        )
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def eventually(condition: Callable[[], object], what: str, *, seconds: float = 15.0) -> None:
    """Wait until `condition()` is true; an AssertionError that says `what` did not happen, after `seconds`.

    For what another process does, of which this one gets no sign to wait for.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:g} s"
        time.sleep(0.02)
