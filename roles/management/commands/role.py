"""`forkflux role`: the capabilities that work is addressed to."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser

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
from core.exits import WRONG_USAGE
from core.printing import Table, printable
from jobs.services.removing import delete_role
from roles.inputs import PauseInput, RoleEditInput, RoleInput
from roles.payloads import role_policy
from roles.selectors import active_roles
from roles.services import create_role, edit_role, pause_role, resume_role

NO_LIMIT = "none"
_POLICY = {
    "lease_seconds": "how long a claim lasts without a sign of life (default: 1800)",
    "max_lease_expiries": "how often a job's lease may run out before the job fails (default: 5)",
    "stuck_after_minutes": "after how long without progress a job counts as stuck (default: 60)",
    "max_held_per_agent": f"how many jobs one agent may hold at once; {NO_LIMIT}: no limit (default)",
}
_OPTIONS = {
    "role_key": "KEY",
    "role_label": "--label",
    **{name: f"--{name.replace('_', '-')}" for name in _POLICY},
}


class Command(CommandWithActions):
    """add, list, edit, delete, pause, resume."""

    help = "Make, list, edit, pause and delete roles, to which work is addressed."
    example = "forkflux role add qa --label QA"

    def add_actions(self) -> None:
        add = self.action("add", self.add, says="make a role", example="forkflux role add qa --label QA")
        add.add_argument("role_key", metavar="KEY", help="what jobs are addressed to, such as qa")
        add.add_argument("--label", metavar="LABEL", help="the name that people read (default: the key)")
        _policy_arguments(add)
        self.action("list", self.list, says="list the roles", example="forkflux role list --json")
        edit = self._of_a_role(
            "edit", self.edit, "change a role", "forkflux role edit qa --stuck-after-minutes 30"
        )
        edit.add_argument("--key", metavar="KEY", help="another key; jobs and agents keep the role")
        edit.add_argument("--label", metavar="LABEL", help="the name that people read")
        _policy_arguments(edit)
        pause = self._of_a_role(
            "pause",
            self.pause,
            "hand out nothing of a role until it is resumed",
            'forkflux role pause qa --reason "The test server is down"',
        )
        add_reason_option(pause, "why nothing is handed out")
        resume = self._of_a_role(
            "resume", self.resume, "hand out a role's work again", "forkflux role resume qa"
        )
        resume.add_argument("--reason", metavar="TEXT", default="", help="why now")
        delete = self._of_a_role(
            "delete",
            self.delete,
            "delete a role; its unfinished jobs go to another one",
            "forkflux role delete qa --move-to review --yes",
        )
        delete.add_argument("--move-to", metavar="KEY", help="the role that takes its unfinished jobs")
        add_yes_option(delete)

    def _of_a_role(self, name: str, run: Action, says: str, example: str) -> CommandParser:
        parser = self.action(name, run, says=says, example=example)
        parser.add_argument("role_key", metavar="KEY", help="as `forkflux role list` shows it")
        return parser

    def add(self, options: Options) -> None:
        with naming(_OPTIONS):
            fields = read(
                RoleInput,
                {
                    "role_key": options["role_key"],
                    "role_label": options["role_key"] if options["label"] is None else options["label"],
                }
                | _given_policy(options),
            )
        role = create_role(actor=person_at_the_terminal(), **fields.as_arguments())
        self.answer(options, role_policy(role), f"The role {role.role_key} was made.")

    def edit(self, options: Options) -> None:
        names = {"key": "role_key", "label": "role_label"}
        given = {field: options[name] for name, field in names.items() if options[name] is not None}
        with naming(_OPTIONS | {"role_key": "--key"}):
            changes = read(RoleEditInput, given | _given_policy(options)).as_changes()
            if not changes:
                raise CommandError(
                    "Nothing to change was given; see: forkflux role edit --help", returncode=WRONG_USAGE
                )
            role = edit_role(actor=person_at_the_terminal(), role_key=options["role_key"], **changes)
        self.answer(options, role_policy(role), f"The role {printable(role.role_key)} was changed.")

    def pause(self, options: Options) -> None:
        reason = self.reason(options)
        with naming({"reason": "--reason"}):
            reason = read(PauseInput, {"reason": reason}).reason
        role = pause_role(actor=person_at_the_terminal(), role_key=options["role_key"], reason=reason)
        said = f"The role {printable(role.role_key)} is paused: {printable(role.pause_reason)}"
        self.answer(options, role_policy(role), said)

    def resume(self, options: Options) -> None:
        role = resume_role(
            actor=person_at_the_terminal(), role_key=options["role_key"], reason=options["reason"]
        )
        self.answer(options, role_policy(role), f"The role {printable(role.role_key)} is open for work.")

    def delete(self, options: Options) -> None:
        key, target = options["role_key"], options["move_to"]
        goes = (
            f"its unfinished jobs go to {printable(target)}" if target else "it must have no unfinished jobs"
        )
        self.confirm(options, f"Delete the role {printable(key)}? Its agents lose it; {goes}.")
        role, moved = delete_role(actor=person_at_the_terminal(), role_key=key, move_to=target)
        document = {"role_key": role.role_key, "deleted": True, "moved_job_ids": moved}
        told = f"; {len(moved)} jobs went to {printable(target)}" if moved else ""
        self.answer(options, document, f"The role {printable(role.role_key)} was deleted{told}.")

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


def _policy_arguments(parser: CommandParser) -> None:
    for name, meaning in _POLICY.items():
        kind = _number_or_none if name == "max_held_per_agent" else int
        parser.add_argument(_OPTIONS[name], type=kind, metavar="N", help=meaning)


def _given_policy(options: Options) -> dict[str, Any]:
    """The policy that was given, as the inputs name it."""
    given = {name: options[name] for name in _POLICY if options[name] is not None}
    return {name: None if value == NO_LIMIT else value for name, value in given.items()}


def _number_or_none(text: str) -> int | str:
    if text == NO_LIMIT:
        return text
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise ArgumentTypeError(f"{text!r} is no whole number; allowed is a number, or {NO_LIMIT}")
    return int(text)
