"""A worker process that claims a job and keeps it alive until somebody kills it."""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing.connection import Connection
from typing import Any, Self

from forkflux_site.tests.concurrency.crew import end_with_parent
from forkflux_site.tests.concurrency.wire import Wire

START_SECONDS = 30.0


class Holder:
    """The process. `job` is what its claim answered."""

    def __init__(self, url: str, token: str, role: str, *, lease_seconds: int, session: str | None) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(
            target=_hold, args=(theirs, Wire(url, token, session=session), role, lease_seconds), daemon=True
        )
        self._process.start()
        theirs.close()
        assert ours.poll(START_SECONDS), "the holder does not come up"
        self.job: dict[str, Any] = ours.recv()

    def kill(self) -> None:
        """SIGKILL, and wait until the process is gone."""
        self._process.kill()
        self._process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _hold(told: Connection, wire: Wire, role: str, lease_seconds: int) -> None:
    end_with_parent()
    with wire:
        claim = wire.claim_next(role, lease_seconds=lease_seconds)
        assert claim.status == 201, claim
        told.send(claim.body)
        while True:
            threading.Event().wait(claim.body["lease"]["heartbeat_seconds"] / 2)
            answer = wire.heartbeat(claim.body["id"], lease_generation=claim.body["lease"]["generation"])
            assert answer.status == 200, answer
