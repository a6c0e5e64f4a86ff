"""`forkflux agent`: agents are made with their first token, and listed."""

import pytest

from agents.models import Agent, AgentToken
from agents.scopes import DEFAULT_SCOPES
from agents.services import token_hash
from events.models import Event
from jobs.services.claiming import claim
from jobs.tests.board import as_now, new_role, published
from testing.command_line import forkflux, refusal
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def test_an_agent_is_made_with_its_roles_and_a_token_that_works(capsys):
    first, second = new_role(), new_role()
    made = forkflux(
        capsys,
        *("agent", "add", "Review bot", "--role", first.role_key, "--role", second.role_key),
        *("--tool-family", "codex", "--json"),
    ).document
    assert list(made) == ["agent_id", "name", "agent_label", "roles", "api_token"]
    agent = Agent.objects.get(pk=made["agent_id"])
    assert (
        (made["name"], made["agent_label"]) == (agent.name, agent.agent_label) == ("review-bot", "Review bot")
    )
    assert agent.tool_family == "codex"
    assert made["roles"] == [first.role_key, second.role_key]
    assert set(as_now(agent.name).roles) >= set(made["roles"])
    token = AgentToken.objects.get(token_hash=token_hash(made["api_token"]))
    assert token.agent == agent
    assert token.scopes == list(DEFAULT_SCOPES)


def test_the_token_is_printed_once_with_the_words_that_it_is_not_shown_again(capsys):
    ended = forkflux(capsys, "agent", "add", "Once")
    secret = ended.out.split("Token: ")[1].split("\n")[0]
    assert AgentToken.objects.filter(token_hash=token_hash(secret), agent__agent_label="Once").exists()
    assert "not shown again" in ended.out
    for arguments in (
        ("agent", "list"),
        ("token", "list"),
        ("agent", "list", "--json"),
        ("token", "list", "--json"),
    ):
        assert secret not in forkflux(capsys, *arguments).out
    assert not Event.objects.filter(canonical__contains=secret).exists()


def test_agents_of_one_label_get_addresses_of_their_own(capsys):
    names = [forkflux(capsys, "agent", "add", "Twin", "--json").document["name"] for _ in range(3)]
    assert names == ["twin", "twin-2", "twin-3"]


def test_an_agent_may_be_called_help(capsys):
    assert forkflux(capsys, "agent", "add", "help", "--json").document["name"] == "help"


def test_an_unknown_role_is_refused_and_no_agent_is_made(capsys):
    role = new_role()
    said = refusal(
        forkflux(capsys, "agent", "add", "Lost", "--role", role.role_key, "--role", "no-such-role")
    )
    assert said.startswith("--role no. 2: ")
    assert role.role_key in said
    assert not Agent.objects.filter(agent_label="Lost").exists()


@pytest.mark.parametrize(
    ("arguments", "option"),
    [((" ",), "LABEL"), (("x" * 256,), "LABEL"), (("Fine", "--tool-family", ""), "--tool-family")],
    ids=["blank", "long", "empty family"],
)
def test_a_value_out_of_bounds_is_refused_by_the_name_of_its_option(capsys, arguments, option):
    assert refusal(forkflux(capsys, "agent", "add", *arguments)).startswith(f"{option}: ")


def test_the_list_shows_what_agents_are_and_hold(capsys):
    role = new_role()
    made = forkflux(capsys, "agent", "add", "Holder", "--role", role.role_key, "--json").document
    actor = as_now(made["name"])
    job = claim(job_id=published(actor, role).pk, actor=actor)

    [listed] = [a for a in forkflux(capsys, "agent", "list", "--json").document if a["name"] == made["name"]]
    assert listed["agent_id"] == made["agent_id"]
    assert listed["roles"] == [role.role_key]
    assert listed["holds"] == [job.pk]
    assert listed["presence"] == "offline"
    assert listed["is_active"] is True
    [row] = [row for row in forkflux(capsys, "agent", "list").rows if row[1] == made["name"]]
    assert row == [str(made["agent_id"]), made["name"], "Holder", role.role_key, "offline", str(job.pk), "-"]


def test_a_label_cannot_act_on_the_terminal(capsys):
    forkflux(capsys, "agent", "add", "Evil\x1b[2Jbot\n\u202e")
    shown = forkflux(capsys, "agent", "list").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"Evil\x1b[2Jbot\n\u202e" in shown
