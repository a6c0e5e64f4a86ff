"""A refused request changes nothing: a table of them, each with its answer and the database before and after."""

from __future__ import annotations

import pytest

from jobs.tests.board import dump
from jobs.tests.refusals import Refusal, World
from jobs.tests.refusals_of_form import BODIES, FIELDS, IDS_AND_QUERIES, OTHER_BODIES, POISON
from jobs.tests.refusals_of_state import CLAIMS, CREDENTIALS, HEADERS, STATES
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

REFUSALS = [
    *BODIES,
    *POISON,
    *FIELDS,
    *OTHER_BODIES,
    *IDS_AND_QUERIES,
    *CREDENTIALS,
    *HEADERS,
    *CLAIMS,
    *STATES,
]
# Everything but presence: that an agent called is so, whatever became of the call.
TABLES = (
    "jobs_job",
    "jobs_joblabel",
    "artifacts_artifact",
    "events_event",
    "events_streamhead",
    "core_idempotencyrecord",
    "roles_role",
)


@pytest.fixture(scope="module")
def world(db: None) -> World:
    return World()


def test_there_are_enough_of_them_and_no_two_are_the_same():
    assert len(REFUSALS) >= 80
    assert len({refusal.id for refusal in REFUSALS}) == len(REFUSALS)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.id)
def test_a_refused_request_says_why_and_changes_nothing(world: World, refusal: Refusal):
    before = dump(*TABLES)

    response = world.send(refusal)

    assert response.status_code == refusal.status, response.content.decode()
    assert _code_of(response) == refusal.code, response.content.decode()
    if refusal.loc is not None:
        assert response.json()["detail"][0]["loc"] == list(refusal.loc)
    assert dump(*TABLES) == before


def test_an_accepted_request_would_be_noticed(world: World):
    """The dumps can tell: the holder's own call renews the lease of its job, and that is seen."""
    before = dump(*TABLES)
    holder = world.callers["worker"]

    assert holder.get(f"/jobs/{world.jobs['held'].pk}").status_code == 200

    assert dump(*TABLES) != before


def _code_of(response) -> str | None:
    told = response.json()
    if response.status_code == 422:
        assert all(set(entry) >= {"type", "loc", "msg", "input"} for entry in told["detail"])
        return told["detail"][0]["type"]
    if response.status_code == 409:
        [entry] = told["detail"]
        assert entry["msg"].endswith(".") or entry["msg"].endswith(")")
        return entry["ctx"]["code"]
    assert told["detail"]
    return told.get("code") if response.status_code == 403 else told.get("reason")
