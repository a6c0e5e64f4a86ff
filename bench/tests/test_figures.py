"""The arithmetic: percentiles, medians, ratios, and which aims count as met."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import pytest

from bench import figures
from bench.figures import BARE, CLAIMS, Figure, Growth, Repetition, percentile, repetition, verdicts
from bench.load import Outcome
from bench.processes import CpuTimes

WINDOW = Repetition(
    per_second=900.0,
    p50_ms=8.0,
    p99_ms=20.0,
    server_errors=0,
    resets=0,
    server_ms=1.5,
    database_ms=0.5,
    client_ms=0.1,
    elsewhere=0.2,
)
GROWTH = Growth(
    database="postgresql",
    roles=1,
    small=2_000,
    large=100_000,
    small_ms=(2.0, 4.0, 2.0),
    large_ms=(2.2, 4.0, 2.4),
    small_cpu_ms=2.0,
    large_cpu_ms=2.1,
)


def figure(operation: str, clients: int, *windows: Repetition, database: str = "postgresql") -> Figure:
    return Figure(database, 2, operation, clients, windows or (WINDOW,))


def window(**changed: Any) -> Repetition:
    return dataclasses.replace(WINDOW, **changed)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1.0), (0.5, 50.0), (0.501, 51.0), (0.99, 99.0), (1.0, 100.0)]
)
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(share, expected):
    values = [float(number) for number in range(100, 0, -1)]
    assert percentile(values, share) == expected


def test_a_percentile_of_one_value_is_that_value():
    assert [percentile([7.0], share) for share in (0.0, 0.5, 0.99)] == [7.0, 7.0, 7.0]


def test_a_percentile_of_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing was answered"):
        percentile([], 0.5)


def test_a_window_counts_what_fell_into_it_and_charges_the_cpu_to_all_that_was_answered():
    outcome = Outcome(
        seconds=2.0,
        in_window=8,
        latencies=[0.001 * number for number in range(1, 11)],
        statuses=Counter({201: 7, 503: 2, 500: 1}),
        resets=3,
    )
    before = CpuTimes(at=100.0, server=10.0, database=5.0, client=1.0, machine=50.0)
    after = CpuTimes(at=104.0, server=12.0, database=5.5, client=1.25, machine=53.75)
    found = repetition(outcome, before, after)
    expected = {
        "per_second": 4.0,
        "p50_ms": 5.0,
        "p99_ms": 10.0,
        "server_errors": 3,
        "resets": 3,
        "server_ms": 200.0,
        "database_ms": 50.0,
        "client_ms": 25.0,
        "elsewhere": 0.25,
    }
    assert dataclasses.asdict(found) == pytest.approx(expected)


def test_cpu_that_is_not_known_stays_unknown():
    outcome = Outcome(seconds=1.0, in_window=1, latencies=[0.001])
    before = CpuTimes(at=0.0, server=None, database=None, client=0.0, machine=None)
    found = repetition(outcome, before, dataclasses.replace(before, at=1.0, client=0.5))
    assert (found.server_ms, found.database_ms, found.elsewhere) == (None, None, None)
    assert figure(CLAIMS, 8, found, WINDOW).median("server_ms") is None
    assert figure(CLAIMS, 8, found).cpu_ms is None


def test_a_figure_is_the_median_of_its_windows_and_the_sum_of_their_errors():
    windows = [window(per_second=number, p50_ms=number, server_errors=1, resets=2) for number in (5, 900, 7)]
    found = figure(CLAIMS, 8, *windows)
    assert (found.per_second, found.p50_ms, found.median("p99_ms")) == (7, 7, 20.0)
    assert (found.server_errors, found.resets) == (3, 6)
    assert found.cpu_ms == 2.0


def test_growth_compares_neighbouring_batches_and_the_cpu_of_all():
    # The middle of the ratios 1.1, 1.0 and 1.2; the ratio of the medians would be 2.4 / 2.0.
    assert GROWTH.time_ratio == pytest.approx(1.1)
    assert GROWTH.cpu_ratio == pytest.approx(1.05)
    assert GROWTH.worst_ratio == pytest.approx(1.1)
    dearer = dataclasses.replace(GROWTH, large_cpu_ms=3.0)
    assert dearer.worst_ratio == pytest.approx(1.5)
    unknown = dataclasses.replace(GROWTH, small_cpu_ms=None)
    assert unknown.cpu_ratio is None
    assert unknown.worst_ratio == pytest.approx(1.1)


def met(*measured: Figure, growths: tuple[Growth, ...] = ()) -> list[bool]:
    return [verdict.met for verdict in verdicts(measured, growths)]


@pytest.mark.parametrize(
    ("claims", "bare", "expected"),
    [
        (840.0, 1680.0, [True, True]),
        (840.0, 1681.0, [False, True]),
        (839.9, 1000.0, [True, False]),
        (100.0, 1000.0, [False, False]),
    ],
    ids=["both just met", "below half of the bare view", "below thirty times", "neither"],
)
def test_the_rate_of_claims_is_held_against_the_bare_view_and_the_original(claims, bare, expected):
    measured = [figure(CLAIMS, 8, window(per_second=claims)), figure(BARE, 8, window(per_second=bare))]
    assert met(*measured) == expected


def test_only_postgresql_with_the_aims_number_of_clients_decides_about_rates():
    slow = window(per_second=1.0)
    others = [
        figure(CLAIMS, 1, slow),
        figure(CLAIMS, 8, slow, database="sqlite"),
        figure(BARE, 8, slow, database="sqlite"),
    ]
    assert met(*others) == []
    assert met(*others, figure(CLAIMS, 8), figure(BARE, 8)) == [True, True]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"p50_ms": 100.0}, [True, True]),
        ({"p50_ms": 100.1}, [False, True]),
        ({"server_errors": 1}, [True, False]),
        ({"resets": 1}, [True, False]),
    ],
    ids=["just met", "too slow", "a 5xx", "a closed connection"],
)
def test_a_crowd_must_be_answered_in_time_and_without_errors(changed, expected):
    assert met(figure(CLAIMS, 50, window(**changed))) == expected


def test_an_error_of_any_operation_and_database_counts_in_a_crowd():
    fine = figure(CLAIMS, 50)
    assert met(fine, figure("list", 50, window(server_errors=1), database="sqlite")) == [True, False]
    assert met(fine, figure("list", 8, window(server_errors=1))) == [True, True]


def test_growth_is_held_against_its_aim_by_time_and_by_cpu():
    dearer = dataclasses.replace(GROWTH, large_cpu_ms=2.5)
    slower = dataclasses.replace(GROWTH, large_ms=(2.5, 5.0, 2.5))
    assert met(growths=(GROWTH, dearer, slower)) == [True, False, False]
    assert figures.AIM_GROWTH == 1.2
