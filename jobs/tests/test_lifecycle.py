"""The life table as data: every state has a way out or is final, and the advice in a conflict is that table."""

from __future__ import annotations

import pytest

from jobs.lifecycle import (
    ARROWS,
    FINAL,
    HELD,
    LEASED,
    OPEN,
    Status,
    Verb,
    Who,
    allowed_from,
    arrow_from,
    arrows_of,
    sources_of,
)

STATES = pytest.mark.parametrize("status", list(Status), ids=str)
VERBS = pytest.mark.parametrize("verb", list(Verb), ids=str)


@STATES
def test_a_state_is_final_or_somebody_can_move_the_job_out_of_it(status):
    ways_out = [arrow for arrow in ARROWS if status in arrow.sources and arrow.target not in (None, status)]
    assert bool(ways_out) == (status not in FINAL)


@STATES
def test_a_person_or_an_agent_can_end_what_is_not_final(status):
    """Nothing hangs for ever because only the system could move it."""
    by_somebody = [
        arrow
        for arrow in ARROWS
        if status in arrow.sources and arrow.target is not None and set(arrow.who) != {Who.SYSTEM}
    ]
    assert bool(by_somebody) == (status not in FINAL)


@STATES
def test_every_state_but_pending_can_be_reached(status):
    reached = {Status.PUBLISHED} | {arrow.target for arrow in ARROWS}
    assert (status in reached) == (status is not Status.PENDING)


@STATES
def test_a_person_can_free_whatever_is_held(status):
    freeing = arrow_from(Verb.REQUEUE, status)
    assert (freeing is not None and Who.PERSON in freeing.who) == (status in HELD | {Status.FAILED})


@VERBS
def test_a_verb_leads_from_somewhere_and_from_each_state_along_one_arrow(verb):
    arrows = arrows_of(verb)
    assert arrows
    assert all(arrow.who for arrow in arrows)
    for status in Status:
        assert sum(status in arrow.sources for arrow in arrows) == (status in sources_of(verb))
        assert (arrow_from(verb, status) is None) == (status not in sources_of(verb))


def test_the_groups_of_states_fit_together():
    assert LEASED < HELD
    assert not HELD & OPEN
    assert not (HELD | OPEN) & FINAL
    assert set(Status) - HELD - OPEN - FINAL == {Status.FAILED}


def test_only_what_is_leased_expires_and_only_what_waits_lapses():
    assert sources_of(Verb.EXPIRE) == LEASED
    assert sources_of(Verb.LAPSE) == OPEN


@STATES
def test_the_advice_from_a_state_is_its_part_of_the_table_without_the_systems_own(status):
    advice = allowed_from(status)
    assert {(item["verb"], item["to"]) for item in advice} == {
        (str(arrow.verb), str(arrow.target) if arrow.target else None)
        for arrow in ARROWS
        if status in arrow.sources and arrow.who != (Who.SYSTEM,)
    }
    assert all(item["by"] and "the system" not in item["by"] for item in advice)
    assert bool(advice) == (status not in FINAL)
