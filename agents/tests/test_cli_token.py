"""`forkflux token`: credentials are issued, listed without their secret, and revoked."""

from datetime import UTC, datetime, timedelta

import pytest

from agents.models import Agent, AgentToken
from agents.scopes import DEFAULT_SCOPES
from agents.selectors import identity_by_token_hash
from agents.services import token_hash
from core.actors import Actor
from jobs.tests.board import new_agent
from testing.command_line import forkflux, refusal
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def is_valid(secret: str) -> bool:
    identity = identity_by_token_hash(token_hash(secret))
    return identity is not None and identity.is_valid


def number_of_tokens(agent: Actor) -> int:
    return AgentToken.objects.filter(agent__name=agent.name).count()


def test_an_agent_gets_one_more_token(capsys):
    agent = new_agent()
    issued = forkflux(capsys, "token", "issue", agent.name, "--json").document
    assert issued["name"] == agent.name
    assert issued["scopes"] == list(DEFAULT_SCOPES)
    assert issued["expires_at"] is None
    assert issued["state"] == "active"
    assert issued["api_token"].startswith(issued["prefix"])
    assert is_valid(issued["api_token"])
    assert number_of_tokens(agent) == 2


def test_a_token_has_the_scopes_that_were_named(capsys):
    agent = new_agent()
    issued = forkflux(
        capsys,
        "token",
        "issue",
        agent.name,
        *("--scope", "act_for", "--scope", "read", "--scope", "read"),
        "--json",
    ).document
    identity = identity_by_token_hash(token_hash(issued["api_token"]))
    assert identity is not None
    assert identity.actor.scopes == {"act_for", "read"}
    assert issued["scopes"] == ["act_for", "read"]


@pytest.mark.parametrize(
    ("given", "length"),
    [("90s", timedelta(seconds=90)), ("15m", timedelta(minutes=15)), ("12h", timedelta(hours=12)),
     ("30d", timedelta(days=30)), ("4w", timedelta(weeks=4))],
    ids=["s", "m", "h", "d", "w"],
)  # fmt: skip
def test_a_token_expires_after_the_time_that_was_given(capsys, given, length):
    issued = forkflux(capsys, "token", "issue", new_agent().name, "--expires-in", given, "--json").document
    token = AgentToken.objects.get(pk=issued["token_id"])
    assert token.expires_at is not None
    assert abs(token.expires_at - token.created_at - length) < timedelta(seconds=5)
    assert is_valid(issued["api_token"])


def test_a_token_expires_at_the_moment_that_was_named(capsys):
    issued = forkflux(
        capsys, "token", "issue", new_agent().name, "--expires-at", "2099-01-31T10:00:00+02:00", "--json"
    ).document
    assert issued["expires_at"] == "2099-01-31T08:00:00.000000Z"


@pytest.mark.parametrize(
    ("moment", "why"),
    [
        ("2020-01-01T00:00:00Z", "in the future"),
        ("2099-01-01T00:00:00", "timezone"),
        ("tomorrow", "valid datetime"),
    ],
    ids=["past", "no zone", "no time"],
)
def test_a_moment_that_cannot_be_is_refused_and_no_token_is_issued(capsys, moment, why):
    agent = new_agent()
    said = refusal(forkflux(capsys, "token", "issue", agent.name, "--expires-at", moment))
    assert said.startswith("--expires-at")
    assert why in said
    assert number_of_tokens(agent) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--expires-in", "30"),
        ("--expires-in", "0d"),
        ("--expires-in", "99999999w"),
        ("--expires-in", "1d", "--expires-at", "2099-01-01T00:00:00Z"),
        ("--scope", "everything"),
    ],
    ids=["no unit", "nothing", "too long", "both", "unknown scope"],
)
def test_wrong_usage_has_status_2_and_issues_nothing(capsys, arguments):
    agent = new_agent()
    ended = forkflux(capsys, "token", "issue", agent.name, *arguments)
    assert ended.status == 2
    assert ended.out == ""
    assert arguments[0] in ended.err
    assert number_of_tokens(agent) == 1


@pytest.mark.parametrize("action", ["issue", "list"])
def test_an_agent_that_does_not_exist_is_named(capsys, action):
    assert "There is no agent nobody" in refusal(forkflux(capsys, "token", action, "nobody"))


def test_the_list_tells_the_state_of_each_token_and_never_a_secret(capsys):
    agent = new_agent()
    secrets = [
        forkflux(capsys, "token", "issue", agent.name, *extra, "--json").document
        for extra in ((), ("--expires-in", "1d"), ())
    ]
    past = datetime(2026, 1, 1, tzinfo=UTC)
    AgentToken.objects.filter(pk=secrets[1]["token_id"]).update(expires_at=past)
    forkflux(capsys, "token", "revoke", secrets[2]["token_id"])

    listed = forkflux(capsys, "token", "list", agent.name, "--json")
    assert [token["state"] for token in listed.document] == ["active", "active", "expired", "revoked"]
    assert {token["name"] for token in listed.document} == {agent.name}
    rows = forkflux(capsys, "token", "list", agent.name)
    assert [row[3] for row in rows.rows] == ["active", "active", "expired", "revoked"]
    for token in secrets:
        assert token["api_token"] not in listed.out + rows.out
        assert token["prefix"] in rows.out
        assert token_hash(token["api_token"]) not in listed.out


def test_the_list_without_a_name_has_the_tokens_of_all_agents(capsys):
    names = {new_agent().name, new_agent().name}
    assert names <= {token["name"] for token in forkflux(capsys, "token", "list", "--json").document}


def test_a_token_of_an_agent_that_is_inactive_says_so(capsys):
    agent = new_agent()
    Agent.objects.filter(name=agent.name).update(is_active=False)
    [token] = forkflux(capsys, "token", "list", agent.name, "--json").document
    assert token["state"] == "agent_inactive"


def test_a_revoked_token_is_refused_from_then_on_and_revoking_again_changes_nothing(capsys):
    issued = forkflux(capsys, "token", "issue", new_agent().name, "--json").document
    ended = forkflux(capsys, "token", "revoke", issued["token_id"])
    assert ended.status == 0
    assert issued["prefix"] in ended.out
    assert not is_valid(issued["api_token"])
    first = AgentToken.objects.get(pk=issued["token_id"]).revoked_at
    again = forkflux(capsys, "token", "revoke", issued["token_id"], "--json").document
    assert again["state"] == "revoked"
    assert AgentToken.objects.get(pk=issued["token_id"]).revoked_at == first


def test_a_token_that_does_not_exist_is_named(capsys):
    assert "There is no token 999999999" in refusal(forkflux(capsys, "token", "revoke", 999_999_999))


@pytest.mark.parametrize("number", ["x", "-1", "0", str(2**63), "9" * 5_000])
def test_what_is_no_id_is_wrong_usage(capsys, number):
    ended = forkflux(capsys, "token", "revoke", number)
    assert ended.status == 2
    assert ended.out == ""
