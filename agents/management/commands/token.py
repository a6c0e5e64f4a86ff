"""`forkflux token`: the credentials of agents."""

from __future__ import annotations

import argparse
import re
from datetime import timedelta

from django.core.management.base import CommandParser

from agents.inputs import ROTATION_KEEPS_SECONDS, RotateInput, TokenInput
from agents.payloads import token_item
from agents.scopes import DEFAULT_SCOPES, SCOPES
from agents.selectors import tokens_of
from agents.services import issue_token, revoke_token, rotate_token
from core.cli import CommandWithActions, Options, naming, person_at_the_terminal, read, row_id
from core.clock import database_moment, iso
from core.printing import Table, shown_time
from jobs.stuck import in_words

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST = timedelta(days=36_500)


class Command(CommandWithActions):
    """issue, list, revoke, rotate."""

    help = "Issue, list, rotate and revoke the tokens that agents call with."
    example = "forkflux token issue reviewer --expires-in 30d"

    def add_actions(self) -> None:
        issue = self.action(
            "issue",
            self.issue,
            says="give an agent one more token and print it, once",
            example="forkflux token issue reviewer --scope read --expires-in 30d",
        )
        issue.add_argument("agent_name", metavar="AGENT_NAME", help="as `forkflux agent list` shows it")
        issue.add_argument(
            "--scope",
            action="append",
            choices=SCOPES,
            dest="scopes",
            metavar="SCOPE",
            help="what it may do; may be given several times, out of: "
            f"{', '.join(SCOPES)} (default: {', '.join(DEFAULT_SCOPES)})",
        )
        _until_arguments(issue)
        listed = self.action(
            "list",
            self.list,
            says="list tokens, never the secrets",
            example="forkflux token list reviewer",
        )
        listed.add_argument("agent_name", nargs="?", metavar="AGENT_NAME", help="only those of this agent")
        revoke = self.action(
            "revoke",
            self.revoke,
            says="take a token back; its next call is refused",
            example="forkflux token revoke 3",
        )
        revoke.add_argument(
            "token_id", type=row_id, metavar="TOKEN_ID", help="as `forkflux token list` shows it"
        )

        rotate = self.action(
            "rotate",
            self.rotate,
            says="replace a token by a new one; the old one stays valid for a while",
            example="forkflux token rotate 3 --keep-old 1h",
        )
        rotate.add_argument(
            "token_id", type=row_id, metavar="TOKEN_ID", help="as `forkflux token list` shows it"
        )
        rotate.add_argument(
            "--keep-old",
            type=duration,
            default=timedelta(seconds=ROTATION_KEEPS_SECONDS),
            metavar="DURATION",
            help="for how long the old one stays valid, up to 30d (default: 1d)",
        )
        _until_arguments(rotate)

    def rotate(self, options: Options) -> None:
        with naming({"expires_at": "--expires-at", "keep_seconds": "--keep-old"}):
            keep = int(options["keep_old"].total_seconds())
            fields = read(RotateInput, {"keep_seconds": keep, "expires_at": _expires_at(options)})
            issued = rotate_token(
                actor=person_at_the_terminal(), token_id=options["token_id"], **fields.as_arguments()
            )
        token = token_item(issued.token, now=issued.token.created_at)
        self.answer(
            options,
            token | {"api_token": issued.secret, "replaces": options["token_id"]},
            f"Token {token['token_id']} of {token['name']} replaces token {options['token_id']}, which stays "
            f"valid for {in_words(options['keep_old'])}.\nToken: {issued.secret}\n"
            "The token is not shown again: give it to the agent now.",
        )

    def issue(self, options: Options) -> None:
        with naming({"expires_at": "--expires-at"}):
            fields = read(TokenInput, {"expires_at": _expires_at(options)})
            issued = issue_token(
                actor=person_at_the_terminal(),
                agent_name=options["agent_name"],
                scopes=list(dict.fromkeys(options["scopes"] or DEFAULT_SCOPES)),
                expires_at=fields.expires_at,
            )
        token = token_item(issued.token, now=issued.token.created_at)
        until = f", valid until {shown_time(token['expires_at'])}" if token["expires_at"] else ""
        self.answer(
            options,
            token | {"api_token": issued.secret},
            f"Token {token['token_id']} was issued to {token['name']}{until}.\nToken: {issued.secret}\n"
            "The token is not shown again: give it to the agent now.",
        )

    def list(self, options: Options) -> None:
        now = database_moment().now
        tokens = [token_item(token, now=now) for token in tokens_of(options["agent_name"])]
        rows = [
            (
                token["token_id"],
                token["name"],
                f"{token['prefix']}…",
                token["state"].replace("_", " "),
                token["scopes"],
                shown_time(token["expires_at"]),
                shown_time(token["last_used_at"]),
            )
            for token in tokens
        ]
        table = Table(
            ["Id", "Agent", "Token", "State", "Scopes", "Expires", "Last used"],
            rows,
            empty="There are no tokens; issue one: forkflux token issue AGENT_NAME",
            cut=["Agent", "Scopes"],
        )
        self.answer(options, tokens, table)

    def revoke(self, options: Options) -> None:
        token = revoke_token(actor=person_at_the_terminal(), token_id=options["token_id"])
        document = token_item(token, now=database_moment().now)
        self.answer(
            options, document, f"Token {token.pk} ({token.prefix}…) of {token.agent.name} is revoked."
        )


def _until_arguments(parser: CommandParser) -> None:
    until = parser.add_mutually_exclusive_group()
    until.add_argument("--expires-at", metavar="TIME", help="valid until then, such as 2027-01-31T00:00:00Z")
    until.add_argument(
        "--expires-in",
        type=duration,
        metavar="DURATION",
        help="valid for so long: 90s, 15m, 12h, 30d, 4w",
    )


def _expires_at(options: Options) -> str | None:
    if options["expires_in"] is not None:
        return iso(database_moment().now + options["expires_in"])
    given: str | None = options["expires_at"]
    return given


def duration(text: str) -> timedelta:
    """`30d` as a length of time, up to a hundred years."""
    match = re.fullmatch(r"([1-9][0-9]{0,7}|[1-9][0-9]{8,9}(?=s))([smhdw])", text)
    found = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else None
    if found is None or found > _LONGEST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no duration; allowed is a number with s, m, h, d or w, up to {_LONGEST.days}d"
        )
    return found
