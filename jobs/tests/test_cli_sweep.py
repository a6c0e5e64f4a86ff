"""`forkflux sweep`: what time alone changes, once or until it is told to end."""

import dataclasses
import signal

import pytest

from core.limits import LIMITS
from jobs.models import Job
from jobs.services import claiming, sweeping
from jobs.tests.board import PERSON, age, new_agent, new_role, published
from testing.command_line import forkflux
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def due():
    """A job whose lease has run out, and one that nobody claimed in time."""
    role = new_role()
    agent = new_agent(role)
    expired = claiming.claim(job_id=published(PERSON, role).pk, actor=agent, lease_seconds=60)
    lapsed = published(PERSON, role)
    Job.objects.filter(pk=lapsed.pk).update(expires_at=lapsed.created_at)
    age(Job.objects.filter(pk=expired.pk), 61)
    return expired, lapsed


NOTHING_ELSE: dict[str, object] = {"returned": [], "forgotten_keys": 0, "errors": []}


def test_a_sweep_reports_what_it_did(capsys, due):
    expired, lapsed = due
    report = forkflux(capsys, "sweep", "--json").document
    assert report == {"expired": [expired.pk], "lapsed": [lapsed.pk], **NOTHING_ELSE}
    assert Job.objects.get(pk=expired.pk).status == "published"
    assert Job.objects.get(pk=lapsed.pk).status == "cancelled"


def test_a_sweep_tells_a_person_what_it_did(capsys, due):
    expired, lapsed = due
    said = forkflux(capsys, "sweep").out
    assert f"ran out, jobs: {expired.pk}." in said
    assert f"unclaimed, jobs: {lapsed.pk}." in said
    assert forkflux(capsys, "sweep").out == "Nothing was due.\n"


def test_a_job_that_could_not_be_swept_is_named_and_the_rest_is_done(capsys, due, monkeypatch):
    expired, lapsed = due

    def broken(**_: object) -> bool:
        raise RuntimeError("planted")

    monkeypatch.setattr(sweeping, "expire", broken)
    ended = forkflux(capsys, "sweep")
    assert ended.status == 1
    assert f"unclaimed, jobs: {lapsed.pk}." in ended.out
    assert ended.err.endswith(f"Error: These jobs could not be swept, see the log: {expired.pk}.\n")
    monkeypatch.undo()
    forkflux(capsys, "sweep")


@pytest.fixture
def ended_after(monkeypatch):
    """`ended_after(n, signal)`: the loop's n-th sweep raises the signal; the pauses between sweeps are short."""

    def plant(number: int, with_signal: signal.Signals) -> None:
        done: list[sweeping.SweepReport] = []

        def sweep_once() -> sweeping.SweepReport:
            done.append(sweeping.sweep_once())
            if len(done) == number:
                signal.raise_signal(with_signal)
            return done[-1]

        monkeypatch.setattr("jobs.management.commands.sweep.sweep_once", sweep_once)

    quick = dataclasses.replace(LIMITS, sweep_seconds=0.01)
    monkeypatch.setattr("jobs.management.commands.sweep.LIMITS", quick)
    return plant


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_loop_sweeps_until_a_signal_ends_it_in_good_order(capsys, due, ended_after, number):
    before = signal.getsignal(number)
    ended_after(3, number)
    ended = forkflux(capsys, "sweep", "--loop", "--json")
    assert ended.document == {
        "sweeps": 3,
        "jobs_expired": 1,
        "jobs_lapsed": 1,
        "jobs_returned": 0,
        "keys_forgotten": 0,
        "errors": 0,
    }
    assert signal.getsignal(number) is before


def test_a_loop_tells_a_person_of_each_sweep_that_did_something(capsys, due, ended_after):
    ended_after(4, signal.SIGTERM)
    ended = forkflux(capsys, "sweep", "--loop")
    assert ended.status == 0
    assert ended.out.count("ran out") == 1
    assert "Nothing was due" not in ended.out
    assert ended.out.endswith("Ended after 4 sweeps.\n")
    assert "SIGTERM or Ctrl-C ends it" in ended.err
