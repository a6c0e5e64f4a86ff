"""`forkflux job`: what there is to do."""

from __future__ import annotations

import functools
import json
from typing import Any

from django.core.management.base import CommandError

from core.cli import (
    CommandWithActions,
    Options,
    add_yes_option,
    naming,
    person_at_the_terminal,
    read,
    row_id,
)
from core.clock import iso
from core.printing import Table, pairs, printable, printable_lines, shown_time
from jobs.errors import JobNotFound
from jobs.inputs import EditInput, ListInput, ListOrder, PublishInput, TrailInput
from jobs.management.options import (
    EDIT_OPTIONS,
    LIST_OPTIONS,
    PUBLISH_OPTIONS,
    add_edit_arguments,
    add_list_arguments,
    add_publish_arguments,
    edited,
)
from jobs.management.values import context, priority_name
from jobs.management.verbs import (
    VERB_OPTIONS,
    VERBS,
    TerminalVerb,
    actor_of,
    add_verb_arguments,
    arguments_of,
    read_reason,
)
from jobs.models import Job
from jobs.payloads import event_payload, full_job, lease, list_item
from jobs.selectors import get_job, list_jobs, trail_page
from jobs.services.publishing import publish
from jobs.services.removing import delete_job
from jobs.services.updating import update

_REASONS = ("failure_reason", "blocked_reason", "unblock_reason", "reason", "result_summary", "note")
_TRAIL_PAGE = 500


class Command(CommandWithActions):
    """Everything that can be done with a job."""

    help = "Publish jobs, look at them, and move them on."
    example = 'forkflux job publish --role qa --summary "Review the login form"'

    def add_actions(self) -> None:
        add_publish_arguments(
            self.action(
                "publish",
                self.publish,
                says="put a job on the board of a role",
                example='forkflux job publish --role qa --summary "Review the login form" \\\n'
                '    --context \'{"branch": "login"}\' --constraint "Every field has a label" \\\n'
                "    --artifact git_branch=git://shop/login --priority high",
            )
        )
        add_list_arguments(
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
        add_edit_arguments(
            self.action(
                "edit",
                self.edit,
                says="change what an open job asks for",
                example="forkflux job edit 7 --priority urgent --label release",
            )
        )
        for verb in VERBS:
            run = functools.partial(self.use, verb)
            add_verb_arguments(self.action(verb.name, run, says=verb.says, example=verb.example), verb)
        delete = self.action(
            "delete",
            self.delete,
            says="delete a finished job; its events stay",
            example="forkflux job delete 7 --yes",
        )
        delete.add_argument("job_id", type=row_id, metavar="ID")
        add_yes_option(delete)

    def use(self, verb: TerminalVerb, options: Options) -> None:
        """Any verb of the life table that a person or, in a person's hand, an agent may use."""
        actor = actor_of(verb, options)
        with naming(VERB_OPTIONS):
            more = arguments_of(verb, options)
            if verb.reason:
                more[verb.reason_argument] = read_reason(self.reason(options))
            job = verb.run(job_id=options["job_id"], actor=actor, **more)
        job = get_job(job.pk)
        holder = job.assignee_agent.name if job.assignee_agent else "nobody"
        done = verb.done.format(holder=holder, until=shown_time(iso(job.lease_expires_at)))
        document = {"job_id": job.pk, "status": job.status, "on_hold": job.on_hold, "lease": lease(job)}
        self.answer(options, document, f"Job {job.pk} {done}.")

    def edit(self, options: Options) -> None:
        with naming(EDIT_OPTIONS):
            fields = read(EditInput, edited(options))
            job = update(job_id=options["job_id"], actor=person_at_the_terminal(), **fields.as_changes())
        self.answer(
            options, {"job_id": job.pk, "version": job.version}, f"Job {job.pk} is at version {job.version}."
        )

    def delete(self, options: Options) -> None:
        job = _existing(options["job_id"])
        self.confirm(
            options,
            f"Delete job {job.pk} ({printable(job.summary)}) with its context, result and artifacts? "
            "Its events stay.",
        )
        delete_job(job_id=job.pk, actor=person_at_the_terminal())
        self.answer(
            options, {"job_id": job.pk, "deleted": True}, f"Job {job.pk} was deleted; its events stay."
        )

    def publish(self, options: Options) -> None:
        context_payload = context(options["context"])
        with naming(PUBLISH_OPTIONS):
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
        with naming(LIST_OPTIONS):
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
                _author(event["actor"]),
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


def _existing(job_id: int) -> Job:
    try:
        return get_job(job_id)
    except JobNotFound as error:
        raise CommandError(
            f"There is no job {job_id}: `forkflux job list` shows those that exist."
        ) from error


def _author(actor: dict[str, Any]) -> str:
    via = f" (by {actor['via']})" if actor["via"] else ""
    return f"{actor['name']}{via}"


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
