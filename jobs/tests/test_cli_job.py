"""`forkflux job list`, `show` and `events`: what there is to do, as a person at the terminal reads it."""

import itertools
from datetime import timedelta

import pytest
from django.db.models import F

from jobs.models import Job
from jobs.payloads import full_job
from jobs.selectors import get_job
from jobs.services import claiming, closing, holding
from jobs.tests.board import PERSON, new_agent, new_role, published
from testing.command_line import forkflux, refusal
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def listed(capsys, *arguments):
    return [job["id"] for job in forkflux(capsys, "job", "list", *arguments, "--json").document["jobs"]]


@pytest.fixture
def role():
    return new_role()


def test_jobs_of_all_roles_are_listed_without_their_contents(capsys, role):
    other = new_role()
    ids = [published(PERSON, each, context_payload={"secret": "x"}).pk for each in (role, other)]
    jobs = forkflux(capsys, "job", "list", "--limit", 200, "--json").document["jobs"]
    assert set(ids) <= {job["id"] for job in jobs}
    assert "context_payload" not in jobs[0]


def test_the_list_is_narrowed_by_status_role_and_label(capsys, role):
    agent = new_agent(role)
    plain = published(PERSON, role, labels=["ui"])
    both = published(PERSON, role, labels=["ui", "shop"])
    taken = claiming.claim(job_id=published(PERSON, role).pk, actor=agent)
    done = claiming.claim(job_id=published(PERSON, role).pk, actor=agent)
    closing.complete(job_id=done.pk, actor=agent)
    published(PERSON, new_role())
    here = ("--role", role.role_key)

    assert listed(capsys, *here) == [plain.pk, both.pk, taken.pk, done.pk]
    assert listed(capsys, *here, "--status", "in_progress") == [taken.pk]
    assert listed(capsys, *here, "--status", "in_progress", "--status", "completed") == [taken.pk, done.pk]
    assert listed(capsys, *here, "--label", "ui") == [plain.pk, both.pk]
    assert listed(capsys, *here, "--label", "ui", "--label", "shop") == [both.pk]


def test_the_order_is_the_one_that_was_asked_for(capsys, role):
    low, high, middle = (published(PERSON, role, priority=number).pk for number in (10, 40, 20))
    # SQLite's clock has milliseconds, in which more than one job is published.
    for job_id, seconds in ((low, 2), (high, 1)):
        Job.objects.filter(pk=job_id).update(created_at=F("created_at") - timedelta(seconds=seconds))
    here = ("--role", role.role_key)
    assert listed(capsys, *here) == [low, high, middle]
    assert listed(capsys, *here, "--order", "created_at_desc") == [middle, high, low]
    assert listed(capsys, *here, "--order", "priority_desc") == [high, middle, low]


def test_pages_lead_through_the_whole_list(capsys, role):
    ids = [published(PERSON, role).pk for _ in range(5)]
    seen: list[list[int]] = []
    cursor: tuple[str, ...] = ()
    for page in itertools.count(1):
        answer = forkflux(
            capsys, "job", "list", "--role", role.role_key, "--limit", 2, *cursor, "--json"
        ).document
        seen.append([job["id"] for job in answer["jobs"]])
        if answer["next_cursor"] is None:
            break
        cursor = ("--cursor", answer["next_cursor"])
        assert page < 5
    assert seen == [ids[:2], ids[2:4], ids[4:]]


def test_a_page_that_is_not_the_last_says_beside_the_table_how_to_go_on(capsys, role):
    for _ in range(3):
        published(PERSON, role)
    first = forkflux(capsys, "job", "list", "--role", role.role_key, "--limit", 2)
    assert len(first.rows) == 2
    cursor = first.err.rsplit("--cursor ", 1)[1].strip()
    last = forkflux(capsys, "job", "list", "--role", role.role_key, "--limit", 2, "--cursor", cursor)
    assert (len(last.rows), last.err) == (1, "")


def test_the_table_says_who_has_it_and_what_holds_it_up(capsys, role):
    agent = new_agent(role)
    held = claiming.claim(job_id=published(agent, role, summary="Held").pk, actor=agent)
    waiting = published(PERSON, role, summary="Evil \x1b[2J\nsummary", priority=30)
    holding.hold(job_id=waiting.pk, actor=PERSON)
    rows = forkflux(capsys, "job", "list", "--role", role.role_key).rows
    assert [row[:-1] for row in rows] == [
        [str(held.pk), "Held", "in_progress", "normal", role.role_key, agent.agent_label, agent.agent_label],
        [str(waiting.pk), r"Evil \x1b[2J\nsummary", "on hold", "high", role.role_key, "pat", "-"],
    ]


def test_an_empty_list_says_so(capsys, role):
    assert forkflux(capsys, "job", "list", "--role", role.role_key).out == "There are no such jobs.\n"


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("--limit", 0), "--limit: "),
        (("--limit", 201), "--limit: "),
        (("--role", "no-such-role"), "--role: "),
        (("--label", ""), "--label no. 1: "),
        (("--cursor", "x"), "--cursor: "),
    ],
    ids=["no rows", "too many rows", "unknown role", "empty label", "no cursor"],
)
def test_a_list_that_cannot_be_is_refused_by_the_name_of_the_option(capsys, arguments, option):
    assert refusal(forkflux(capsys, "job", "list", *arguments)).startswith(option)


def test_a_cursor_of_another_order_is_refused(capsys, role):
    for _ in range(2):
        published(PERSON, role)
    here = ("job", "list", "--role", role.role_key, "--limit", 1)
    cursor = forkflux(capsys, *here, "--json").document["next_cursor"]
    assert refusal(forkflux(capsys, *here, "--order", "priority_asc", "--cursor", cursor)).startswith(
        "--cursor: "
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--status", "lost"),
        ("list", "--order", "random"),
        ("show",),
        ("show", "seven"),
        ("events", "0"),
        (),
    ],
    ids=["unknown status", "unknown order", "no id", "id in words", "id 0", "no action"],
)
def test_wrong_usage_has_status_2(capsys, arguments):
    ended = forkflux(capsys, "job", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert "usage: forkflux job" in ended.err


def test_a_job_is_shown_whole(capsys, role):
    agent = new_agent(role)
    job = published(
        PERSON,
        role,
        context_payload={"branch": "größer"},
        constraints=["Every field has a label"],
        artifacts=[{"type": "file", "uri": "file:///x", "checksum": None, "metadata_json": {"k": 1}}],
        labels=["ui"],
    )
    claiming.claim(job_id=job.pk, actor=agent)
    closing.fail(job_id=job.pk, actor=agent, failure_reason="No \x1b[31mdisplay\nhere")
    assert forkflux(capsys, "job", "show", job.pk, "--json").document == full_job(get_job(job.pk))
    shown = forkflux(capsys, "job", "show", job.pk).out
    for part in ("Review the login form", "failed", "ui", '"branch": "größer"', "- Every field has a label",
                 "- file: file:///x", r"No \x1b[31mdisplay\nhere", agent.agent_label):  # fmt: skip
        assert part in shown
    assert "\x1b" not in shown


def test_reading_a_job_at_the_terminal_renews_no_lease(capsys, role):
    agent = new_agent(role)
    job = claiming.claim(job_id=published(PERSON, role).pk, actor=agent, lease_seconds=60)
    before = Job.objects.values().get(pk=job.pk)
    for action in ("show", "events"):
        assert forkflux(capsys, "job", action, job.pk).status == 0
    assert Job.objects.values().get(pk=job.pk) == before


def test_the_trail_of_a_job_is_shown_from_its_first_event_to_its_last(capsys, role, monkeypatch):
    monkeypatch.setattr("jobs.management.commands.job._TRAIL_PAGE", 2)
    agent = new_agent(role)
    job = published(PERSON, role)
    claiming.claim(job_id=job.pk, actor=agent)
    closing.fail(job_id=job.pk, actor=agent, failure_reason="No display")
    closing.restart(job_id=job.pk, actor=agent)
    closing.complete(job_id=job.pk, actor=agent, result_summary="All labelled")

    events = forkflux(capsys, "job", "events", job.pk, "--json").document
    kinds = ["task_published", "task_claimed", "task_failed", "task_restarted", "task_completed"]
    assert [event["event_type"] for event in events] == kinds
    assert [event["sequence"] for event in events] == [1, 2, 3, 4, 5]
    assert events[2]["payload_json"]["failure_reason"] == "No display"
    rows = forkflux(capsys, "job", "events", job.pk).rows
    assert [row[2] for row in rows] == kinds
    assert [row[3] for row in rows] == ["pat", *[agent.name] * 4]
    assert [row[5] for row in rows] == ["-", "-", "No display", "-", "All labelled"]


@pytest.mark.parametrize("action", ["show", "events"])
@pytest.mark.parametrize("job_id", [999_999_999, 2**63 - 1])
def test_a_job_that_does_not_exist_is_named(capsys, action, job_id):
    assert f"There is no job {job_id}" in refusal(forkflux(capsys, "job", action, job_id))
