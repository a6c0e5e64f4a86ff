"""`forkflux role`: the capabilities that work is addressed to."""

from __future__ import annotations

from core.cli import CommandWithActions, Options, naming, person_at_the_terminal, read
from core.printing import Table
from roles.inputs import RoleInput
from roles.payloads import role_policy
from roles.selectors import active_roles
from roles.services import create_role

_OPTIONS = {
    "role_key": "KEY",
    "role_label": "--label",
    "lease_seconds": "--lease-seconds",
    "max_held_per_agent": "--max-held-per-agent",
}


class Command(CommandWithActions):
    """add, list."""

    help = "Add and list roles, the capabilities that work is addressed to."
    example = "forkflux role add qa --label QA"

    def add_actions(self) -> None:
        add = self.action("add", self.add, says="make a role", example="forkflux role add qa --label QA")
        add.add_argument("role_key", metavar="KEY", help="what jobs are addressed to, such as qa")
        add.add_argument("--label", metavar="LABEL", help="the name that people read (default: the key)")
        add.add_argument(
            "--lease-seconds",
            type=int,
            metavar="N",
            help="how long a claim lasts without a sign of life (default: 1800)",
        )
        add.add_argument(
            "--max-held-per-agent",
            type=int,
            metavar="N",
            help="how many jobs one agent may hold at once (default: no limit)",
        )
        self.action("list", self.list, says="list the roles", example="forkflux role list --json")

    def add(self, options: Options) -> None:
        with naming(_OPTIONS):
            fields = read(
                RoleInput,
                {
                    "role_key": options["role_key"],
                    "role_label": options["role_key"] if options["label"] is None else options["label"],
                    "lease_seconds": options["lease_seconds"],
                    "max_held_per_agent": options["max_held_per_agent"],
                },
            )
        role = create_role(actor=person_at_the_terminal(), **fields.as_arguments())
        self.answer(options, role_policy(role), f"The role {role.role_key} was made.")

    def list(self, options: Options) -> None:
        roles = [role_policy(role) for role in active_roles()]
        rows = [
            (
                role["role_key"],
                role["role_label"],
                role["lease_seconds"],
                role["max_held_per_agent"] or "no limit",
                role["is_open"],
                "paused" if role["paused_at"] else "open for work",
            )
            for role in roles
        ]
        table = Table(
            ["Key", "Label", "Lease s", "Most held", "Anyone", "State"],
            rows,
            empty="There are no roles yet; make one: forkflux role add KEY",
            cut=["Key", "Label"],
        )
        self.answer(options, roles, table)
