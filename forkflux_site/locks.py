"""Locks between processes: one server for each SQLite file, one migration at a time.

The operating system holds them for as long as a process lives, so that none is ever left behind.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# How long a server that was killed may take until its last worker is gone as well.
_DYING_SECONDS = 5.0
_LOOK_AGAIN_SECONDS = 0.02


class LockHeld(Exception):
    """Another living process holds the lock; `pid` is its id, or None if it left none."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self.pid = pid


def lock_server(path: Path) -> int:
    """Take the lock of the one server of a database; gives back the descriptor that holds it.

    The lock lasts until this process, what it turns into by exec, and all that it forks have closed the
    descriptor or ended. The process id in the file is only for the message: it is never what decides.
    Raises LockHeld.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _wait_for_dying_server(descriptor)
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - the standard library takes it by position only
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _wait_for_dying_server(descriptor: int) -> None:
    deadline = time.monotonic() + _DYING_SECONDS
    while not _try_lock(descriptor):
        pid = _recorded_pid(descriptor)
        if pid is None or _is_alive(pid) or time.monotonic() > deadline:
            raise LockHeld(pid)
        # The recorded owner has ended: its workers notice that now and let go.
        time.sleep(_LOOK_AGAIN_SECONDS)


@contextlib.contextmanager
def exclusively(path: Path, *, timeout_seconds: float) -> Iterator[None]:
    """Run the block while no other process is in one with the same path; raises LockHeld after the time."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + timeout_seconds
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise LockHeld(None)
            time.sleep(_LOOK_AGAIN_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            # Far behind the process id, which must stay readable for others: Windows locks bytes.
            os.lseek(descriptor, 1 << 20, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _recorded_pid(descriptor: int) -> int | None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    written = os.read(descriptor, 32).strip()
    return int(written) if written.isdigit() else None


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # os.kill would end the process there; the lock alone decides
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
