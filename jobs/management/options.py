"""The options with which a job is published, edited and listed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from core.cli import Options, row_id
from jobs.inputs import ListOrder
from jobs.lifecycle import Priority, Status
from jobs.management.values import artifact, context, priority

PUBLISH_OPTIONS = {
    "target_role_key": "--role",
    "summary": "--summary",
    "context_payload": "--context",
    "constraints": "--constraint",
    "artifacts": "--artifact",
    "priority": "--priority",
    "labels": "--label",
    "not_before": "--not-before",
    "expires_at": "--expires-at",
    "max_retries": "--max-retries",
}
LIST_OPTIONS = {
    "target_role_key": "--role",
    "label": "--label",
    "limit": "--limit",
    "cursor": "--cursor",
}
EDIT_OPTIONS = {
    name: option for name, option in PUBLISH_OPTIONS.items() if name not in {"artifacts", "max_retries"}
}
# The word that takes a time away again.
NEVER = "never"


def add_publish_arguments(parser: CommandParser) -> None:
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--role", required=True, metavar="KEY", help="the role that it is for")
    parser.add_argument("--summary", required=True, metavar="S", help="what is to be done, in one line")
    parser.add_argument(
        "--context",
        default="{}",
        metavar="JSON",
        help="what one must know to do it: a JSON object, @FILE, or - for standard input",
    )
    parser.add_argument(
        "--constraint", **several, dest="constraints", metavar="C", help="when it counts as done; repeatable"
    )
    parser.add_argument(
        "--artifact",
        **several,
        dest="artifacts",
        type=artifact,
        metavar="TYPE=URI",
        help="what it is about, such as git_branch=git://shop/login; repeatable",
    )
    parser.add_argument(
        "--priority",
        type=priority,
        default=Priority.NORMAL,
        metavar="P",
        help="low, normal, high or urgent; or 10, 20, 30, 40 (default: normal)",
    )
    parser.add_argument(
        "--label", **several, dest="labels", metavar="L", help="a word to find it by; repeatable"
    )
    parser.add_argument("--hold", action="store_true", help="do not hand it out until somebody unholds it")
    parser.add_argument(
        "--not-before", metavar="TIME", help="do not hand it out earlier: 2027-01-31T08:00:00Z"
    )
    parser.add_argument("--expires-at", metavar="TIME", help="cancel it if nobody claimed it by then")
    parser.add_argument(
        "--max-retries", type=int, metavar="N", help="how often its holder may restart it (default: 3)"
    )


def add_list_arguments(parser: CommandParser) -> None:
    statuses = [str(status) for status in Status]
    orders = [str(order) for order in ListOrder]
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument(
        "--status",
        **several,
        dest="statuses",
        choices=statuses,
        metavar="STATUS",
        help=f"only these; repeatable: {', '.join(statuses)}",
    )
    parser.add_argument("--role", metavar="KEY", help="only those for this role (default: all roles)")
    parser.add_argument(
        "--label",
        **several,
        dest="labels",
        metavar="L",
        help="only those with this label, all of them if repeated",
    )
    parser.add_argument(
        "--limit", type=int, default=50, metavar="N", help="rows of a page, 1 to 200 (default: 50)"
    )
    parser.add_argument("--cursor", metavar="CURSOR", help="the next page, as the page before names it")
    parser.add_argument(
        "--order",
        **several,
        dest="orders",
        choices=orders,
        metavar="ORDER",
        help=f"repeatable: {', '.join(orders)}",
    )


def add_edit_arguments(parser: CommandParser) -> None:
    several: dict[str, Any] = {"action": "append"}
    parser.add_argument("job_id", type=row_id, metavar="ID")
    parser.add_argument("--role", metavar="KEY", help="the role that it is for")
    parser.add_argument("--summary", metavar="S", help="what is to be done, in one line")
    parser.add_argument(
        "--context", metavar="JSON", help="the whole new context: JSON, @FILE, or - for stdin"
    )
    parser.add_argument(
        "--constraint", **several, dest="constraints", metavar="C", help="all constraints, anew; repeatable"
    )
    parser.add_argument("--priority", type=priority, metavar="P", help="low, normal, high or urgent")
    parser.add_argument("--label", **several, dest="labels", metavar="L", help="all labels, anew; repeatable")
    parser.add_argument("--not-before", metavar="TIME", help=f"do not hand it out earlier; {NEVER}: at once")
    parser.add_argument(
        "--expires-at", metavar="TIME", help=f"cancel it if unclaimed by then; {NEVER}: keep it"
    )


def edited(options: Options) -> dict[str, Any]:
    """What the options of `edit` change, as the input names it."""
    found: dict[str, Any] = {
        name: options[key]
        for name, key in (
            ("target_role_key", "role"),
            ("summary", "summary"),
            ("constraints", "constraints"),
            ("priority", "priority"),
            ("labels", "labels"),
        )
        if options[key] is not None
    }
    for name in ("not_before", "expires_at"):
        if options[name] is not None:
            found[name] = None if options[name] == NEVER else options[name]
    if options["context"] is not None:
        found["context_payload"] = context(options["context"])
    return found
