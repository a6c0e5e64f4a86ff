"""A token made in the admin is shown by the answer that makes it, and by nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from agents.models import Agent, AgentToken
from jobs.tests.board import new_agent, new_role

pytestmark = pytest.mark.django_db

AGENTS = "/admin/agents/agent/"


@pytest.fixture
def client(db: None) -> Client:
    user = User.objects.create_user("an-operator", password="unused", is_staff=True)
    user.groups.add(Group.objects.get(name="operators"))
    client = Client(SERVER_NAME="localhost")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def made_by(client: Client, way: str) -> tuple[Any, int]:
    """The answer that makes a token in this way, and the number of the agent that got it."""
    if way == "add":
        form = {"agent_label": "Fresh", "tool_family": "", "roles": [new_role().role_key]}
        answer = client.post(f"{AGENTS}add/", form)
        return answer, Agent.objects.get(agent_label="Fresh").pk
    agent_id = new_agent(new_role()).agent_id or 0
    if way == "issue":
        return client.post(f"{AGENTS}{agent_id}/tokens/issue/", {"scopes": ["read"]}), agent_id
    token = AgentToken.objects.get(agent_id=agent_id).pk
    return client.post(f"{AGENTS}tokens/{token}/rotate/", {"keep_seconds": "60"}), agent_id


@pytest.mark.parametrize("way", ["add", "issue", "rotate"])
def test_a_new_token_is_shown_once_and_kept_in_no_session_message_cookie_or_cache(client, way):
    answer, agent_id = made_by(client, way)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    secret = answer.context["secret"]
    page = answer.content.decode()
    assert page.count(secret) == 1
    assert secret not in repr(dict(client.session.items()))
    assert not any(secret in cookie.OutputString() for cookie in client.cookies.values())
    assert list(answer.context["messages"]) == []
    for address in (f"{AGENTS}{agent_id}/change/", AGENTS, "/admin/"):
        assert secret not in client.get(address).content.decode(), address


def test_what_makes_a_token_dangerous_is_off_unless_it_is_chosen(client):
    agent_id = new_agent(new_role()).agent_id or 0
    address = f"{AGENTS}{agent_id}/tokens/issue/"
    form = client.get(address).context["form"]
    shown = {name: form[name].value() for name in form.fields}
    made = client.post(address, {name: value for name, value in shown.items() if value})
    assert "secret" in made.context
    plain = AgentToken.objects.filter(agent_id=agent_id).latest("pk")
    assert not set(plain.scopes) & {"act_for", "register"}
    client.post(address, {"scopes": ["read"], "granted": ["act_for"]})
    granted = AgentToken.objects.filter(agent_id=agent_id).latest("pk")
    assert granted.pk > plain.pk
    assert set(granted.scopes) == {"read", "act_for"}
