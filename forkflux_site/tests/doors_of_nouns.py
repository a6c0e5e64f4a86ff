"""The doors for agents, tokens and roles: what each offers, and how each verb is asked for there.

All of these are for persons. A refusal is its sentence, which every door tells.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from agents.api import people_urls as agent_urls
from agents.management.commands.agent import Command as AgentCommand
from agents.management.commands.token import Command as TokenCommand
from agents.models import Agent, AgentToken
from agents.selectors import acting_agent
from agents.services import (
    activate_agent,
    assign_role,
    edit_agent,
    issue_token,
    register_agent,
    revoke_token,
    rotate_token,
    unassign_role,
)
from core.actors import Actor, person
from core.errors import DomainError
from events.models import Event
from jobs.services.claiming import claim
from jobs.services.publishing import publish
from jobs.services.removing import deactivate_agent, delete_role
from roles.api import people_urls as role_urls
from roles.management.commands.role import Command as RoleCommand
from roles.models import Role
from roles.services import create_role, edit_role, pause_role, resume_role
from testing.command_line import forkflux
from testing.people import UI
from testing.wire import Caller, agent, role

REASON = "Because of the wind"
# The event of a new role tells what was given, and the admin's form gives all of it.
POLICY = {"lease_seconds": 90, "max_lease_expiries": 4, "stuck_after_minutes": 30}
_numbers = itertools.count(1)
# What each door calls a verb; each is known here as `noun verb`.
_ACTIONS = {"create": "add", "partial_update": "edit", "destroy": "delete"}
_OF_TOKENS = {"create": "issue", "destroy": "revoke"}
_PAGES = {"remove": "delete"}


@dataclass(frozen=True)
class Doorkeeper:
    """What doors need of a test: a person with all rights, at the API, in a browser and at the terminal."""

    person: Caller
    user_id: int
    browser: Client
    capsys: pytest.CaptureFixture[str]

    @property
    def actor(self) -> Actor:
        return person(user_id=self.user_id, name=self.person.name)


class Scene:
    """Two roles, and an agent that holds the first of them, a token, and a job of that role."""

    def __init__(self, state: str = "") -> None:
        self.number = next(_numbers)
        self.role, self.other = role(f"sail-{self.number}"), role(f"mast-{self.number}")
        self.agent = agent(f"Rita {self.number}", self.role.role_key, tool_family="codex")
        self.token = AgentToken.objects.get(agent=self.agent.agent_id).pk
        rita = acting_agent(self.agent.name)
        if state != "idle":
            self.job = publish(
                actor=rita, summary="s", context_payload={}, target_role_key=self.role.role_key
            ).pk
            claim(job_id=self.job, actor=rita)
        pat = person(user_id=0, name="pat")
        if state == "inactive":
            deactivate_agent(actor=pat, agent_name=self.agent.name, reason="r")
        if state == "paused":
            pause_role(actor=pat, role_key=self.role.role_key, reason="r")
        if state == "revoked":
            revoke_token(actor=pat, token_id=self.token)
        self.made_at = Event.objects.latest("pk").pk

    def told(self) -> dict[str, Any]:
        """Rows and events of this scene, without what differs by chance."""
        roles = Role.objects.filter(role_key__endswith=f"-{self.number}").order_by("pk")
        agents = Agent.objects.filter(agent_label__endswith=f" {self.number}").order_by("pk")
        events = Event.objects.filter(pk__gt=self.made_at).order_by("pk")
        return {
            "roles": [self._columns(one) for one in roles],
            "agents": [
                (self._columns(one), [self.plain(held.role_key) for held in one.roles.order_by("pk")])
                for one in agents
            ],
            "tokens": [
                self._columns(one) for one in AgentToken.objects.filter(agent__in=agents).order_by("pk")
            ],
            "events": [(event.event_type, self._payload(event.payload)) for event in events],
        }

    def events(self) -> list[Event]:
        return list(Event.objects.filter(pk__gt=self.made_at))

    def plain(self, text: str) -> str:
        """The text without this scene's numbers and ids."""
        text = re.sub(rf"(?<=[- ]){self.number}\b", "<number>", text)
        return re.sub(rf"\b[Tt]oken {self.token}\b", "token <token>", text)

    def _columns(self, row: Any) -> dict[str, Any]:
        found = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
        by_chance = {"id", "agent_id", "token_hash", "prefix"}
        return {name: self._value(value) for name, value in found.items() if name not in by_chance}

    def _payload(self, payload: dict[str, Any]) -> dict[str, Any]:
        by_chance = {"token_id", "prefix", "replaced_by", "valid_until", "returned_job_ids", "timestamp"}
        return {name: name if name in by_chance else self._value(value) for name, value in payload.items()}

    def _value(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return "<time>"
        if isinstance(value, dict):
            return {name: self._value(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._value(inner) for inner in value]
        return self.plain(value) if isinstance(value, str) else value


Deed = Callable[[Doorkeeper, Scene], str | None]


def by_service(keeper: Doorkeeper, scene: Scene, verb: str) -> str | None:
    """The verb as its service does it; the sentence of its refusal, or None."""
    name, key, actor = scene.agent.name, scene.role.role_key, keeper.actor
    calls: dict[str, Callable[[], object]] = {
        "agent add": lambda: register_agent(
            actor=actor, agent_label=f"Ben {scene.number}", role_keys=[key], tool_family="claude"
        ),
        "agent edit": lambda: edit_agent(
            actor=actor,
            agent_name=name,
            agent_label=f"Rita the second {scene.number}",
            role_keys=[scene.other.role_key],
        ),
        "agent deactivate": lambda: deactivate_agent(actor=actor, agent_name=name, reason=REASON),
        "agent delete": lambda: deactivate_agent(actor=actor, agent_name=name, reason=REASON),
        "agent activate": lambda: activate_agent(actor=actor, agent_name=name, reason=REASON),
        "agent assign-role": lambda: assign_role(actor=actor, agent_name=name, role_key=scene.other.role_key),
        "agent unassign-role": lambda: unassign_role(actor=actor, agent_name=name, role_key=key),
        "token issue": lambda: issue_token(actor=actor, agent_name=name, scopes=["read"]),
        "token revoke": lambda: revoke_token(actor=actor, token_id=scene.token),
        "token rotate": lambda: rotate_token(actor=actor, token_id=scene.token, keep_seconds=600),
        "role add": lambda: create_role(
            actor=actor, role_key=f"keel-{scene.number}", role_label="Keel", **POLICY
        ),
        "role edit": lambda: edit_role(actor=actor, role_key=key, role_label="Sail", stuck_after_minutes=5),
        "role pause": lambda: pause_role(actor=actor, role_key=key, reason=REASON),
        "role resume": lambda: resume_role(actor=actor, role_key=key, reason=REASON),
        "role delete": lambda: delete_role(actor=actor, role_key=key),
        "role delete, moving": lambda: delete_role(actor=actor, role_key=key, move_to=scene.other.role_key),
        "role add again": lambda: create_role(actor=actor, role_key=key, role_label="Keel"),
    }
    try:
        calls[verb]()
    except DomainError as error:
        return scene.plain(error.message)
    return None


# /api/v1/ui


def offered_by_rest() -> set[str]:
    found = set()
    for pattern in [*agent_urls.urlpatterns, *role_urls.urlpatterns]:
        callback: Any = pattern.callback
        noun = re.sub(r"Person(\w+)ViewSet", r"\1", callback.cls.__name__).lower()
        for action in callback.actions.values():
            named = _OF_TOKENS if noun == "token" else _ACTIONS
            if action != "list":
                found.add(f"{noun} {named.get(action, action)}")
    return found


def by_rest(keeper: Doorkeeper, scene: Scene, verb: str) -> str | None:
    one, role_id, number = scene.agent.agent_id, scene.role.pk, scene.number
    told = {"reason": REASON}
    edited = {"agent_label": f"Rita the second {number}", "roles": [scene.other.role_key]}
    made = {"agent_label": f"Ben {number}", "tool_family": "claude", "target_role_ids": [role_id]}
    keel = {"role_key": f"keel-{number}", "role_label": "Keel", **POLICY}
    method, path, body = {
        "agent add": ("POST", "agents", made),
        "agent edit": ("PATCH", f"agents/{one}", edited),
        "agent deactivate": ("POST", f"agents/{one}/deactivate", told),
        "agent delete": ("DELETE", f"agents/{one}?reason={REASON.replace(' ', '%20')}", None),
        "agent activate": ("POST", f"agents/{one}/activate", told),
        "token issue": ("POST", f"agents/{one}/tokens", {"scopes": ["read"]}),
        "token revoke": ("DELETE", f"tokens/{scene.token}", None),
        "token rotate": ("POST", f"tokens/{scene.token}/rotate", {"keep_seconds": 600}),
        "role add": ("POST", "agents/roles", keel),
        "role edit": ("PATCH", f"agents/roles/{role_id}", {"role_label": "Sail", "stuck_after_minutes": 5}),
        "role pause": ("POST", f"agents/roles/{role_id}/pause", told),
        "role resume": ("POST", f"agents/roles/{role_id}/resume", told),
        "role delete": ("DELETE", f"agents/roles/{role_id}", None),
        "role delete, moving": (
            "DELETE",
            f"agents/roles/{role_id}?move_to={scene.other.role_key}",
            None,
        ),
        "role add again": ("POST", "agents/roles", {"role_key": scene.role.role_key, "role_label": "Keel"}),
    }[verb]
    answer = keeper.person.call(method, f"{UI}/{path}", body)
    if answer.status_code < 300:
        return None
    assert answer.status_code == 409, answer.content
    [entry] = answer.json()["detail"]
    return scene.plain(entry["msg"])


# forkflux agent, token, role


def offered_at_the_terminal() -> set[str]:
    found = set()
    for noun, command in (("agent", AgentCommand()), ("token", TokenCommand()), ("role", RoleCommand())):
        parser = command.create_parser("forkflux", noun)
        [choices] = [action.choices for action in parser._actions if action.dest == "action"]
        found |= {f"{noun} {name}" for name in choices or () if name != "list"}
    return found


def at_the_terminal(keeper: Doorkeeper, scene: Scene, verb: str) -> str | None:
    name, key, other = scene.agent.name, scene.role.role_key, scene.other.role_key
    because = ["--reason", REASON]
    policy = [part for name, value in POLICY.items() for part in (f"--{name.replace('_', '-')}", value)]
    arguments: dict[str, list[str | int]] = {
        "agent add": [f"Ben {scene.number}", "--role", key, "--tool-family", "claude"],
        "agent edit": [name, "--label", f"Rita the second {scene.number}", "--role", other],
        "agent deactivate": [name, *because, "--yes"],
        "agent activate": [name, *because],
        "agent assign-role": [name, other],
        "agent unassign-role": [name, key],
        "token issue": [name, "--scope", "read"],
        "token revoke": [scene.token],
        "token rotate": [scene.token, "--keep-old", "600s"],
        "role add": [f"keel-{scene.number}", "--label", "Keel", *policy],
        "role edit": [key, "--label", "Sail", "--stuck-after-minutes", 5],
        "role pause": [key, *because],
        "role resume": [key, *because],
        "role delete": [key, "--yes"],
        "role delete, moving": [key, "--move-to", other, "--yes"],
        "role add again": [key, "--label", "Keel"],
    }
    noun, action = verb.removesuffix(", moving").removesuffix(" again").split(" ", 1)
    ended = forkflux(keeper.capsys, noun, action, *arguments[verb], "--json")
    if ended.status == 0:
        return None
    assert (ended.status, ended.out) == (1, ""), ended
    return scene.plain(ended.err.removeprefix("Error: ").rstrip("\n"))


# /admin/


def offered_in_the_admin() -> set[str]:
    found = {"agent add", "role add"}
    for noun, model in (("agent", Agent), ("role", Role)):
        pages: Any = admin.site._registry[model]
        for route, _, name in pages.deeds():
            found.add(f"{'token' if route.find('token') >= 0 else noun} {_PAGES.get(name, name)}")
    return found


def in_the_admin(keeper: Doorkeeper, scene: Scene, verb: str) -> str | None:
    one, key, other = scene.agent.agent_id, scene.role.role_key, scene.other.role_key
    told = {"reason": REASON}
    kept = {"lease_seconds": 1800, "max_lease_expiries": 5}
    page, number, fields = {
        "agent add": (
            "agents_agent_add",
            None,
            {"agent_label": f"Ben {scene.number}", "tool_family": "claude", "roles": [key]},
        ),
        "agent edit": (
            "agents_agent_edit",
            one,
            {"agent_label": f"Rita the second {scene.number}", "tool_family": "codex", "roles": [other]},
        ),
        "agent deactivate": ("agents_agent_deactivate", one, told),
        "agent activate": ("agents_agent_activate", one, told),
        "token issue": ("agents_agent_issue", one, {"scopes": ["read"]}),
        "token revoke": ("agents_agent_revoke", scene.token, {}),
        "token rotate": ("agents_agent_rotate", scene.token, {"keep_seconds": 600}),
        "role add": (
            "roles_role_add",
            None,
            POLICY | {"role_key": f"keel-{scene.number}", "role_label": "Keel"},
        ),
        "role edit": (
            "roles_role_edit",
            scene.role.pk,
            kept | {"role_key": key, "role_label": "Sail", "stuck_after_minutes": 5},
        ),
        "role pause": ("roles_role_pause", scene.role.pk, told),
        "role resume": ("roles_role_resume", scene.role.pk, told),
        "role delete": ("roles_role_remove", scene.role.pk, {}),
        "role delete, moving": ("roles_role_remove", scene.role.pk, {"move_to": other}),
        "role add again": ("roles_role_add", None, POLICY | {"role_key": key, "role_label": "Keel"}),
    }[verb]
    answer: Any = keeper.browser.post(reverse(f"admin:{page}", args=[number] if number else []), fields)
    form = answer.context["form"] if answer.context and "form" in answer.context else None
    if form is None or not form.errors:
        return None
    assert set(form.errors) == {"__all__"}, form.errors
    return scene.plain(form.errors.get_json_data()["__all__"][0]["message"])
