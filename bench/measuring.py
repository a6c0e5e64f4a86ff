"""What is measured, and in which order: every operation with every number of clients, round after round."""

from __future__ import annotations

import resource
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bench.figures import (
    BARE,
    CLAIMS,
    HEALTH,
    LISTS,
    PUBLISHES,
    STATEMENT,
    Figure,
    Growth,
    Repetition,
    percentile,
    repetition,
    work_seconds,
)
from bench.load import LoadFailed, Outcome, drive
from bench.seeding import CLAIMED_ROLES, STATEMENT_ROLE
from bench.served import ONE_ROLE, Database, Served
from bench.statement import run_pgbench

# More than anything here answers: the jobs that a window may claim must be there before it opens.
CLAIMS_PER_SECOND_MOST = 3_000
STATEMENTS_PER_SECOND_MOST = 10_000
BATCH_SECONDS = 60.0


@dataclass(frozen=True)
class Plan:
    """How long and how often.

    `seconds` is a window; the first of `rounds` comes after a short warm-up. A board of `small` and one of
    `large` published jobs are compared on the databases of `growth_on`, by `batches` of `batch` claims each.
    """

    seconds: float
    rounds: int
    clients: tuple[int, ...]
    small: int
    large: int
    batches: int
    batch: int
    growth_on: tuple[Database, ...]

    @property
    def warm_up_seconds(self) -> float:
        return min(1.0, self.seconds / 2)


@dataclass(frozen=True)
class Operation:
    """A name, the requests of so many clients, and the status that each is answered with."""

    name: str
    requests: Callable[[int], list[bytes]]
    expected: int


def operations(served: Served) -> list[Operation]:
    """What the load consists of, the bare views first."""
    return [
        Operation(HEALTH, served.health, 204),
        Operation(BARE, served.me, 200),
        Operation(LISTS, served.lists, 200),
        Operation(PUBLISHES, served.publishes, 201),
        Operation(CLAIMS, served.claims, 201),
    ]


def measure(served: Served, plan: Plan, *, pgbench: Path | None) -> list[Figure]:
    """The load on one server. Rounds are outermost: what disturbs the machine for a while hits all alike."""
    todo = operations(served)
    found: dict[tuple[str, int], list[Repetition]] = defaultdict(list)
    _stock(served, plan)
    served.board.analyze()
    for operation in todo:
        # Each worker's threads make their connections and prepare their statements here.
        _window(served, operation, max(plan.clients), plan.warm_up_seconds)
    for number in range(1, plan.rounds + 1):
        for clients in plan.clients:
            _say(f"{served.database}, round {number} of {plan.rounds}, {clients} clients")
            for operation in todo:
                _stock(served, plan)
                found[operation.name, clients].append(_window(served, operation, clients, plan.seconds))
            if pgbench is not None:
                found[STATEMENT, clients].append(_statement(served, pgbench, clients, plan.seconds))
    return [
        Figure(served.database, served.workers, name, clients, tuple(repetitions))
        for (name, clients), repetitions in found.items()
    ]


def measure_growth(small: Served, large: Served, plan: Plan) -> list[Growth]:
    """What a claim costs one client on both boards, batches in turns; of one role and of all three."""
    for served, jobs in ((small, plan.small), (large, plan.large)):
        _say(f"{served.database}: {jobs:,} published jobs")
        for key in CLAIMED_ROLES:
            served.board.add(served.role_id(key), jobs // len(CLAIMED_ROLES))
        served.board.analyze()
    return [_growth(small, large, plan, roles) for roles in (ONE_ROLE, CLAIMED_ROLES)]


def _growth(small: Served, large: Served, plan: Plan, roles: tuple[str, ...]) -> Growth:
    _say(
        f"{small.database}: claims of {len(roles)} of 3 roles in turns, {plan.batches} batches of {plan.batch}"
    )
    boards = (_Turns(small, roles), _Turns(large, roles))
    for turns in boards:
        turns.take(plan.batch)
        turns.forget()
    for number in range(plan.batches):
        # First the one, then the other: who comes second finds the CPU's caches in another state.
        for turns in boards if number % 2 else boards[::-1]:
            turns.take(plan.batch)
    return Growth(
        database=small.database,
        roles=len(roles),
        small=plan.small,
        large=plan.large,
        small_ms=tuple(boards[0].milliseconds),
        large_ms=tuple(boards[1].milliseconds),
        small_cpu_ms=boards[0].cpu_ms,
        large_cpu_ms=boards[1].cpu_ms,
    )


class _Turns:
    """One board's side of the comparison: what is claimed is filled up again, so that it stays as large."""

    def __init__(self, served: Served, roles: tuple[str, ...]) -> None:
        self.served = served
        self.roles = roles
        self.forget()

    def forget(self) -> None:
        self.milliseconds: list[float] = []
        self.claims = 0
        self.seconds: float | None = 0.0

    @property
    def cpu_ms(self) -> float | None:
        return None if self.seconds is None else self.seconds / self.claims * 1000

    def take(self, count: int) -> None:
        before = self.served.cpu()
        outcome = drive(
            self.served.address,
            self.served.claims(1, self.roles),
            expected=201,
            seconds=BATCH_SECONDS,
            most=count,
        )
        spent = work_seconds(before, self.served.cpu())
        if outcome.statuses[201] != count or outcome.resets:
            raise LoadFailed(f"{count} claims were answered with {dict(outcome.statuses)} {outcome.bodies}")
        self.claims += count
        self.milliseconds.append(percentile(outcome.latencies, 0.5) * 1000)
        self.seconds = None if spent is None or self.seconds is None else self.seconds + spent
        for number, key in enumerate(self.roles):
            share = count // len(self.roles) + (number < count % len(self.roles))
            self.served.board.add(self.served.role_id(key), share)


def _window(served: Served, operation: Operation, clients: int, seconds: float) -> Repetition:
    requests = operation.requests(clients)
    before = served.cpu()
    outcome = drive(served.address, requests, expected=operation.expected, seconds=seconds)
    for status, text in outcome.bodies.items():
        _say(f"{served.database}, {operation.name}, {clients} clients: {outcome.statuses[status]} × {text}")
    return repetition(outcome, before, served.cpu())


def _statement(served: Served, program: Path, clients: int, seconds: float) -> Repetition:
    role_id = served.role_id(STATEMENT_ROLE)
    served.board.fill(role_id, round(max(1.0, seconds) * STATEMENTS_PER_SECOND_MOST))
    before, spent_before = served.cpu(), _children_seconds()
    outcome: Outcome = run_pgbench(
        program,
        served.server.installation.database_url,
        role_id=role_id,
        agent_id=served.seeded.claimer_ids[0],
        clients=clients,
        seconds=seconds,
    )
    after = served.cpu()
    if served.board.published(role_id) == 0:
        raise LoadFailed("pgbench ran out of jobs, so its last statements claimed nothing")
    client = after.client + _children_seconds() - spent_before
    return replace(repetition(outcome, before, replace(after, client=client)), server_ms=None)


def _stock(served: Served, plan: Plan) -> None:
    served.board.fill(served.role_id(ONE_ROLE[0]), round(plan.seconds * CLAIMS_PER_SECOND_MOST))


def _children_seconds() -> float:
    """CPU of child processes that have ended: pgbench's own, which is the client's."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)
