"""A served instance with everything that a race around it needs: records, backstage, roles and agents."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forkflux_site.tests.concurrency.backstage import Backstage
from forkflux_site.tests.concurrency.records import Records
from forkflux_site.tests.concurrency.wire import Wire
from testing.installation import Installation, Server

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Hand:
    """An agent: its address, its id and its token."""

    name: str
    id: int
    token: str


@dataclass(frozen=True)
class Board:
    """`records` looks past the server, `backstage` is the operator's process on the same database."""

    server: Server
    records: Records
    backstage: Backstage

    @property
    def is_postgresql(self) -> bool:
        return self.records.is_postgresql

    @property
    def url(self) -> str:
        return self.server.base_url

    def role(self, **policy: Any) -> str:
        """A new role that no other test has; `policy` as `roles.services.create_role` takes it."""
        key = f"role-{next(_numbers)}"
        self.backstage.ask("add_role", key=key, **policy)
        return key

    def hands(self, number: int, *roles: str) -> list[Hand]:
        """New agents that hold the roles."""
        labels = [f"hand-{next(_numbers)}" for _ in range(number)]
        return [Hand(*made) for made in self.backstage.ask("add_agents", labels=labels, roles=roles)]

    def hand(self, *roles: str) -> Hand:
        """One new agent."""
        [made] = self.hands(1, *roles)
        return made

    def wire(self, hand: Hand, *, session: str | None = None) -> Wire:
        """A connection as this agent; the caller closes it."""
        return Wire(self.url, hand.token, session=session)

    def sweep(self) -> dict[str, Any]:
        """One sweep by the operator's process: ids that it `expired`, `lapsed`, and its `errors`."""
        report: dict[str, Any] = self.backstage.ask("sweep")
        assert not report["errors"], report
        return report

    def lose_lease(self, job_id: int) -> None:
        """Have the job's lease run out, and swept."""
        self.records.end_lease(job_id, in_seconds=-1)
        assert job_id in self.sweep()["expired"]


@contextlib.contextmanager
def opened_board(installation: Installation, *arguments: str, **environment: str) -> Iterator[Board]:
    """A board on an initialised installation; everything that it started ends with the block."""
    settings: Mapping[str, str] = {"FORKFLUX_LEASE_SECONDS_MIN": "1", **environment}
    with contextlib.ExitStack() as opened:
        backstage = Backstage({**installation.environment, **settings})
        opened.callback(backstage.close)
        records = Records(installation.database_url)
        opened.callback(records.close)
        server = installation.serve(*arguments, environment=settings)
        opened.callback(server.close)
        yield Board(server, records, backstage)
