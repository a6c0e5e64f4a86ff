"""Clients that go on working while their server is killed and comes back, and remember what it promised them."""

from __future__ import annotations

import functools
import http.client
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from forkflux_site.tests.concurrency.crew import Race
from forkflux_site.tests.concurrency.wire import Answer, Wire

LOST = (OSError, http.client.HTTPException)
"""What a connection raises whose server has gone."""

BACK_SECONDS = 60.0
LEASE_SECONDS = 2


@dataclass
class Promises:
    """What one client was told, and what it does not know because the server was gone before the answer."""

    published: dict[int, str] = field(default_factory=dict)  # summary by id
    completed: dict[int, str] = field(default_factory=dict)  # result by id
    unsure: dict[int, str] = field(default_factory=dict)  # result by id
    losses: int = 0


class Client:
    """Publishes, claims and completes, one after the other, until the flag is set."""

    def __init__(self, race: Race, url: str, token: str, role: str, name: str) -> None:
        self._race, self._role, self._name = race, role, name
        self._wire = Wire(url, token)
        self.promises = Promises()

    def work(self) -> Promises:
        """Everything that the server promised this client."""
        number = 0
        while not self._race.flag.is_set():
            number += 1
            self._publish(f"{self._name} {number}")
            self._claim_and_complete(f"{self._name} {number}")
        self._wire.close()
        return self.promises

    def _publish(self, summary: str) -> None:
        answer = self._until_answered(lambda: self._wire.publish(self._role, summary=summary, key=summary))
        assert answer.status == 201, answer
        self.promises.published[answer.body["job_id"]] = summary
        self._race.count()

    def _claim_and_complete(self, result: str) -> None:
        claim = self._try(lambda: self._wire.claim_next(self._role, lease_seconds=LEASE_SECONDS))
        if claim is None or claim.status == 503 or claim.code == "empty":
            return
        assert claim.status == 201, claim
        job_id, generation = claim.body["id"], claim.body["lease"]["generation"]
        done = self._try(
            lambda: self._wire.move(job_id, "completed", result_summary=result, lease_generation=generation)
        )
        if done is None or done.status == 503:
            self.promises.unsure[job_id] = result
        elif done.status == 200:
            self.promises.completed[job_id] = result
            self._race.count()
        else:
            assert (done.status, done.code) == (409, "lease_lost"), done

    def _try(self, call: Callable[[], Answer]) -> Answer | None:
        """The answer, or None when the server went away; whether the call had its effect is then open."""
        try:
            return call()
        except LOST:
            self.promises.losses += 1
            self._wire.close()
            return None

    def _until_answered(self, call: Callable[[], Answer]) -> Answer:
        deadline = time.monotonic() + BACK_SECONDS
        while True:
            answer = self._try(call)
            if answer is not None and answer.status != 503:
                return answer
            assert time.monotonic() < deadline, "the server does not come back"
            threading.Event().wait(0.02)


def work(race: Race, url: str, role: str, hands: Sequence[tuple[str, str]]) -> list[Promises]:
    """A client for each (name, token)."""
    return race.in_threads([functools.partial(_work, race, url, role, name, token) for name, token in hands])


def _work(race: Race, url: str, role: str, name: str, token: str) -> Promises:
    return Client(race, url, token, role, name).work()
