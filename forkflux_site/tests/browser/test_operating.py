"""A team lead at the admin frees a stuck job, gives a token and takes it back; a viewer looks on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect

from forkflux_site.tests.browser.seat import PASSWORD, Scheme, Seat, chromium
from testing.installation import Installation, Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# Made in one process: each start of the command takes most of a second.
SCENE = f"""
import json
from datetime import timedelta
from django.contrib.auth.models import Group, User
from django.utils import timezone
from agents.selectors import acting_agent
from agents.services import register_agent
from core.actors import operator
from jobs.models import Job
from jobs.services.claiming import claim
from jobs.services.publishing import publish
from roles.services import create_role

for name, group in (("anna", "operators"), ("vera", "viewers")):
    user = User.objects.create_user(name, password={PASSWORD!r}, is_staff=True)
    user.groups.add(Group.objects.get(name=group))
person = operator("pat")
create_role(actor=person, role_key="qa", role_label="QA")
agent, _ = register_agent(actor=person, agent_label="Reviewer", role_keys=["qa"])
jobs = [
    publish(actor=person, summary=summary, context_payload={{}}, target_role_key="qa").pk
    for summary in ("Review the login form", "Measure the search page")
]
for job_id in jobs:
    claim(job_id=job_id, actor=acting_agent(agent.name))
Job.objects.filter(pk=jobs[0]).update(status_changed_at=timezone.now() - timedelta(hours=2))
print(json.dumps({{"agent_id": agent.pk, "agent_name": agent.name, "stuck": jobs[0]}}))
"""
VERBS = "main form[method=post] button, .ff-verbs, select[name=action], .object-tools .addlink"
SIZES: list[tuple[int, Scheme]] = [(1400, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


class Office:
    """A served installation with two people, an agent, a job that is stuck and one that is not."""

    def __init__(self, installation: Installation) -> None:
        made = json.loads(installation.run("shell", "--no-imports", "-c", SCENE).stdout.splitlines()[-1])
        self.agent_id, self.agent_name, self.stuck = made["agent_id"], made["agent_name"], made["stuck"]
        self.server: Server = installation.serve()


@pytest.fixture
def office(installation: Installation) -> Office:
    return Office(installation)


@pytest.mark.parametrize(("width", "scheme"), SIZES, ids=["wide and light", "phone and dark"])
def test_a_stuck_job_is_found_by_filter_and_freed_with_a_reason(office, browser, width, scheme):
    seat = Seat(browser, office.server.base_url, width=width, scheme=scheme)
    page = seat.page
    seat.sign_in("anna")
    seat.assert_whole()
    page.get_by_role("link", name=re.compile("Stuck")).click()
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    expect(page.get_by_text("has told of no progress for 2 h")).to_be_visible()
    seat.assert_whole()
    page.get_by_role("link", name="Review the login form").click()
    trail = page.locator(".ff-trail > li")
    expect(trail).to_have_count(2)
    seat.assert_whole()
    page.get_by_role("link", name="Requeue").click()
    expect(page.get_by_text("Whoever holds the job loses it")).to_be_visible()
    seat.assert_whole()
    page.get_by_label("Reason").fill("The reviewer is away until Monday")
    page.get_by_role("button", name="Requeue").click()
    expect(trail).to_have_count(3)
    expect(trail.first).to_contain_text("The reviewer is away until Monday")
    expect(trail.first).to_contain_text("anna")
    expect(page.locator(".ff-state")).to_contain_text("Waiting")
    page.goto("/admin/jobs/job/?stuck=yes")
    expect(page.locator("#result_list tbody tr")).to_have_count(0)
    seat.assert_whole()


def test_a_token_is_issued_shown_once_and_revoked(office, browser):
    seat = Seat(browser, office.server.base_url)
    page = seat.page
    seat.sign_in("anna")
    page.goto("/admin/agents/agent/")
    page.get_by_role("link", name=office.agent_name).click()
    page.get_by_role("link", name="Issue a token").click()
    seat.assert_whole()
    page.get_by_role("button", name="Issue and show it").click()
    secret = page.locator("#secret").inner_text()
    seat.assert_whole()
    me = f"{office.server.base_url}/api/v1/mcp/agents/me"
    headers = {"Authorization": f"Bearer {secret}"}
    assert httpx.get(me, headers=headers).json()["name"] == office.agent_name
    page.get_by_role("link", name="I have it").click()
    assert secret not in page.content()
    row = page.locator(".ff-table tbody tr").last
    expect(row).to_contain_text("Active")
    row.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("Revoked")
    assert httpx.get(me, headers=headers).status_code == 401
    seat.assert_whole()


@pytest.mark.parametrize(("width", "scheme"), SIZES, ids=["wide and light", "phone and dark"])
def test_a_viewer_sees_every_page_and_no_verb_on_any(office, browser, width, scheme):
    seat = Seat(browser, office.server.base_url, width=width, scheme=scheme)
    seat.sign_in("vera")
    for address in (
        "/admin/jobs/job/",
        f"/admin/jobs/job/{office.stuck}/change/",
        "/admin/agents/agent/",
        f"/admin/agents/agent/{office.agent_id}/change/",
        "/admin/roles/role/",
        "/admin/roles/role/1/change/",
        "/admin/events/event/",
    ):
        seat.open(address)
        page = seat.page
        assert (
            page.locator(
                "main form[method=post] button, .ff-verbs, select[name=action], .object-tools .addlink"
            ).count()
            == 0
        ), address
    refused = seat.page.goto(f"/admin/jobs/job/{office.stuck}/verb/cancel/")
    assert refused is not None
    assert refused.status == 403
    expect(seat.page.get_by_text("You lack the permission jobs.change_job")).to_be_visible()
