"""What processes have used of the CPU, as Linux tells in /proc; elsewhere nothing is known and None is said."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
KNOWN = (PROC / "self" / "stat").exists()

_TICKS = os.sysconf("SC_CLK_TCK") if KNOWN else 100
# Positions in /proc/PID/stat behind the command's name.
_PARENT, _USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM = 1, 11, 12, 13, 14
# Positions in the first line of /proc/stat: time in which the CPUs did nothing.
_IDLE, _WAITS_FOR_DISK = 3, 4


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds of CPU since some beginning: only differences of two readings mean something.

    `server` and `database` are process trees (None: not known or not there), `client` is this process,
    `machine` is everything that ran on any CPU.
    """

    at: float
    server: float | None
    database: float | None
    client: float
    machine: float | None


def read_cpu(*, server: int | None, database: int | None) -> CpuTimes:
    """One reading; `server` and `database` are the process ids at the roots of the trees."""
    return CpuTimes(
        at=time.monotonic(),
        server=tree_cpu_seconds(server) if server and KNOWN else None,
        database=tree_cpu_seconds(database) if database and KNOWN else None,
        client=time.process_time(),
        machine=_machine_cpu_seconds() if KNOWN else None,
    )


def tree_cpu_seconds(root: int) -> float:
    """CPU seconds of a process and all its descendants, also of those that have ended meanwhile.

    In steps of 10 ms for each process. OSError when the root is gone.
    """
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for pid, fields in _all_stats():
        parents[pid] = int(fields[_PARENT])
        spent[pid] = sum(int(fields[column]) for column in (_USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM))
    if root not in spent:
        raise ProcessLookupError(f"process {root} has ended")
    return sum(ticks for pid, ticks in spent.items() if _descends(pid, root, parents)) / _TICKS


def parent_of(pid: int) -> int:
    """The process that started this one; OSError when it is gone."""
    return int(_stat(pid)[_PARENT])


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid != root and pid in parents:
        pid = parents[pid]
    return pid == root


def _all_stats() -> Iterator[tuple[int, list[str]]]:
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), _stat(int(folder.name))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended while we looked


def _stat(pid: int) -> list[str]:
    # The command's name in brackets may hold blanks and brackets of its own.
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _machine_cpu_seconds() -> float:
    columns = [int(ticks) for ticks in (PROC / "stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(columns) - columns[_IDLE] - columns[_WAITS_FOR_DISK]) / _TICKS
