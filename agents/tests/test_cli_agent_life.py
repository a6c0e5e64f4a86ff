"""`forkflux agent edit|deactivate|activate|assign-role|unassign-role`, `forkflux token rotate`."""

from datetime import timedelta

import pytest

from agents.models import AgentToken
from agents.selectors import identity_by_name, identity_by_token_hash
from agents.services import token_hash
from jobs.models import Job
from jobs.services.claiming import claim
from jobs.tests.board import caller, new_agent, new_role, published
from testing.command_line import forkflux, refusal
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def roles_of(name):
    return sorted(identity_by_name(name).actor.roles)


def test_an_agent_is_edited_and_its_name_stays(capsys):
    role, agent = new_role(), new_agent(new_role())
    ended = forkflux(
        capsys,
        *(
            "agent",
            "edit",
            agent.name,
            "--label",
            "Rita",
            "--tool-family",
            "codex",
            "--role",
            role.role_key,
            "--json",
        ),
    )
    assert (ended.document["name"], ended.document["agent_label"]) == (agent.name, "Rita")
    assert (ended.document["tool_family"], roles_of(agent.name)) == ("codex", [role.role_key])
    assert "Nothing to change" in refusal(forkflux(capsys, "agent", "edit", agent.name), status=2)
    said = refusal(forkflux(capsys, "agent", "edit", agent.name, "--role", "no-such"))
    assert said.startswith("--role no. 1: Target role is invalid: Available roles:")
    assert roles_of(agent.name) == [role.role_key]


def test_a_deactivated_agent_is_refused_at_once_and_its_work_goes_back(capsys):
    role = new_role()
    agent = new_agent(role)
    at_the_door = caller(agent)
    held, blocked, done = (published(agent, role) for _ in range(3))
    for job in (held, blocked):
        claim(job_id=job.pk, actor=agent)
    assert forkflux(capsys, "job", "block", blocked.pk, "--as", agent.name, "--reason", "?").status == 0
    said = refusal(forkflux(capsys, "agent", "deactivate", agent.name, "--reason", "Stolen"))
    assert f"go back to the board: {held.pk}, {blocked.pk}" in said
    assert at_the_door.get("/agents/me").status_code == 200
    ended = forkflux(capsys, "agent", "deactivate", agent.name, "--reason", "Stolen", "--yes", "--json")
    assert (ended.document["is_active"], ended.document["returned_job_ids"]) == (False, [held.pk, blocked.pk])
    assert at_the_door.get("/agents/me").status_code == 401
    assert set(
        Job.objects.filter(pk__in=[held.pk, blocked.pk, done.pk]).values_list("status", flat=True)
    ) == {"published"}
    assert "is deactivated" in refusal(
        forkflux(capsys, "agent", "deactivate", agent.name, "--reason", "r", "--yes")
    )
    assert forkflux(capsys, "agent", "activate", agent.name).status == 0
    assert at_the_door.get("/agents/me").status_code == 200
    assert "is active already" in refusal(forkflux(capsys, "agent", "activate", agent.name))


def test_roles_are_given_and_taken_one_by_one(capsys):
    role, agent = new_role(), new_agent()
    assert forkflux(capsys, "agent", "assign-role", agent.name, role.role_key).status == 0
    assert roles_of(agent.name) == [role.role_key]
    said = refusal(forkflux(capsys, "agent", "assign-role", agent.name, role.role_key))
    assert "already" in said
    assert forkflux(capsys, "agent", "unassign-role", agent.name, role.role_key).status == 0
    assert roles_of(agent.name) == []
    assert "holds: none" in refusal(forkflux(capsys, "agent", "unassign-role", agent.name, role.role_key))
    said = refusal(forkflux(capsys, "agent", "assign-role", agent.name, "no-such"))
    assert said.startswith("ROLE_KEY: Target role is invalid")


def test_a_token_is_rotated_without_an_outage(capsys):
    agent = new_agent()
    old = forkflux(capsys, "token", "issue", agent.name, "--scope", "read", "--json").document
    new = forkflux(capsys, "token", "rotate", old["token_id"], "--keep-old", "2h", "--json").document
    assert (new["replaces"], new["scopes"]) == (old["token_id"], ["read"])
    for secret in (old["api_token"], new["api_token"]):
        assert identity_by_token_hash(token_hash(secret)).is_valid
    kept = AgentToken.objects.get(pk=old["token_id"])
    made = AgentToken.objects.get(pk=new["token_id"])
    assert kept.expires_at is not None
    assert abs(kept.expires_at - made.created_at - timedelta(hours=2)) < timedelta(seconds=5)
    assert forkflux(capsys, "token", "revoke", old["token_id"]).status == 0
    assert "issue a new one instead" in refusal(forkflux(capsys, "token", "rotate", old["token_id"]))
    said = refusal(forkflux(capsys, "token", "rotate", new["token_id"], "--keep-old", "31d"))
    assert said.startswith("--keep-old: Input should be less than or equal to")
