"""`forkflux agent`: who works on the jobs."""

from __future__ import annotations

from agents.inputs import RegisterInput
from agents.payloads import agent_item
from agents.selectors import agents_with_roles
from agents.services import register_agent
from core.cli import CommandWithActions, Options, naming, person_at_the_terminal, read
from core.clock import database_moment
from core.printing import Table, shown_time
from jobs.selectors import held_jobs

_OPTIONS = {"agent_label": "LABEL", "roles": "--role", "tool_family": "--tool-family"}


class Command(CommandWithActions):
    """add, list."""

    help = "Add agents with their first token, and list them."
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
