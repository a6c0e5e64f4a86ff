"""The doors through which a verb reaches its service, one adapter for each: how it is asked for, and how it refuses.

`offered` reads out of the code which verbs a door has, so that one without a row here is noticed.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from core.actors import Actor, person
from core.errors import DomainError
from forkflux_site.tests import doors_admin
from forkflux_site.tests.doors_scene import ARGUMENTS, SUMMARY, Refusal, Scene
from jobs.api import people_urls, urls
from jobs.management.commands.job import Command as JobCommand
from jobs.management.verbs import VERBS
from jobs.services.blocking import block, resume, unblock
from jobs.services.claiming import claim, claim_next, reassign
from jobs.services.closing import cancel, complete, fail, restart
from jobs.services.holding import hold, unhold
from jobs.services.leasing import heartbeat
from jobs.services.publishing import publish
from jobs.services.removing import delete_job
from jobs.services.returning import release, requeue
from jobs.services.updating import update
from testing.command_line import forkflux
from testing.people import UI
from testing.wire import Caller, job_body

_SERVICES: dict[str, Callable[..., Any]] = {
    "claim": claim,
    "complete": complete,
    "fail": fail,
    "block": block,
    "unblock": unblock,
    "resume": resume,
    "restart": restart,
    "heartbeat": heartbeat,
    "release": release,
    "requeue": requeue,
    "cancel": cancel,
    "hold": hold,
    "unhold": unhold,
    "update": update,
    "edit": update,
    "delete": delete_job,
}
# The verbs that a change of status stands for.
_STATUS = {
    "complete": "completed",
    "fail": "failed",
    "block": "blocked",
    "unblock": "unblocked",
    "resume": "in_progress",
    "restart": "in_progress",
    "cancel": "cancelled",
}
# Names of actions that are not the verb's own.
_ACTIONS = {"create": "publish", "destroy": "delete"}
_READING = {"list", "retrieve", "events", "artifacts", "counts", "stats", "stuck"}


def by_service(scene: Scene, verb: str, actor: Actor) -> Refusal | None:
    """The verb as its service does it: what every door is compared with."""
    given = dict(ARGUMENTS[verb])
    try:
        if verb == "publish":
            scene.job_id = publish(
                actor=actor,
                summary=SUMMARY,
                context_payload={"sails": 3},
                target_role_key=scene.role.role_key,
                constraints=["Every field has a label"],
            ).pk
        elif verb == "claim_next":
            claim_next(actor=actor, role_keys=[scene.role.role_key])
        elif verb == "reassign":
            agent_name = scene.callers["rival"].name
            reassign(job_id=scene.job_id, actor=actor, agent_name=agent_name, **given)
        else:
            _SERVICES[verb](job_id=scene.job_id, actor=actor, **given)
    except DomainError as error:
        return Refusal(error.code, scene.plain(error.message))
    return None


@dataclass(frozen=True)
class Door:
    """One way in. `kind` is who stands there; `tells_code`: a refusal names its code beside the sentence."""

    name: str
    kind: str
    offered: Callable[[], set[str]]
    use: Callable[[Doorkeeper, Scene, str, str], Refusal | None]
    tells_code: bool = True
    via_terminal: bool = False


@dataclass(frozen=True)
class Doorkeeper:
    """What doors need of a test: a person with all rights, and where commands print."""

    person: Caller
    user_id: int
    browser: Client
    capsys: pytest.CaptureFixture[str]

    def actor(self, scene: Scene, who: str) -> Actor:
        """As the services know whoever acts."""
        if who == "person":
            return person(user_id=self.user_id, name=self.person.name)
        return scene.agent(who)


def _actions_of(patterns: list[Any]) -> set[str]:
    found = {
        action
        for pattern in patterns
        for method, action in pattern.callback.actions.items()
        if method != "head" and action not in _READING
    }
    return {_ACTIONS.get(action, action) for action in found}


# /admin/


def _by_button(keeper: Doorkeeper, scene: Scene, verb: str, who: str) -> Refusal | None:
    return doors_admin.by_button(keeper.browser, scene, verb)


def _by_action(keeper: Doorkeeper, scene: Scene, verb: str, who: str) -> Refusal | None:
    return doors_admin.by_action(keeper.browser, scene, verb)


# /api/v1/mcp


def _offered_to_agents() -> set[str]:
    found = {"update" if action == "partial_update" else action for action in _actions_of(urls.urlpatterns)}
    return found - {"change_status"} | set(_STATUS)


def _as_agent(keeper: Doorkeeper, scene: Scene, verb: str, who: str) -> Refusal | None:
    caller, given = scene.callers[who], ARGUMENTS[verb]
    path = f"/jobs/{scene.job_id}"
    if verb == "publish":
        return _published(scene, caller.post("/jobs", _new_job(scene)))
    if verb == "claim_next":
        answer = caller.post("/jobs/claim-next", {"target_role_key": scene.role.role_key})
    elif verb == "update":
        answer = caller.patch(path, given)
    elif verb in _STATUS:
        answer = caller.post(f"{path}/status", {"status": _STATUS[verb], **given})
    else:
        answer = caller.post(f"{path}/{verb}", given)
    return _refused(scene, answer)


# /api/v1/ui


def _offered_to_people() -> set[str]:
    return {
        "edit" if action == "partial_update" else action for action in _actions_of(people_urls.urlpatterns)
    }


def _as_person(keeper: Doorkeeper, scene: Scene, verb: str, who: str) -> Refusal | None:
    caller, given = keeper.person, ARGUMENTS[verb]
    path = f"{UI}/jobs/{scene.job_id}"
    if verb == "publish":
        return _published(scene, caller.post(f"{UI}/jobs", _new_job(scene)))
    if verb == "edit":
        answer = caller.patch(path, given)
    elif verb == "delete":
        answer = caller.call("DELETE", path)
    elif verb == "reassign":
        answer = caller.post(f"{path}/{verb}", {"agent_name": scene.callers["rival"].name, **given})
    else:
        answer = caller.post(f"{path}/{verb}", given)
    return _refused(scene, answer)


def _new_job(scene: Scene) -> dict[str, Any]:
    return job_body(summary=SUMMARY, context_payload={"sails": 3}, target_role_key=scene.role.role_key)


def _published(scene: Scene, answer: Any) -> Refusal | None:
    if answer.status_code == 201:
        scene.job_id = answer.json()["job_id"]
    return _refused(scene, answer)


def _refused(scene: Scene, answer: Any) -> Refusal | None:
    if answer.status_code < 300:
        return None
    body = answer.json()
    if answer.status_code == 409:
        [entry] = body["detail"]
        # The reference's words stand before the sentence.
        sentence = entry["msg"].partition(" is invalid: ")[2] or entry["msg"]
        return Refusal(entry["ctx"]["code"], scene.plain(sentence))
    return Refusal(body.get("code"), scene.plain(str(body["detail"])))


# forkflux job


def _offered_at_the_terminal(kind: str) -> set[str]:
    actions = {"publish", "edit", "delete"}
    verbs = {verb.name for verb in VERBS}
    unknown = _terminal_actions() - verbs - actions - {"list", "show", "events"}
    assert not unknown, f"no adapter knows {unknown}"
    if kind == "agent":
        return {verb.name for verb in VERBS if verb.acts_as in {"agent", "either"}}
    return {verb.name for verb in VERBS if verb.acts_as in {"person", "either"}} | actions


def _terminal_actions() -> set[str]:
    parser = JobCommand().create_parser("forkflux", "job")
    [choices] = [action.choices for action in parser._actions if action.dest == "action"]
    return set(choices or {})


def _at_the_terminal(keeper: Doorkeeper, scene: Scene, verb: str, who: str) -> Refusal | None:
    options: list[str | int] = [] if verb == "publish" else [scene.job_id]
    if who != "person":
        options += ["--as", scene.callers[who].name]
    for name, value in ARGUMENTS[verb].items():
        options += _options(name, value)
    if verb == "reassign":
        options += ["--to", scene.callers["rival"].name]
    if verb == "delete":
        options += ["--yes"]
    if verb == "publish":
        options += ["--role", scene.role.role_key, "--summary", SUMMARY, "--context", '{"sails": 3}']
        options += ["--constraint", "Every field has a label"]
    ended = forkflux(keeper.capsys, "job", verb, *options, "--json")
    if ended.status == 0:
        scene.job_id = ended.document["job_id"]
        return None
    assert (ended.status, ended.out) == (1, ""), ended
    return Refusal(None, scene.plain(ended.err.removeprefix("Error: ").rstrip("\n")))


def _options(name: str, value: Any) -> list[str]:
    if name.endswith("reason"):
        return ["--reason", value]
    if name == "labels":
        return ["--label", *value]
    if name == "result":
        return ["--result", '{"sails": 3}']
    return [f"--{name.replace('_', '-')}", str(value)]


DOORS = (
    Door("REST, as an agent", "agent", _offered_to_agents, _as_agent),
    Door("REST, as a person", "person", _offered_to_people, _as_person),
    Door(
        "command line, --as",
        "agent",
        lambda: _offered_at_the_terminal("agent"),
        _at_the_terminal,
        tells_code=False,
        via_terminal=True,
    ),
    Door(
        "command line",
        "person",
        lambda: _offered_at_the_terminal("person"),
        _at_the_terminal,
        tells_code=False,
        via_terminal=True,
    ),
    Door("admin button", "person", doors_admin.offered_as_buttons, _by_button, tells_code=False),
    Door("admin action", "person", doors_admin.offered_as_actions, _by_action, tells_code=False),
)
TERMINAL_USER = getpass.getuser()
