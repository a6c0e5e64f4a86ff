"""Playing the shell blocks of a page as a reader would: in one bash, top to bottom, beside a server that it starts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from forkflux_site.tests.doc_pages import Block
from testing.installation import ROOT
from testing.leash import Leashed
from testing.processes import eventually

COMMAND_SECONDS = 60.0
_LISTENS = re.compile(r"ForkFlux listens on http://(127\.0\.0\.1:\d+)")
_ON_THE_PAGE = "127.0.0.1:8000"


class ShellPlay:
    """A reader's terminal in `folder`, with nothing but the system's programs and `forkflux` on its PATH."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._work = folder / "work"
        self._notes = folder / "notes"
        for made in (self._work, self._notes):
            made.mkdir()
        self._environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._address = _ON_THE_PAGE
        self._count = 0
        self._server: Leashed | None = None
        self._shell: subprocess.Popen[str] | None = None
        self.printed = ""

    def clone(self, block: Block) -> None:
        """Clone this repository as the first line says; the second, if there is one, is a target of its Makefile."""
        command, *others = block.text.splitlines()
        assert command == "git clone REPOSITORY forkflux && cd forkflux", f"{block}: {command}"
        subprocess.run(
            ["git", "clone", "--quiet", ROOT, self._work / "forkflux"],
            env=self._environment,
            capture_output=True,
            check=True,
        )
        self._work /= "forkflux"
        for line in others:
            require_target(block, line)

    def make(self, block: Block) -> None:
        """Lines that ask make for something."""
        for line in block.text.splitlines():
            require_target(block, line)

    def environment(self, block: Block) -> None:
        """Making the environment that these tests run in has tests of its own (tools/tests/test_bootstrap.py)."""
        expected = "tools/bootstrap run\nsource .venv/bin/activate\n"
        assert block.text == expected, f"{block}: {block.text}"
        assert os.access(self._work / "tools" / "bootstrap", os.X_OK)

    def serve(self, block: Block) -> None:
        """Start the server that a reader leaves running in another terminal."""
        [command] = block.text.splitlines()
        assert command == "forkflux serve", f"{block}: {command}"
        log = self._notes / "serve.log"
        self._server = Leashed(
            ["forkflux", "serve", "--port", "0"], output=log, cwd=self._work, environment=self._environment
        )
        eventually(
            lambda: (
                _LISTENS.search(log.read_text()) or self._server is None or self._server.poll() is not None
            ),
            "the server's start",
            seconds=COMMAND_SECONDS,
        )
        match = _LISTENS.search(log.read_text())
        assert match, f"{block}: {log.read_text()}"
        self._address = match[1]
        self.printed = log.read_text()

    def run(self, block: Block) -> None:
        """Run the block where the last one left off; a command that fails fails the test."""
        if self._shell is None:
            self._shell = subprocess.Popen(
                ["bash", "--noprofile", "--norc"],
                cwd=self._work,
                env=self._environment,
                stdin=subprocess.PIPE,
                text=True,
            )
        self._count += 1
        script, printed, failed, done = (
            self._notes / f"{self._count}.{kind}" for kind in ("sh", "out", "err", "done")
        )
        script.write_text("set -eu -o pipefail\n" + block.text.replace(_ON_THE_PAGE, self._address))
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"source {script} </dev/null >{printed} 2>{failed}; echo >{done}\n")
        self._shell.stdin.flush()
        deadline = time.monotonic() + COMMAND_SECONDS
        while not done.exists():
            told = failed.read_text() if failed.exists() else ""
            assert self._shell.poll() is None, f"{block} failed:\n{printed.read_text()}{told}"
            assert time.monotonic() < deadline, f"{block} did not end:\n{told}"
            time.sleep(0.02)
        self.printed = printed.read_text()

    def __enter__(self) -> Self:
        assert shutil.which("bash", path=self._environment["PATH"])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shell is not None:
            assert self._shell.stdin is not None
            self._shell.stdin.close()
            self._shell.wait(COMMAND_SECONDS)
        if self._server is not None:
            self._server.close()


def require_target(block: Block, line: str) -> None:
    """The line asks make for something that it knows how to do; doing it is for the target's own tests."""
    assert re.fullmatch(r"make [a-z]+( [A-Z]+=\S+)?", line), f"{block}: {line}"
    subprocess.run([*line.split(), "--dry-run"], cwd=ROOT, capture_output=True, check=True)
