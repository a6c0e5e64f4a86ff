"""Every verb, in any order, by anybody, against a model of the life table that was written from the rules."""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from jobs.tests.life_machine import Life
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def agree(*, examples: int, steps: int, seed_anew: bool) -> None:
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            # The same examples at every run, so that a change that breaks one is the change that is looked at;
            # the soak looks for new ones.
            derandomize=not seed_anew,
            database=None,
            deadline=None,
            print_blob=seed_anew,
            suppress_health_check=list(HealthCheck),
        ),
    )


# When it fails, shrinking the example to its few telling steps takes minutes.
@pytest.mark.timeout(900)
def test_verbs_agree_with_the_life_table():
    agree(examples=10, steps=30, seed_anew=False)


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)
def test_verbs_agree_with_the_life_table_over_many_lives(rounds):
    agree(
        examples=rounds(small=80, full=2_000),
        steps=rounds(small=60, full=100),
        seed_anew=os.environ.get("FORKFLUX_SOAK") == "1",
    )
