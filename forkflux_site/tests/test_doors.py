"""One verb, many doors: the same row, the same event by the right kind of actor, and the same refusal through each."""

import uuid

import pytest
from django.test import Client

from forkflux_site.tests.doors import DOORS, TERMINAL_USER, Door, Doorkeeper, by_service
from forkflux_site.tests.doors_scene import ARGUMENTS, Scene, seconds_of_lease
from jobs.lifecycle import Verb
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.people import member, signed_in

pytestmark = pytest.mark.usefixtures("db")

# Verb, who does it, in which state the job is; and a state from which it is refused, by whom it is tried.
TABLE: list[tuple[str, str, str, str, str]] = [
    ("publish", "source", "nothing", "", ""),
    ("publish", "person", "nothing", "", ""),
    ("claim", "worker", "published", "in_progress", "rival"),
    ("claim", "worker", "published", "published", "guest"),
    ("claim", "rival", "published", "on_hold", "worker"),
    ("claim_next", "worker", "published", "published", "guest"),
    ("heartbeat", "worker", "in_progress", "in_progress", "rival"),
    ("complete", "worker", "in_progress", "blocked", "worker"),
    ("complete", "worker", "in_progress", "in_progress", "rival"),
    ("fail", "worker", "blocked", "completed", "worker"),
    ("block", "worker", "in_progress", "blocked", "worker"),
    ("unblock", "worker", "blocked", "in_progress", "worker"),
    ("unblock", "source", "blocked", "blocked", "guest"),
    ("unblock", "person", "blocked", "unblocked", "person"),
    ("resume", "worker", "unblocked", "completed", "worker"),
    ("restart", "worker", "failed", "failed", "rival"),
    ("release", "worker", "in_progress", "failed", "worker"),
    ("requeue", "source", "failed", "failed", "guest"),
    ("requeue", "person", "in_progress", "published", "person"),
    ("requeue", "person", "failed", "completed", "person"),
    ("reassign", "person", "in_progress", "failed", "person"),
    ("reassign", "person", "published", "on_hold", "person"),
    ("cancel", "source", "published", "published", "guest"),
    ("cancel", "worker", "in_progress", "completed", "worker"),
    ("cancel", "person", "blocked", "cancelled", "person"),
    ("hold", "source", "published", "published", "guest"),
    ("hold", "person", "published", "in_progress", "person"),
    ("unhold", "source", "on_hold", "on_hold", "guest"),
    ("unhold", "person", "on_hold", "completed", "person"),
    ("update", "source", "published", "in_progress", "source"),
    ("edit", "person", "published", "in_progress", "person"),
    ("delete", "person", "completed", "published", "person"),
]
DONE = list(dict.fromkeys((verb, who, state) for verb, who, state, *_ in TABLE))
# Nothing stands in the way of a new job that is well formed.
REFUSED = [(verb, who, state) for verb, _, _, state, who in TABLE if state]


@pytest.fixture
def keeper(capsys: pytest.CaptureFixture[str]):
    """With an operator, until the test is over: what is committed here is seen by other modules."""
    user = member(f"anna-{uuid.uuid4().hex[:8]}", "operators")
    browser = Client(SERVER_NAME="localhost")
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    yield Doorkeeper(signed_in(user), user.pk, browser, capsys)
    browser.logout()
    user.delete()


def kind_of(who: str) -> str:
    return "person" if who == "person" else "agent"


def doors_of(verb: str, who: str) -> list[Door]:
    return [door for door in DOORS if door.kind == kind_of(who) and verb in door.offered()]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_every_verb_that_a_door_offers_has_its_rows(door: Door) -> None:
    driven = {verb for verb, who, *_ in TABLE if kind_of(who) == door.kind}
    assert door.offered() <= driven
    assert len(door.offered()) >= 7


def test_every_verb_of_the_life_table_is_driven_through_some_door() -> None:
    driven = {verb for verb, who, *_ in TABLE if doors_of(verb, who)}
    assert driven == set(ARGUMENTS)
    assert {str(verb) for verb in Verb} - driven == {"expire", "lapse"}


@pytest.mark.parametrize("row", DONE, ids=" ".join)
def test_a_verb_does_the_same_through_each_door(keeper: Doorkeeper, row) -> None:
    verb, who, state = row
    expected = Scene(state)
    assert by_service(expected, verb, keeper.actor(expected, who)) is None
    for door in doors_of(verb, who):
        scene = Scene(state)
        assert door.use(keeper, scene, verb, who) is None, door.name
        assert scene.told() == expected.told(), door.name
        assert seconds_of_lease(scene) == seconds_of_lease(expected), door.name
        event = scene.last_event()
        actor = (event.actor_kind, event.actor_name, event.actor_user_id, event.actor_agent_id, event.via)
        assert actor == author(keeper, door, scene, who), door.name


def author(
    keeper: Doorkeeper, door: Door, scene: Scene, who: str
) -> tuple[str, str, int | None, int | None, str | None]:
    """Kind, name, user and agent of the event, and in whose hand the agent acted."""
    if who != "person":
        agent = scene.callers[who]
        return "agent", agent.name, None, agent.agent_id, TERMINAL_USER if door.via_terminal else None
    if door.via_terminal:
        # Trusted as an operator, and no user of the database.
        return "person", TERMINAL_USER, None, None, None
    return "person", keeper.person.name, keeper.user_id, None, None


@pytest.mark.parametrize("row", REFUSED, ids=" ".join)
def test_a_verb_is_refused_in_the_same_words_through_each_door(keeper: Doorkeeper, row) -> None:
    verb, who, state = row
    expected = Scene(state)
    before = expected.told()
    refusal = by_service(expected, verb, keeper.actor(expected, who))
    assert refusal is not None
    assert expected.told() == before
    for door in doors_of(verb, who):
        scene = Scene(state)
        found = door.use(keeper, scene, verb, who)
        assert found is not None, door.name
        assert found.sentence == refusal.sentence, door.name
        assert found.code == (refusal.code if door.tells_code else None), door.name
        assert scene.told() == before, door.name
