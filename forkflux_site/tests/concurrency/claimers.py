"""What the client processes do in the races for jobs. Without Django: these are other people's programs."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from forkflux_site.tests.concurrency.crew import Race
from forkflux_site.tests.concurrency.wire import Answer, Wire

LISTED = 20


@dataclass
class Haul:
    """What one client came home with: jobs it was handed, and how its refusals were called."""

    token: str
    claimed: list[int] = field(default_factory=list)
    released: list[int] = field(default_factory=list)
    published: list[int] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    holders: list[tuple[int, str | None]] = field(default_factory=list)  # whom a conflict named
    answers: list[Answer] = field(default_factory=list)
    emptied: list[float] = field(default_factory=list)  # when it was told that there is nothing

    def take(self, answer: Answer) -> bool:
        """Note a claim's answer; whether a job was handed over. Anything but a job or a refusal fails."""
        if answer.status == 201:
            self.claimed.append(answer.body["id"])
            return True
        assert answer.status in {404, 409}, answer
        self.refusals.append(str(answer.code))
        if answer.status == 404:
            self.emptied.append(time.time())
        if answer.status == 409:
            self.holders.append((answer.context["job_id"], answer.context["holder"]))
        return False


Work = Callable[[Wire, Haul, Race], None]
Part = tuple[str, Work]
"""The token of an agent, and what a client does in its name."""


def _play(url: str, token: str, race: Race, work: Work) -> Haul:
    haul = Haul(token)
    with Wire(url, token) as wire:
        work(wire, haul, race)
    return haul


def play(race: Race, url: str, parts: Sequence[Part]) -> list[Haul]:
    """One thread and connection for each part, all starting when the whole crew is ready."""
    return race.in_threads([functools.partial(_play, url, token, race, work) for token, work in parts])


@dataclass(frozen=True)
class ClaimNext:
    """Claims the next job until there is none."""

    roles: tuple[str, ...]

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        while haul.take(wire.claim_next(*self.roles)):
            pass


@dataclass(frozen=True)
class ClaimEach:
    """Tries the ids of a list, one after the other."""

    ids: tuple[int, ...]

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        for job_id in self.ids:
            haul.take(wire.claim(job_id))


@dataclass(frozen=True)
class Publish:
    """Publishes so many jobs, then counts itself as done."""

    role: str
    number: int

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        haul.published = [
            wire.published(self.role, priority=random.choice([10, 20, 30, 40])) for _ in range(self.number)
        ]
        race.count()


@dataclass(frozen=True)
class Cancel:
    """Cancels jobs that it sees published, until all publishers are done and it sees none."""

    role: str
    publishers: int

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        while True:
            is_last_look = race.counter.value == self.publishers
            ids = _published(wire, self.role)
            for job_id in ids[-2:]:
                answer = wire.move(job_id, "cancelled", reason="Not needed any more")
                assert answer.status in {200, 409}, answer
                if answer.status == 200:
                    haul.cancelled.append(job_id)
            if is_last_look and not ids:
                return


@dataclass(frozen=True)
class TakeAndReturn:
    """Claims the next job; gives every third one back; ends when all are published and none is left."""

    role: str
    publishers: int

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        while True:
            is_last_look = race.counter.value == self.publishers
            answer = wire.claim_next(self.role)
            if haul.take(answer):
                if len(haul.claimed) % 3 == 0:
                    self._give_back(wire, haul, answer)
            elif is_last_look:
                return

    def _give_back(self, wire: Wire, haul: Haul, claim: Answer) -> None:
        job_id = claim.body["id"]
        answer = wire.release(job_id, lease_generation=claim.body["lease"]["generation"])
        # Its source may have cancelled it in the meantime.
        assert answer.status == 200 or answer.code == "cancelled", answer
        if answer.status == 200:
            haul.released.append(job_id)


@dataclass(frozen=True)
class Pick:
    """Claims by id what it sees published, until all publishers are done and it sees none."""

    role: str
    publishers: int

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        while True:
            is_last_look = race.counter.value == self.publishers
            ids = _published(wire, self.role)
            if ids:
                haul.take(wire.claim(random.choice(ids)))
            elif is_last_look:
                return


@dataclass(frozen=True)
class TakeAndReturnAlways:
    """So often: claims the next job, which must be there, and gives it back."""

    roles: tuple[str, ...]
    times: int

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        for _ in range(self.times):
            answer = wire.claim_next(*self.roles)
            assert answer.status == 201, answer
            haul.take(answer)
            race.count()
            job_id = answer.body["id"]
            returned = wire.release(job_id, lease_generation=answer.body["lease"]["generation"])
            assert returned.status == 200, returned


@dataclass(frozen=True)
class PublishChildren:
    """Publishes jobs of another role that refer to these as their parents, until the flag is set."""

    role: str
    parents: tuple[int, ...]

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        while not race.flag.is_set():
            parent = random.choice(self.parents)
            haul.published.append(wire.published(self.role, parent_job_id=parent))


@dataclass(frozen=True)
class ClaimWhenDue:
    """Asks for the next job until there is none although all are due."""

    roles: tuple[str, ...]
    due: float

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        while True:
            is_due = time.time() > self.due
            if not haul.take(wire.claim_next(*self.roles)) and is_due:
                return


@dataclass(frozen=True)
class ClaimUntilPaused:
    """Claims and gives back, by id if there are any; with the flag set, nothing more may be handed out."""

    role: str
    ids: tuple[int, ...]
    times: int = 3

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        refused = 0
        while refused < self.times:
            is_paused = race.flag.is_set()
            answer = wire.claim(random.choice(self.ids)) if self.ids else wire.claim_next(self.role)
            if haul.take(answer):
                assert not is_paused, "handed out in a pause"
                race.count()
                assert wire.release(answer.body["id"]).status == 200
            else:
                refused += is_paused and answer.code == "paused"


@dataclass(frozen=True)
class Call:
    """One call, whatever it is answered."""

    method: str
    path: str
    body: dict[str, Any]
    key: str | None = None

    def __call__(self, wire: Wire, haul: Haul, race: Race) -> None:
        haul.answers.append(wire.call(self.method, self.path, self.body, key=self.key))


def call_at_once(
    race: Race, url: str, token: str, call: tuple[str, str, dict[str, Any]], keys: Sequence[str]
) -> list[Answer]:
    """The same call under each key, at the same instant as all other processes; answered in the keys' order."""
    answers = []
    with Wire(url, token) as wire:
        for key in keys:
            race.gate()
            answer = wire.call(*call, key=key)
            while answer.code == "in_flight":
                answer = wire.call(*call, key=key)
            answers.append(answer)
    return answers


def _published(wire: Wire, role: str) -> list[int]:
    answer = wire.call(
        "GET", f"/jobs?status=published&target_role_key={role}&my_roles_only=false&limit={LISTED}"
    )
    assert answer.status == 200, answer
    return [job["id"] for job in answer.body]
