"""Claim-next over several roles looks without locks first; what it then takes is decided again."""

import pytest

from jobs import queue
from jobs.errors import NothingToClaim
from jobs.services.claiming import claim_next
from jobs.tests.board import PERSON, new_agent, new_role, published
from roles.services import pause_role

pytestmark = pytest.mark.django_db


def test_a_role_that_was_paused_between_the_look_and_the_lock_hands_out_nothing(monkeypatch):
    paused, other = new_role(), new_role()
    worker = new_agent(paused, other)
    published(worker, paused)
    look = queue.candidates

    def look_and_let_a_person_pause(*arguments):
        found = look(*arguments)
        pause_role(actor=PERSON, role_key=paused.role_key, reason="incident")
        return found

    monkeypatch.setattr(queue, "candidates", look_and_let_a_person_pause)

    with pytest.raises(NothingToClaim) as refusal:
        claim_next(actor=worker, role_keys=[paused.role_key, other.role_key])

    assert refusal.value.data["reason"] == "paused"
