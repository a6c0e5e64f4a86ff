"""Runs a command that must not outlive whoever asked for it, however that one ends.

Started as a script (``python leash.py OPTIONS -- COMMAND``) with a pipe as standard input whose other end
only the asking process holds. When that process ends, be it by SIGKILL, the pipe closes and the command is
stopped. `Leashed` is the asking side. Standard library only, since the script runs outside the environment's
packages.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

STOP_SECONDS = 10.0
"""How long a command has to end after its stop signal before its whole process group is killed."""


class Leashed:
    """A running command in a process group of its own; `close` ends it and waits until it is gone.

    `output` is a file that receives stdout and stderr. `user` is whom the command runs as (root only).
    `remove` is a folder that goes away with the command. `stop_signal` asks the command to end in good order;
    what still runs `stop_seconds` later is killed.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        output: Path,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        user: str | None = None,
        remove: Path | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self._stop_seconds = stop_seconds
        pid_reader, pid_writer = os.pipe()
        options = ["--pid-fd", str(pid_writer), "--stop-signal", str(int(stop_signal))]
        options += ["--stop-seconds", str(stop_seconds)]
        if user is not None:
            options += ["--user", user]
        if remove is not None:
            options += ["--remove", str(remove)]
        try:
            with output.open("ab") as sink:
                self._leash = subprocess.Popen(
                    [sys.executable, "-I", __file__, *options, "--", *map(str, command)],
                    stdin=subprocess.PIPE,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    cwd=cwd,
                    env=None if environment is None else dict(environment),
                    pass_fds=(pid_writer,),
                    # A terminal's Ctrl-C reaches the asking process alone, which ends this in its own order.
                    start_new_session=True,
                )
        finally:
            os.close(pid_writer)
        with os.fdopen(pid_reader, "rb") as reader:
            line = reader.readline()
        if not line:
            code = self.close()
            raise RuntimeError(f"{command[0]} did not start (exit {code}): {output.read_text()[-2000:]}")
        self.pid = int(line)
        """The command's process id, which is also its process group's."""

    def poll(self) -> int | None:
        """The exit code, or None while the command runs; 128 + N when signal N ended it."""
        return self._leash.poll()

    def wait(self, timeout: float) -> int:
        """The exit code; raises subprocess.TimeoutExpired after `timeout` seconds."""
        code = self._leash.wait(timeout)
        self.close()
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the command itself, not its children."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill_group(self) -> None:
        """SIGKILL to the command and all its children at once, as a machine that loses power would."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.close()

    def close(self) -> int:
        """Let go: stop the command, wait, return its exit code. Safe to call again."""
        if self._leash.stdin is not None:
            self._leash.stdin.close()
        return self._leash.wait(self._stop_seconds + STOP_SECONDS)


def main(arguments: Sequence[str]) -> int:
    """The script's side: start the command, say its pid, stop it when standard input closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pid-fd", type=int, required=True)
    parser.add_argument("--user")
    parser.add_argument("--remove", type=Path)
    parser.add_argument("--stop-signal", type=int, default=int(signal.SIGTERM))
    parser.add_argument("--stop-seconds", type=float, default=STOP_SECONDS)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)

    _adopt_orphans()
    child = subprocess.Popen(
        options.command,
        stdin=subprocess.DEVNULL,
        # A group of its own, so that the command and its children can be killed without this process.
        start_new_session=True,
        # One thread so far, and it runs after the change of user.
        preexec_fn=_die_with_parent,  # noqa: PLW1509
        user=options.user,
        group=_group_of(options.user),
        extra_groups=[] if options.user else None,
    )
    with os.fdopen(options.pid_fd, "w") as writer:
        writer.write(f"{child.pid}\n")

    def stop_when_let_go() -> None:
        # Not through sys.stdin, whose lock this thread would still hold when the interpreter shuts down.
        while os.read(0, 1024):
            pass
        if child.poll() is None:
            child.send_signal(options.stop_signal)
        try:
            child.wait(options.stop_seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

    threading.Thread(target=stop_when_let_go, daemon=True).start()
    code = child.wait()
    # Children that the command left behind in its group end with it.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    _await_orphans()
    if options.remove is not None:
        shutil.rmtree(options.remove, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _group_of(user: str | None) -> int | None:
    if user is None:
        return None
    import pwd

    return pwd.getpwnam(user).pw_gid


def _adopt_orphans() -> None:
    """Become the parent of children whose own parent is killed, so that their end can be waited for."""
    if sys.platform == "linux":
        pr_set_child_subreaper = 36
        ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1)


def _await_orphans() -> None:
    # Whoever asked for a SIGKILL wants to start again at once: files must be unlocked and ports free by then.
    deadline = time.monotonic() + STOP_SECONDS
    with contextlib.suppress(ChildProcessError):  # none is left
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.005)


def _die_with_parent() -> None:
    """Second line of defence, for a SIGKILL that hits the leash itself; only Linux has a call for it."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
