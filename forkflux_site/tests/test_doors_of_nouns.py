"""Agents, tokens and roles: one verb, three doors, the same rows, the same events by a person, the same refusal."""

import uuid
from collections.abc import Callable

import pytest
from django.test import Client

from forkflux_site.tests.doors import TERMINAL_USER
from forkflux_site.tests.doors_of_nouns import (
    Doorkeeper,
    Scene,
    at_the_terminal,
    by_rest,
    by_service,
    in_the_admin,
    offered_at_the_terminal,
    offered_by_rest,
    offered_in_the_admin,
)
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.people import member, signed_in

pytestmark = pytest.mark.usefixtures("db")

Door = tuple[Callable[[], set[str]], Callable[[Doorkeeper, Scene, str], str | None]]
DOORS: dict[str, Door] = {
    "REST": (offered_by_rest, by_rest),
    "command line": (offered_at_the_terminal, at_the_terminal),
    "admin": (offered_in_the_admin, in_the_admin),
}
# A verb, and what is so before.
DONE = [
    ("agent add", ""),
    ("agent edit", ""),
    ("agent deactivate", ""),
    ("agent delete", ""),
    ("agent activate", "inactive"),
    ("agent assign-role", ""),
    ("agent unassign-role", ""),
    ("token issue", ""),
    ("token revoke", ""),
    ("token rotate", ""),
    ("role add", ""),
    ("role edit", ""),
    ("role pause", ""),
    ("role resume", "paused"),
    ("role delete", "idle"),
    ("role delete, moving", ""),
]
REFUSED = [
    ("agent deactivate", "inactive"),
    ("agent delete", "inactive"),
    ("agent activate", ""),
    ("role add again", ""),
    ("role delete", ""),
]


@pytest.fixture
def keeper(capsys: pytest.CaptureFixture[str]):
    """With an operator, until the test is over: what is committed here is seen by other modules."""
    user = member(f"anna-{uuid.uuid4().hex[:8]}", "operators")
    browser = Client(SERVER_NAME="localhost")
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    yield Doorkeeper(signed_in(user), user.pk, browser, capsys)
    browser.logout()
    user.delete()


def doors_of(verb: str) -> dict[str, Door]:
    known = verb.removesuffix(", moving").removesuffix(" again")
    return {name: door for name, door in DOORS.items() if known in door[0]()}


@pytest.mark.parametrize("name", DOORS)
def test_every_verb_that_a_door_offers_is_driven(name: str) -> None:
    offered = DOORS[name][0]()
    assert offered <= {verb for verb, _ in DONE}
    assert len(offered) >= 12


@pytest.mark.parametrize(("verb", "state"), DONE, ids=lambda value: value or "as made")
def test_a_verb_does_the_same_through_each_door(keeper: Doorkeeper, verb: str, state: str) -> None:
    expected = Scene(state)
    assert by_service(keeper, expected, verb) is None
    told = expected.told()
    assert told["events"]
    assert doors_of(verb)
    for name, (_, use) in doors_of(verb).items():
        scene = Scene(state)
        assert use(keeper, scene, verb) is None, name
        assert scene.told() == told, name
        by = (TERMINAL_USER, None) if name == "command line" else (keeper.person.name, keeper.user_id)
        for event in scene.events():
            assert event.actor_kind == "person", name
            assert (event.actor_name, event.actor_user_id, event.via) == (*by, None), name


@pytest.mark.parametrize(("verb", "state"), REFUSED, ids=lambda value: value or "as made")
def test_a_verb_is_refused_in_the_same_words_through_each_door(
    keeper: Doorkeeper, verb: str, state: str
) -> None:
    expected = Scene(state)
    before = expected.told()
    sentence = by_service(keeper, expected, verb)
    assert sentence
    for name, (_, use) in doors_of(verb).items():
        scene = Scene(state)
        assert use(keeper, scene, verb) == sentence, name
        assert scene.told() == before, name
