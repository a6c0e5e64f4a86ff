"""What processes have used of the CPU, and which belong to one another, as Linux tells in /proc."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process since its start, all threads; in steps of 10 ms; OSError."""
    # The command's name in brackets may hold blanks and brackets of its own.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
