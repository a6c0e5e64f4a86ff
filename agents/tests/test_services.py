"""Agents, their names and their tokens: what is unique, what is stored, and what never is."""

from __future__ import annotations

import functools
import hashlib
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import connection

from agents.errors import AgentUnknown, TokenUnknown
from agents.models import Agent, AgentRole, AgentToken
from agents.selectors import identity_by_name, identity_by_token_hash
from agents.services import issue_token, register_agent, revoke_token, token_hash, write_presence
from core.clock import database_moment
from core.errors import InvalidInput
from core.limits import LIMITS
from events.models import Event
from jobs.tests.board import PERSON, Caller, as_now, caller, new_agent, new_role
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.threads import at_once

pytestmark = pytest.mark.usefixtures("db")


def registered(label: str, *roles: str) -> tuple[Agent, str]:
    agent, issued = register_agent(actor=PERSON, agent_label=label, role_keys=roles)
    return agent, issued.secret


def whole_database() -> str:
    """Every column of every row of every table of ours, as text."""
    found = []
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            cursor.execute(f'SELECT * FROM "{model._meta.db_table}"')
            found += [repr(row) for row in cursor.fetchall()]
    return "\n".join(found)


@pytest.mark.parametrize(
    ("label", "names"),
    [
        pytest.param("Login Bot", ["login-bot", "login-bot-2", "login-bot-3"], id="a label shared by three"),
        pytest.param("審査", ["agent", "agent-2"], id="nothing that a slug could hold"),
        pytest.param("x" * 255, ["x" * 60, "x" * 60 + "-2"], id="the longest label"),
        pytest.param("Ünïcödé!", ["unicode"], id="accents"),
    ],
)
def test_a_label_need_not_be_unique_and_a_name_is(label, names):
    assert [registered(label)[0].name for _ in names] == names
    assert Agent.objects.filter(agent_label=label).count() == len(names)


def test_names_are_unique_also_when_they_are_given_at_once():
    answers = at_once([lambda: registered("crowd")[0].name] * 5)
    assert sorted(answers) == ["crowd", *(f"crowd-{number}" for number in range(2, 6))]


def test_the_whole_database_does_not_hold_a_token():
    agent, first = registered("secretive")
    second = issue_token(actor=PERSON, agent_name=agent.name).secret
    Caller(as_now(agent.name), first).get("/agents/me")
    everything = whole_database()
    for secret in (first, second):
        assert len(secret) == 43
        assert secret not in everything
        assert secret[8:] not in everything
        assert hashlib.sha256(secret.encode()).hexdigest() in everything


def test_a_token_is_shown_with_the_beginning_by_which_it_is_recognised():
    agent, secret = registered("prefixed")
    [token] = agent.tokens.all()
    assert secret.startswith(token.prefix)
    assert len(token.prefix) <= 8
    assert token.token_hash == token_hash(secret)
    assert set(token.scopes) == {"publish", "claim", "read", "messages", "memory", "output", "artifacts"}


def test_a_role_that_does_not_exist_leaves_no_agent_behind():
    role = new_role()
    before = (Agent.objects.count(), AgentRole.objects.count(), Event.objects.count())
    with pytest.raises(InvalidInput) as refused:
        registered("half made", role.role_key, "no role")
    assert refused.value.entries[0]["loc"] == ["roles", 1]
    assert (Agent.objects.count(), AgentRole.objects.count(), Event.objects.count()) == before


def test_a_role_named_twice_is_held_once():
    role = new_role()
    agent, _ = registered("twice", role.role_key, role.role_key)
    assert list(agent.roles.all()) == [role]


def test_everything_that_happens_to_an_agent_is_told_without_its_tokens():
    agent, secret = registered("told")
    second = issue_token(actor=PERSON, agent_name=agent.name, scopes=["read"])
    revoke_token(actor=PERSON, token_id=second.token.pk)
    events = Event.objects.filter(stream=f"agent:{agent.pk}").order_by("sequence")
    assert [event.event_type for event in events] == [
        "agent_created",
        "token_issued",
        "token_issued",
        "token_revoked",
    ]
    assert {event.actor_name for event in events} == {PERSON.name}
    assert not [event for event in events if secret in event.canonical or second.secret in event.canonical]
    assert events[2].payload == {
        "token_id": second.token.pk,
        "prefix": second.token.prefix,
        "scopes": ["read"],
    }


def test_a_revoked_token_is_refused_by_its_next_call_and_the_others_are_not():
    agent, first = registered("revoked")
    second = issue_token(actor=PERSON, agent_name=agent.name)
    callers = [Caller(as_now(agent.name), secret) for secret in (first, second.secret)]
    assert [each.get("/agents/me").status_code for each in callers] == [200, 200]
    revoke_token(actor=PERSON, token_id=second.token.pk)
    assert [each.get("/agents/me").status_code for each in callers] == [200, 401]


def test_revoking_twice_is_told_once():
    agent, _ = registered("revoked twice")
    [token] = agent.tokens.all()
    first = revoke_token(actor=PERSON, token_id=token.pk).revoked_at
    assert revoke_token(actor=PERSON, token_id=token.pk).revoked_at == first
    assert Event.objects.filter(stream=f"agent:{agent.pk}", event_type="token_revoked").count() == 1


def test_an_agent_that_was_switched_off_is_refused():
    agent, secret = registered("switched off")
    Agent.objects.filter(pk=agent.pk).update(is_active=False)
    identity = identity_by_token_hash(token_hash(secret))
    assert identity is not None
    assert not identity.is_valid


def test_whom_nobody_knows_is_said_to_be_unknown():
    with pytest.raises(AgentUnknown, match="nobody"):
        issue_token(actor=PERSON, agent_name="nobody")
    with pytest.raises(TokenUnknown):
        revoke_token(actor=PERSON, token_id=10**9)
    assert identity_by_name("nobody") is None
    assert identity_by_token_hash(token_hash("nothing")) is None


class Watched:
    """A caller, and when the database says it was last seen."""

    def __init__(self) -> None:
        self.caller = caller(new_agent())
        self.agent_id = self.caller.actor.agent_id or 0
        self.token = AgentToken.objects.get(token_hash=token_hash(self.caller.secret))

    def seen(self):
        self.token.refresh_from_db()
        return Agent.objects.get(pk=self.agent_id).last_seen_at, self.token.last_used_at

    def age(self, seconds: float) -> None:
        at = database_moment().now - timedelta(seconds=seconds)
        Agent.objects.filter(pk=self.agent_id).update(last_seen_at=at)
        AgentToken.objects.filter(pk=self.token.pk).update(last_used_at=at)


def test_presence_is_written_at_most_once_a_minute():
    watched = Watched()
    assert watched.seen() == (None, None)
    watched.caller.get("/agents/me")
    first = watched.seen()
    assert None not in first
    for _ in range(3):
        watched.caller.get("/agents/me")
    assert watched.seen() == first
    watched.age(LIMITS.presence_write_seconds - 5)
    second = watched.seen()
    watched.caller.get("/agents/me")
    assert watched.seen() == second
    watched.age(LIMITS.presence_write_seconds + 1)
    watched.caller.get("/agents/me")
    assert min(watched.seen()) > database_moment().now - timedelta(seconds=30)


def test_presence_of_many_calls_at_once_is_written_by_one_of_them():
    watched = Watched()
    now = database_moment().now
    older_than = now - timedelta(seconds=60)
    times = [now + timedelta(milliseconds=number) for number in range(6)]
    write = functools.partial(
        write_presence, agent_id=watched.agent_id, token_id=watched.token.pk, older_than=older_than
    )
    at_once([functools.partial(write, now=at) for at in times])
    seen, used = watched.seen()
    assert seen == used
    assert seen in times


def test_a_refused_call_shows_that_the_agent_is_there_all_the_same():
    watched = Watched()
    assert watched.caller.post("/jobs", {}).status_code == 422
    assert None not in watched.seen()
