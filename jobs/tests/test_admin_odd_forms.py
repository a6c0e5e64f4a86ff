"""Every field of every form of the admin takes every odd value without a 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import AgentToken
from jobs.models import Job
from jobs.tests.board import new_agent, new_role, published
from testing.committed import database_of_one_test  # noqa: F401 - the fixture `db`

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("db")]

ODD = ["abc", "9" * 23, "-1", "", "\x00", "é" * 300, "1.5", "NaN", "[]", "\u202e", "0"]
JOBS, AGENTS, ROLES = "/admin/jobs/job/", "/admin/agents/agent/", "/admin/roles/role/"
FAR = "9" * 20


class Desk:
    """Forms as they are filled in properly, by the address that takes them."""

    def __init__(self) -> None:
        role = new_role()
        agent = new_agent(role)
        self.job = published(agent, role)
        token = AgentToken.objects.get(agent_id=agent.agent_id or 0).pk
        job = {
            "summary": "s", "role": role.role_key, "priority": "20", "constraints": "", "context": "", "labels": "",
            "not_before": "", "expires_at": "",
        }  # fmt: skip
        new_job = job | {"max_retries": "3", "artifacts": "", "on_hold": ""}
        named = {"agent_label": "x", "tool_family": "", "roles": [role.role_key]}
        policy = {
            "role_key": "k", "role_label": "l", "lease_seconds": "100", "max_lease_expiries": "1",
            "stuck_after_minutes": "5", "max_held_per_agent": "",
        }  # fmt: skip
        action = {
            "action": "hold",
            "_selected_action": self.job.pk,
            "reason": "r",
            "confirmed": "yes",
            "index": "0",
        }
        self.forms: dict[str, dict[str, Any]] = {
            JOBS: action,
            f"{JOBS}?again": action | {"action": "reassign", "agent_name": agent.name},
            f"{JOBS}add/": new_job,
            f"{JOBS}{self.job.pk}/edit/": job | {"version": "1"},
            f"{JOBS}{self.job.pk}/verb/hold/": {"reason": "r"},
            f"{JOBS}{self.job.pk}/verb/reassign/": {"reason": "r", "agent_name": agent.name},
            f"{AGENTS}add/": named,
            f"{AGENTS}{agent.agent_id}/edit/": named,
            f"{AGENTS}{agent.agent_id}/tokens/issue/": {"scopes": ["read"], "granted": [], "expires_at": ""},
            f"{AGENTS}tokens/{token}/rotate/": {"keep_seconds": "60"},
            f"{AGENTS}{agent.agent_id}/deactivate/": {"reason": "r"},
            f"{ROLES}add/": policy,
            f"{ROLES}{role.pk}/edit/": policy,
            f"{ROLES}{role.pk}/pause/": {"reason": "r"},
            f"{ROLES}{role.pk}/delete-role/": {"move_to": ""},
        }


@pytest.fixture
def client(db: None) -> Iterator[Client]:
    client = Client(SERVER_NAME="localhost", raise_request_exception=False)
    client.force_login(
        User.objects.create_superuser("root"), backend="django.contrib.auth.backends.ModelBackend"
    )
    yield client
    User.objects.all().delete()


@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_no_field_of_a_form_breaks_the_page(client, odd):
    broken = []
    for address, fields in Desk().forms.items():
        for name in fields:
            answer = client.post(address, fields | {name: odd})
            if answer.status_code >= 500:
                broken.append((address, name))
    assert broken == []
    # Whatever was let in can be read again.
    for job in Job.objects.all():
        assert client.get(f"{JOBS}{job.pk}/change/").status_code == 200


def test_an_id_that_no_row_can_have_is_a_404(client):
    desk = Desk()
    for address in (
        *(f"{JOBS}{FAR}/{page}" for page in ("change/", "edit/", "delete-job/", "verb/hold/")),
        f"{JOBS}{desk.job.pk}/verb/nothing/",
        *(f"{AGENTS}{FAR}/{page}" for page in ("change/", "edit/", "deactivate/", "tokens/issue/")),
        *(f"{AGENTS}tokens/{FAR}/{page}" for page in ("revoke/", "rotate/")),
        *(f"{ROLES}{FAR}/{page}" for page in ("change/", "edit/", "pause/", "delete-role/")),
        *(f"/admin/events/event/{number}/change/" for number in (FAR, "abc")),
        *(f"{noun}abc/change/" for noun in (JOBS, AGENTS, ROLES)),
    ):
        assert client.get(address).status_code == 404, address
