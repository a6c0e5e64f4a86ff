"""The life of the server's processes: an orderly end, a killed worker, a killed master."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from forkflux_site.tests.dispatching.small_client import SmallServer, read_all, until
from testing.installation import ROOT

pytestmark = pytest.mark.sqlite_only  # no database takes part; once is enough


@pytest.mark.slow
def test_the_end_waits_for_what_is_under_way_and_not_for_idle_connections(
    start: Callable[..., SmallServer], tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    server = start(TEST_FIFO=str(fifo))
    idle = server.send("GET /idle HTTP/1.1")
    assert idle.recv(65536).startswith(b"HTTP/1.1 200 ")
    under_way = server.send("GET /fifo HTTP/1.1")
    server.wait_for(pending=1)
    server.process.send_signal(signal.SIGTERM)
    # Closed although the process cannot end yet; so is the way in for new ones.
    assert read_all(idle) == b""
    with pytest.raises(OSError, match="refused"):
        until(lambda: server.connect().close(), "the refusal")
    fifo.write_text("go on")
    answer = read_all(under_way)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"go on" in base64.b64decode(json.loads(answer.partition(b"\r\n\r\n")[2])["body"])
    assert server.process.wait(10) == 0


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_without_a_second_announcement(
    start: Callable[..., SmallServer],
) -> None:
    server = start()
    first = server.control()["pid"]
    os.kill(first, signal.SIGKILL)

    def second() -> Any:
        with contextlib.suppress(httpx.TransportError):
            return server.control()["pid"] != first
        return None

    until(second, "another worker")
    assert server.log.read_text().count("listens on") == 1


@pytest.mark.slow
def test_the_workers_end_with_their_master_even_if_that_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with log.open("w") as output:
        master = subprocess.Popen(
            [sys.executable, "-m", "forkflux_site.tests.dispatching.small_server"],
            cwd=ROOT, stdout=output, stderr=output, env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
    try:
        url = until(lambda: re.search(r"listens on (\S+)", log.read_text()), "the address")[1]
        worker = httpx.get(f"{url}/control/look", trust_env=False).json()["pid"]
        assert worker != master.pid
    finally:
        master.kill()
        master.wait()
    until(lambda: not _runs(worker), "the worker's end", seconds=10)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    # What nobody has waited for yet has ended all the same.
    return state != "Z"
