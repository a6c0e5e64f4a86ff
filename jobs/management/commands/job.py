"""`forkflux job`: what there is to do."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.cli import CommandWithActions, Options, naming, person_at_the_terminal, read, row_id
from core.printing import Table, pairs, printable, printable_lines, shown_time
from jobs.errors import JobNotFound
from jobs.inputs import ListInput, ListOrder, PublishInput, TrailInput
from jobs.lifecycle import Priority, Status
from jobs.management.values import artifact, context, priority, priority_name
from jobs.models import Job
from jobs.payloads import event_payload, full_job, list_item
from jobs.selectors import get_job, list_jobs, trail_page
from jobs.services.publishing import publish

_PUBLISH_OPTIONS = {
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
_LIST_OPTIONS = {
    "target_role_key": "--role",
    "label": "--label",
    "limit": "--limit",
    "cursor": "--cursor",
}
_REASONS = ("failure_reason", "blocked_reason", "unblock_reason", "reason", "result_summary", "note")
_TRAIL_PAGE = 500


class Command(CommandWithActions):
    """publish, list, show, events."""

    help = "Publish jobs and look at them."
    example = 'forkflux job publish --role qa --summary "Review the login form"'

    def add_actions(self) -> None:
        _publish_arguments(
            self.action(
                "publish",
                self.publish,
                says="put a job on the board of a role",
                example='forkflux job publish --role qa --summary "Review the login form" \\\n'
                '    --context \'{"branch": "login"}\' --constraint "Every field has a label" \\\n'
                "    --artifact git_branch=git://shop/login --priority high",
            )
        )
        _list_arguments(
            self.action(
                "list",
                self.list,
                says="list jobs, oldest first, without their contents",
                example="forkflux job list --status published --role qa",
            )
        )
        show = self.action("show", self.show, says="show a whole job", example="forkflux job show 7")
        show.add_argument("job_id", type=row_id, metavar="ID")
        events = self.action(
            "events",
            self.events,
            says="show the trail of a job, oldest event first",
            example="forkflux job events 7 --json",
        )
        events.add_argument("job_id", type=row_id, metavar="ID")

    def publish(self, options: Options) -> None:
        context_payload = context(options["context"])
        with naming(_PUBLISH_OPTIONS):
            fields = read(
                PublishInput,
                {
                    "parent_job_id": None,
                    "summary": options["summary"],
                    "context_payload": context_payload,
                    "target_role_key": options["role"],
                    "constraints": options["constraints"],
                    "artifacts": options["artifacts"],
                    "priority": options["priority"],
                    "labels": options["labels"],
                    "on_hold": options["hold"],
                    "not_before": options["not_before"],
                    "expires_at": options["expires_at"],
                }
                | ({} if options["max_retries"] is None else {"max_retries": options["max_retries"]}),
            )
            job = publish(actor=person_at_the_terminal(), **fields.as_arguments())
        held = ", on hold" if job.on_hold else ""
        self.answer(
            options,
            {"job_id": job.pk, "status": job.status},
            f"Job {job.pk} was published for the role {printable(job.target_role.role_key)}{held}.",
        )

    def list(self, options: Options) -> None:
        with naming(_LIST_OPTIONS):
            query = read(
                ListInput,
                {
                    "limit": options["limit"],
                    "cursor": options["cursor"],
                    "status": options["statuses"],
                    "order": options["orders"] or [ListOrder.CREATED_AT_ASC],
                    "target_role_key": options["role"],
                    "label": options["labels"],
                    "my_roles_only": False,
                },
            )
            page = list_jobs(query, person_at_the_terminal())
        jobs = [list_item(row) for row in page.rows]
        rows = [
            (
                job["id"],
                job["summary"],
                "on hold" if job["on_hold"] else job["status"],
                priority_name(job["priority"]),
                job["target_role_key"],
                job["source_agent_label"],
                job["assignee_agent_label"],
                shown_time(job["created_at"]),
            )
            for job in jobs
        ]
        table = Table(
            ["Id", "Summary", "Status", "Priority", "Role", "From", "Holder", "Created"],
            rows,
            empty="There are no such jobs.",
            cut=["Summary", "Role", "From", "Holder"],
        )
        self.answer(options, {"jobs": jobs, "next_cursor": page.next_cursor}, table)
        if page.next_cursor is not None and not options["json"]:
            self.note(f"There are more; the next page: --cursor {page.next_cursor}")

    def show(self, options: Options) -> None:
        job = full_job(_existing(options["job_id"]))
        self.answer(options, job, _job_in_words(job))

    def events(self, options: Options) -> None:
        job = _existing(options["job_id"])
        events, after = [], 0
        while True:
            page, cursor = trail_page(job.pk, TrailInput(limit=_TRAIL_PAGE, after=after))
            events += [event_payload(event) for event in page]
            if cursor is None:
                break
            after = int(cursor)
        rows = [
            (
                event["sequence"],
                shown_time(event["created_at"]),
                event["event_type"],
                event["actor"]["name"],
                event["current_status"],
                next(
                    (event["payload_json"][key] for key in _REASONS if event["payload_json"].get(key)), None
                ),
            )
            for event in events
        ]
        table = Table(
            ["No", "Time", "Event", "By", "Status", "Said"],
            rows,
            empty="The job has no events.",
            cut=["By", "Said"],
        )
        self.answer(options, events, table)


def _publish_arguments(parser: CommandParser) -> None:
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


def _list_arguments(parser: CommandParser) -> None:
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


def _existing(job_id: int) -> Job:
    try:
        return get_job(job_id)
    except JobNotFound as error:
        raise CommandError(
            f"There is no job {job_id}: `forkflux job list` shows those that exist."
        ) from error


def _job_in_words(job: dict[str, Any]) -> str:
    lease = job["lease"] or {"expires_at": None}
    facts = {
        "status": _status(job),
        "role": job["target_role_key"],
        "priority": priority_name(job["priority"]),
        "labels": job["labels"],
        "from": job["source_agent_label"],
        "holder": job["assignee_agent_label"],
        "lease until": lease["expires_at"] and shown_time(lease["expires_at"]),
        "retries": f"{job['retry_count']} of {job['max_retries']}",
        "created": shown_time(job["created_at"]),
        "not before": job["not_before"] and shown_time(job["not_before"]),
        "expires": job["expires_at"] and shown_time(job["expires_at"]),
    } | {name.replace("_", " "): job.get(name) for name in _REASONS}
    parts = [
        f"Job {job['id']}: {printable(job['summary'])}",
        pairs((name, value) for name, value in facts.items() if value),
    ]
    if job["constraints"]:
        parts.append("constraints\n" + "\n".join(f"  - {printable(text)}" for text in job["constraints"]))
    if job["artifacts"]:
        references = (f"  - {item['type']}: {item['uri']}" for item in job["artifacts"])
        parts.append("artifacts\n" + "\n".join(map(printable, references)))
    for name in ("context_payload", "result"):
        if job[name] not in (None, {}):
            text = json.dumps(job[name], indent=2, ensure_ascii=False)
            parts.append(f"{name.removesuffix('_payload')}\n{printable_lines(text)}")
    return "\n\n".join(parts)


def _status(job: dict[str, Any]) -> str:
    return f"{job['status']} (on hold)" if job["on_hold"] else str(job["status"])
