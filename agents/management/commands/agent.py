"""`forkflux agent`: who works on the jobs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from agents.inputs import AgentEditInput, RegisterInput
from agents.models import Agent
from agents.payloads import agent_item
from agents.selectors import agent_named, agents_with_roles
from agents.services import (
    activate_agent,
    assign_role,
    edit_agent,
    register_agent,
    roles_of,
    unassign_role,
)
from core.cli import (
    Action,
    CommandWithActions,
    Options,
    add_reason_option,
    add_yes_option,
    naming,
    person_at_the_terminal,
    read,
)
from core.clock import database_moment
from core.exits import WRONG_USAGE
from core.printing import Table, printable, shown_time
from jobs.selectors import held_jobs
from jobs.services.removing import deactivate_agent

_OPTIONS = {"agent_label": "LABEL", "roles": "--role", "tool_family": "--tool-family"}


class Command(CommandWithActions):
    """add, list, edit, deactivate, activate, assign-role, unassign-role."""

    help = "Add agents with their first token, list, edit and deactivate them."
    example = "forkflux agent add Reviewer --role qa"

    def add_actions(self) -> None:
        add = self.action(
            "add",
            self.add,
            says="make an agent and print its token, once",
            example="forkflux agent add Reviewer --role qa --role docs --tool-family codex",
        )
        add.add_argument("label", metavar="LABEL", help="what it is called; its address is made of this")
        add.add_argument(
            "--role",
            action="append",
            default=[],
            dest="roles",
            metavar="KEY",
            help="a role that it holds; may be given several times",
        )
        add.add_argument("--tool-family", metavar="F", help="which tool it is, such as codex or claude")
        self.action(
            "list",
            self.list,
            says="list the agents and what they hold",
            example="forkflux agent list --json",
        )
        edit = self._of_an_agent(
            "edit", self.edit, "change an agent", "forkflux agent edit reviewer --label Rita"
        )
        edit.add_argument("--label", metavar="LABEL", help="what it is called; its address stays")
        edit.add_argument("--tool-family", metavar="F", help="which tool it is, such as codex or claude")
        edit.add_argument(
            "--role", action="append", dest="roles", metavar="KEY", help="all its roles, anew; repeatable"
        )
        deactivate = self._of_an_agent(
            "deactivate",
            self.deactivate,
            "refuse an agent and put what it holds back on the board",
            'forkflux agent deactivate reviewer --reason "Its laptop was stolen" --yes',
        )
        add_reason_option(deactivate, "why it is refused")
        add_yes_option(deactivate)
        activate = self._of_an_agent(
            "activate", self.activate, "let an agent in again", "forkflux agent activate reviewer"
        )
        activate.add_argument("--reason", default="", metavar="TEXT", help="why now")
        for name, run, says in (
            ("assign-role", self.assign_role, "give an agent one more role"),
            ("unassign-role", self.unassign_role, "take a role from an agent; its work of it goes on"),
        ):
            parser = self._of_an_agent(name, run, says, f"forkflux agent {name} reviewer qa")
            parser.add_argument("role_key", metavar="ROLE_KEY", help="as `forkflux role list` shows it")

    def _of_an_agent(self, name: str, run: Action, says: str, example: str) -> CommandParser:
        parser = self.action(name, run, says=says, example=example)
        parser.add_argument("agent_name", metavar="AGENT_NAME", help="as `forkflux agent list` shows it")
        return parser

    def add(self, options: Options) -> None:
        with naming(_OPTIONS):
            fields = read(
                RegisterInput,
                {
                    "agent_label": options["label"],
                    "roles": options["roles"],
                    "tool_family": options["tool_family"],
                },
            )
            agent, issued = register_agent(
                actor=person_at_the_terminal(),
                agent_label=fields.agent_label,
                role_keys=fields.roles,
                tool_family=fields.tool_family,
            )
        roles = list(dict.fromkeys(fields.roles))
        document = {
            "agent_id": agent.pk,
            "name": agent.name,
            "agent_label": agent.agent_label,
            "roles": roles,
            "api_token": issued.secret,
        }
        holds = f"holds {', '.join(roles)}" if roles else "holds no role yet"
        self.answer(
            options,
            document,
            f"The agent {agent.name} was made; it {holds}.\nToken: {issued.secret}\n"
            "The token is not shown again: give it to the agent now.",
        )

    def edit(self, options: Options) -> None:
        names = {"agent_label": "label", "tool_family": "tool_family", "roles": "roles"}
        given = {field: options[name] for field, name in names.items() if options[name] is not None}
        if not given:
            raise CommandError(
                "Nothing to change was given; see: forkflux agent edit --help", returncode=WRONG_USAGE
            )
        with naming(_OPTIONS | {"agent_label": "--label"}):
            changes = read(AgentEditInput, given).as_changes()
            agent = edit_agent(actor=person_at_the_terminal(), agent_name=options["agent_name"], **changes)
        self._tell(options, agent, "was changed")

    def deactivate(self, options: Options) -> None:
        reason = self.reason(options)
        agent = agent_named(options["agent_name"])
        held = held_jobs().get(agent.pk, [])
        falls_back = (
            f" The jobs that it holds go back to the board: {', '.join(map(str, held))}." if held else ""
        )
        self.confirm(options, f"Refuse every call of {agent.name} from now on?{falls_back}")
        agent, returned = deactivate_agent(
            actor=person_at_the_terminal(), agent_name=agent.name, reason=reason
        )
        told = f"; put back on the board: {', '.join(map(str, returned))}" if returned else ""
        self._tell(options, agent, f"is deactivated{told}", returned_job_ids=returned)

    def activate(self, options: Options) -> None:
        agent = activate_agent(
            actor=person_at_the_terminal(), agent_name=options["agent_name"], reason=options["reason"]
        )
        self._tell(options, agent, "is let in again")

    def assign_role(self, options: Options) -> None:
        with naming({"role_key": "ROLE_KEY"}):
            agent = assign_role(
                actor=person_at_the_terminal(),
                agent_name=options["agent_name"],
                role_key=options["role_key"],
            )
        self._tell(options, agent, f"holds the role {printable(options['role_key'])}")

    def unassign_role(self, options: Options) -> None:
        with naming({"role_key": "ROLE_KEY"}):
            agent = unassign_role(
                actor=person_at_the_terminal(),
                agent_name=options["agent_name"],
                role_key=options["role_key"],
            )
        self._tell(options, agent, f"no longer holds the role {printable(options['role_key'])}")

    def _tell(self, options: Options, agent: Agent, done: str, **more: Any) -> None:
        document = {
            "agent_id": agent.pk,
            "name": agent.name,
            "agent_label": agent.agent_label,
            "tool_family": agent.tool_family,
            "roles": [role.role_key for role in roles_of(agent)],
            "is_active": agent.is_active,
            **more,
        }
        self.answer(options, document, f"The agent {agent.name} {done}.")

    def list(self, options: Options) -> None:
        now, holds = database_moment().now, held_jobs()
        agents = [
            {
                "agent_id": agent.pk,
                **agent_item(agent, holds=holds.get(agent.pk, []), now=now),
                "tool_family": agent.tool_family,
                "is_active": agent.is_active,
            }
            for agent in agents_with_roles()
        ]
        rows = [
            (
                agent["agent_id"],
                agent["name"],
                agent["agent_label"],
                agent["roles"],
                agent["presence"] if agent["is_active"] else "deactivated",
                agent["holds"],
                shown_time(agent["last_seen_at"]),
            )
            for agent in agents
        ]
        table = Table(
            ["Id", "Name", "Label", "Roles", "Presence", "Holds jobs", "Last seen"],
            rows,
            empty="There are no agents yet; make one: forkflux agent add LABEL --role KEY",
            cut=["Name", "Label", "Roles", "Holds jobs"],
        )
        self.answer(options, agents, table)
