"""The arithmetic of the benchmark: percentiles, medians, shares, and what the aims make of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.load import Outcome
from bench.processes import CpuTimes

ORIGINAL_CLAIMS_PER_SECOND = 28.0
"""What the original answered per second, as measured for the specification of this project."""

AIM_OF_BARE_VIEW = 0.5
AIM_TIMES_ORIGINAL = 30.0
AIM_P50_MS = 100.0
AIM_GROWTH = 1.2
AIM_CLIENTS = 8
AIM_MANY_CLIENTS = 50

BARE, HEALTH, LISTS, PUBLISHES, CLAIMS, STATEMENT = (
    "bare view, authenticated",
    "bare view, no credential",
    "list",
    "publish",
    "claim-next",
    "claim statement, pgbench",
)


@dataclass(frozen=True)
class Repetition:
    """One measured window. Times in ms; CPU in ms for each answer; `elsewhere` is a share of one CPU.

    `server_ms`, `database_ms`, `elsewhere`: None when not known or not there. On SQLite the database runs
    inside the server. `elsewhere` is what other processes of the machine used meanwhile.
    """

    per_second: float
    p50_ms: float
    p99_ms: float
    server_errors: int
    resets: int
    server_ms: float | None
    database_ms: float | None
    client_ms: float
    elsewhere: float | None


@dataclass(frozen=True)
class Figure:
    """One operation on one database with so many clients: the medians over its repetitions."""

    database: str
    workers: int
    operation: str
    clients: int
    repetitions: tuple[Repetition, ...]

    def median(self, name: str) -> float | None:
        """The median of one of the repetitions' numbers; None when one of them is not known."""
        values = [getattr(repetition, name) for repetition in self.repetitions]
        return None if None in values else float(statistics.median(values))

    @property
    def per_second(self) -> float:
        return statistics.median(repetition.per_second for repetition in self.repetitions)

    @property
    def p50_ms(self) -> float:
        return statistics.median(repetition.p50_ms for repetition in self.repetitions)

    @property
    def cpu_ms(self) -> float | None:
        """CPU of server and database for each answer, ms; None when not known."""
        known = [ms for ms in (self.median("server_ms"), self.median("database_ms")) if ms is not None]
        return sum(known) if known else None

    def most_per_second(self, cpus: int) -> float | None:
        """Answers that so many CPUs could give if they did nothing else, at the measured cost of each.

        The client's cost counts: it ran on the same machine.
        """
        client = self.median("client_ms")
        if not self.cpu_ms or client is None:
            return None
        return cpus * 1000 / (self.cpu_ms + client)

    @property
    def server_errors(self) -> int:
        """5xx of all repetitions."""
        return sum(repetition.server_errors for repetition in self.repetitions)

    @property
    def resets(self) -> int:
        """Connections that the server closed on a request, of all repetitions."""
        return sum(repetition.resets for repetition in self.repetitions)


@dataclass(frozen=True)
class Growth:
    """What a claim costs on a large board beside a small one, batch by batch in turns.

    `small_ms` and `large_ms` are medians of a claim's time of each batch. CPU is that of server and
    database together, ms for each claim, over all batches; None when not known.
    """

    database: str
    roles: int
    small: int
    large: int
    small_ms: tuple[float, ...]
    large_ms: tuple[float, ...]
    small_cpu_ms: float | None
    large_cpu_ms: float | None

    @property
    def time_ratio(self) -> float:
        """The median of the ratios of neighbouring batches: load that comes and goes hits both of a pair."""
        pairs = zip(self.small_ms, self.large_ms, strict=True)
        return statistics.median(large / small for small, large in pairs)

    @property
    def cpu_ratio(self) -> float | None:
        if self.small_cpu_ms is None or self.large_cpu_ms is None:
            return None
        return self.large_cpu_ms / self.small_cpu_ms

    @property
    def worst_ratio(self) -> float:
        """The cost is both: time, in which the wait for the disk hides a dearer query, and CPU."""
        return max(self.time_ratio, self.cpu_ratio or 0.0)


@dataclass(frozen=True)
class Verdict:
    """One aim, what was measured, and whether that meets it."""

    aim: str
    measured: str
    met: bool


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest of the values that at least `share` of them do not exceed; ValueError for none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values: nothing was answered")
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def repetition(outcome: Outcome, before: CpuTimes, after: CpuTimes) -> Repetition:
    """The numbers of one window from what came back and the CPU readings around it."""
    answers = len(outcome.latencies)
    spent = _difference(before, after)
    known = [part for part in (spent.server, spent.database, spent.client) if part is not None]
    return Repetition(
        per_second=outcome.in_window / outcome.seconds,
        p50_ms=percentile(outcome.latencies, 0.50) * 1000,
        p99_ms=percentile(outcome.latencies, 0.99) * 1000,
        server_errors=outcome.server_errors,
        resets=outcome.resets,
        server_ms=_each(spent.server, answers),
        database_ms=_each(spent.database, answers),
        client_ms=spent.client / answers * 1000,
        elsewhere=None if spent.machine is None else max(0.0, spent.machine - sum(known)) / spent.at,
    )


def _difference(before: CpuTimes, after: CpuTimes) -> CpuTimes:
    return CpuTimes(
        at=after.at - before.at,
        server=_minus(after.server, before.server),
        database=_minus(after.database, before.database),
        client=after.client - before.client,
        machine=_minus(after.machine, before.machine),
    )


def work_seconds(before: CpuTimes, after: CpuTimes) -> float | None:
    """CPU of server and database between two readings."""
    spent = _difference(before, after)
    return None if spent.server is None else spent.server + (spent.database or 0.0)


def _minus(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before


def _each(seconds: float | None, answers: int) -> float | None:
    return None if seconds is None else seconds / answers * 1000


def find(
    figures: Sequence[Figure], operation: str, clients: int, database: str = "postgresql"
) -> Figure | None:
    """The figure of an operation with so many clients, if it was measured."""
    for figure in figures:
        if (figure.database, figure.operation, figure.clients) == (database, operation, clients):
            return figure
    return None


def verdicts(figures: Sequence[Figure], growths: Sequence[Growth]) -> list[Verdict]:
    """What the measured figures say about each aim that they can say something about."""
    found: list[Verdict] = []
    claims, bare = (find(figures, operation, AIM_CLIENTS) for operation in (CLAIMS, BARE))
    if claims is not None and bare is not None:
        share = claims.per_second / bare.per_second
        by_cpu = "" if not (claims.cpu_ms and bare.cpu_ms) else f"; by CPU {bare.cpu_ms / claims.cpu_ms:.0%}"
        found.append(
            Verdict(
                f"claim-next ≥ {AIM_OF_BARE_VIEW:.0%} of the bare authenticated view, {AIM_CLIENTS} clients",
                f"{share:.0%} ({claims.per_second:.0f} of {bare.per_second:.0f}/s{by_cpu})",
                share >= AIM_OF_BARE_VIEW,
            )
        )
    if claims is not None:
        least = AIM_TIMES_ORIGINAL * ORIGINAL_CLAIMS_PER_SECOND
        found.append(
            Verdict(
                f"claim-next ≥ {AIM_TIMES_ORIGINAL:g} times the original's "
                f"{ORIGINAL_CLAIMS_PER_SECOND:g}/s = {least:.0f}/s, {AIM_CLIENTS} clients",
                f"{claims.per_second:.0f}/s, {claims.per_second / ORIGINAL_CLAIMS_PER_SECOND:.0f} times",
                claims.per_second >= least,
            )
        )
    many = find(figures, CLAIMS, AIM_MANY_CLIENTS)
    if many is not None:
        found.append(
            Verdict(
                f"claim-next p50 ≤ {AIM_P50_MS:g} ms, {AIM_MANY_CLIENTS} clients",
                f"{many.p50_ms:.0f} ms",
                many.p50_ms <= AIM_P50_MS,
            )
        )
    crowded = [figure for figure in figures if figure.clients == AIM_MANY_CLIENTS]
    if crowded:
        errors = sum(figure.server_errors for figure in crowded)
        resets = sum(figure.resets for figure in crowded)
        found.append(
            Verdict(
                f"no 5xx and no closed connection with {AIM_MANY_CLIENTS} clients, all operations",
                f"{errors} 5xx, {resets} closed",
                errors == resets == 0,
            )
        )
    found += [_growth_verdict(growth) for growth in growths]
    return found


def _growth_verdict(growth: Growth) -> Verdict:
    roles = "one role" if growth.roles == 1 else f"{growth.roles} roles"
    cpu = "" if growth.cpu_ratio is None else f", CPU {growth.cpu_ratio:.2f}"
    return Verdict(
        f"claim-next of {roles} at {growth.large:,} jobs ≤ {AIM_GROWTH:g} times the cost at {growth.small:,}, "
        f"{growth.database}",
        f"time {growth.time_ratio:.2f}{cpu}",
        growth.worst_ratio <= AIM_GROWTH,
    )
