"""Every route for nine callers, each with the status that is written down for it; and what people's sessions may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents.models import Agent, AgentToken
from agents.scopes import DEFAULT_SCOPES
from core.actors import Actor
from core.models import Installation
from events.models import Event
from forkflux_site.tests.test_docs_tables import routes
from forkflux_site.tests.who_may_table import CALLERS, TABLE, Row
from jobs.services.blocking import block
from jobs.services.claiming import claim
from jobs.services.closing import fail
from jobs.tests.board import PERSON, new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.people import member, operator, signed_in, viewer
from testing.wire import NOBODY, Caller, another_token, bearer

pytestmark = pytest.mark.usefixtures("db", "nobody_stays")

_WHY = {"reason": "r"}
# The pages that only show; and Django's own, behind which nobody may do anything.
LOOKED_AT = ("_changelist", "_change")
CLOSED = {
    "events_event_add",
    *(f"{noun}_delete" for noun in ("events_event", "jobs_job", "agents_agent", "roles_role")),
}


@pytest.fixture
def nobody_stays(db: None) -> Iterator[None]:
    yield
    User.objects.all().delete()
    Installation.objects.update(is_onboarded=False)


class Scene:
    """A role, a job of it in the wanted state, its source and holder, and the nine callers."""

    def __init__(self, state: str = "published") -> None:
        self.role, self.other_role = new_role(), new_role()
        self.source, self.holder = new_agent(), new_agent(self.role)
        self.colleague, self.roleless = new_agent(self.role), new_agent()
        self.job = published(self.source, self.role)
        if state != "published":
            claim(job_id=self.job.pk, actor=self.holder)
        if state == "blocked":
            block(job_id=self.job.pk, actor=self.holder, blocked_reason="?")
        if state == "failed":
            fail(job_id=self.job.pk, actor=self.holder, failure_reason="?")
        self.names = {
            "job_id": self.job.pk,
            "role_id": self.role.pk,
            "role": self.role.role_key,
            "other_role": self.other_role.role_key,
            "agent_id": self.holder.agent_id,
            "colleague": self.colleague.name,
            "token_id": AgentToken.objects.filter(agent_id=self.holder.agent_id or 0).values_list(
                "pk", flat=True
            )[0],
        }

    def caller(self, who: str) -> Caller:
        if who == "nobody":
            return NOBODY
        if who == "an unknown token":
            return bearer("x" * 43)
        if who in {"an expired token", "a revoked token"}:
            caller, token = self._token(self.colleague)
            past = timezone.now() - timedelta(seconds=1)
            token.expires_at, token.revoked_at = (past, None) if "expired" in who else (None, past)
            token.save()
            return caller
        if who == "a token without the scope":
            return self._token(self.colleague, scopes=["memory"])[0]
        if who == "an agent without the role":
            return self._token(self.roleless)[0]
        if who == "an agent of another job":
            return self._token(self.colleague)[0]
        return viewer() if who == "a viewer" else operator()

    def _token(self, actor: Actor, scopes: list[str] | None = None) -> tuple[Caller, AgentToken]:
        agent = Agent.objects.get(pk=actor.agent_id or 0)
        caller = another_token(agent, scopes=scopes or [str(scope) for scope in DEFAULT_SCOPES])
        return caller, AgentToken.objects.filter(agent=agent).latest("pk")

    def filled(self, body: Any) -> Any:
        if isinstance(body, dict):
            return {key: self.filled(value) for key, value in body.items()}
        if isinstance(body, list):
            return [self.filled(item) for item in body]
        if isinstance(body, str) and body.startswith("{"):
            return self.names[body.strip("{}")]
        return body


def test_every_route_has_its_row_and_every_row_its_route():
    told = [row.call.partition("?")[0] for row in TABLE]
    assert len(told) == len(set(told))
    assert set(told) == set(routes())
    assert all(len(row.statuses.split()) == len(CALLERS) for row in TABLE)


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.call.replace("/api/v1", ""))
@pytest.mark.parametrize("number", range(len(CALLERS)), ids=CALLERS)
def test_a_caller_gets_the_status_that_is_written_down(row: Row, number: int):
    scene = Scene(row.state)
    method, path = row.call.format(**scene.names).split(" ", 1)
    answer = scene.caller(CALLERS[number]).call(method, path, scene.filled(row.body))
    assert answer.status_code == int(row.statuses.split()[number]), answer.content[:300]
    if answer.status_code == 401:
        assert answer["WWW-Authenticate"]
    if answer.status_code == 403:
        assert json.loads(answer.content)["code"] in {
            "scope_missing", "role_not_held", "not_source", "people_only", "permission_missing",
        }  # fmt: skip


# --- people in a browser ------------------------------------------------------------------------------


def browser(user: User, *, csrf: bool = True) -> Client:
    client = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    if csrf:
        client.get("/admin/")
        client.defaults["HTTP_X_CSRFTOKEN"] = client.cookies["forkflux_csrf"].value
    return client


def test_a_session_acts_with_the_forms_token_and_never_without():
    scene = Scene()
    address = f"/api/v1/ui/jobs/{scene.job.pk}/hold"
    user = member("sam", "operators")
    refused = browser(user, csrf=False).post(address, _WHY, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf_failed")
    client = browser(user)
    assert client.get("/api/v1/ui/jobs").status_code == 200
    assert client.post(address, _WHY, content_type="application/json").status_code == 200
    # Also when the token comes in the body, as a form without a script sends it.
    token = client.defaults.pop("HTTP_X_CSRFTOKEN")
    as_form = client.post(address, {"csrfmiddlewaretoken": token, "reason": "r"})
    assert as_form.status_code == 422
    assert client.post(address, {"reason": "r"}).status_code == 403
    # What agents do is not for people, by whichever way they come.
    assert client.get("/api/v1/mcp/jobs").status_code == 401


def test_who_is_no_member_of_staff_or_has_no_permission_is_told_so():
    scene = Scene()
    customer, bare = member("customer", is_staff=False), member("bare")
    for by in (lambda user: browser(user, csrf=False).get, lambda user: signed_in(user).get):
        refused = by(customer)(f"/api/v1/ui/jobs/{scene.job.pk}")
        assert (refused.status_code, refused.json()["code"]) == (403, "not_staff")
        refused = by(bare)(f"/api/v1/ui/jobs/{scene.job.pk}")
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_missing")
        assert "jobs.view_job" in refused.json()["detail"]
    page = browser(bare, csrf=False).get("/api/v1/ui/jobs", headers={"Accept": "text/html"})
    assert page.status_code == 403
    assert "jobs.view_job" in page.content.decode()


def test_a_deactivated_person_is_nobody_and_a_superuser_may_everything():
    user = member("gone", "operators")
    client, by_basic = browser(user, csrf=False), signed_in(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert client.get("/api/v1/ui/jobs").status_code == 401
    assert by_basic.get("/api/v1/ui/jobs").status_code == 401
    root = User.objects.create_superuser("root")
    assert signed_in(root).get("/api/v1/ui/audit/verify").status_code == 200


def test_a_page_that_needs_a_person_offers_to_sign_in():
    page = Client(SERVER_NAME="localhost").get("/api/v1/ui/jobs", headers={"Accept": "text/html"})
    assert page.status_code == 401
    # No box of the browser's own: the page has the link.
    assert not page["WWW-Authenticate"].startswith("Basic")
    assert "/admin/login/?next=%2Fapi%2Fv1%2Fui%2Fjobs" in page.content.decode()
    assert "Not signed in: sign in at /admin/" in page.content.decode()


def test_the_links_of_a_page_lead_to_the_routes_of_its_reader():
    accept = {"Accept": "text/html"}
    persons = (
        browser(member("anna", "operators"), csrf=False)
        .get("/api/v1/ui/jobs", headers=accept)
        .content.decode()
    )
    assert 'href="/api/v1/ui/stuck"' in persons
    assert 'href="/api/v1/mcp/jobs"' not in persons
    agent = another_token(Agent.objects.get(name=new_agent().name))
    agents = agent.get("/jobs", **accept).content.decode()
    assert 'href="/api/v1/mcp/agents"' in agents
    assert 'href="/api/v1/ui/' not in agents


# --- the admin -----------------------------------------------------------------------------------------


def admin_pages() -> list[str]:
    """Names of all pages of our models."""
    ours = {"jobs", "agents", "roles", "events"}
    pages = [page for model, page in admin.site._registry.items() if model._meta.app_label in ours]
    names = {str(pattern.name) for page in pages for pattern in page.urls if pattern.name}
    return sorted(name for name in names if not name.endswith("_history"))


def arguments_of(name: str, scene: Scene) -> list[Any]:
    """What the address of a page takes."""
    if name.endswith(("_changelist", "_add")):
        return []
    if name.endswith(("revoke", "rotate")):
        return [scene.names["token_id"]]
    rows = {
        "jobs_job": scene.job.pk,
        "agents_agent": scene.holder.agent_id,
        "roles_role": scene.role.pk,
        "events_event": Event.objects.latest("pk").pk,
    }
    found: list[Any] = [rows["_".join(name.split("_")[:2])]]
    return [*found, "hold"] if name == "jobs_job_verb" else found


@pytest.mark.parametrize("name", admin_pages())
def test_a_page_of_the_admin_is_for_those_who_may(name: str):
    scene = Scene("failed" if name.endswith("remove") else "published")
    address = reverse(f"admin:{name}", args=arguments_of(name, scene))
    stranger = Client(SERVER_NAME="localhost").get(address)
    assert (stranger.status_code, stranger["Location"].partition("?")[0]) == (302, "/admin/login/")
    if name in CLOSED:
        assert browser(User.objects.create_superuser("root")).get(address).status_code == 403
        return
    looks = name.endswith(LOOKED_AT)
    onlooker = browser(member("vera", "viewers"))
    assert onlooker.get(address).status_code == (200 if looks else 403)
    if not looks:
        assert onlooker.post(address, _WHY).status_code == 403
    assert browser(member("anna", "operators")).get(address).status_code == 200


def test_nobody_acts_for_another_or_registers_unless_the_token_says_so():
    assert {"act_for", "register"}.isdisjoint(map(str, DEFAULT_SCOPES))
    agent = new_agent()
    [token] = AgentToken.objects.filter(agent_id=agent.agent_id or 0)
    assert {"act_for", "register"}.isdisjoint(token.scopes)
    assert PERSON.is_person
