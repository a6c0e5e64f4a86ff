"""`forkflux job publish`: a person at the terminal publishes what the REST door would accept, and nothing else."""

import json

import pytest

from artifacts.models import Artifact
from core.actors import operator
from core.limits import LIMITS
from events.models import Event
from jobs.models import Job
from jobs.tests.board import new_role
from testing.command_line import Ended, forkflux, refusal
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def role():
    return new_role()


@pytest.fixture
def publish(capsys, role):
    """`publish(*arguments, stdin=…)`: one call, with a role and a summary unless they are given."""

    def run(*arguments: str | int, stdin: bytes | None = None) -> Ended:
        given = [] if "--role" in arguments else ["--role", role.role_key]
        given += [] if "--summary" in arguments else ["--summary", "Review the login form"]
        return forkflux(capsys, "job", "publish", *given, *arguments, stdin=stdin)

    return run


def test_a_job_has_everything_that_was_said_of_it(publish, role):
    answer = publish(
        *("--summary", "Check the form", "--context", '{"branch": "login", "tries": [1, 2.5, null]}'),
        *("--constraint", "Every field has a label", "--constraint", "A wrong password says so"),
        *("--artifact", "git_branch=git://shop/login?a=b", "--artifact", "file=file:///x"),
        *("--priority", "urgent", "--label", "ui", "--label", "ui", "--label", "shop"),
        *("--hold", "--max-retries", 0),
        *("--not-before", "2098-01-01T00:00:00Z", "--expires-at", "2099-01-01T01:00:00+01:00", "--json"),
    ).document
    assert answer == {"job_id": answer["job_id"], "status": "published"}
    job = Job.objects.get(pk=answer["job_id"])
    assert job.summary == "Check the form"
    assert job.context_payload == {"branch": "login", "tries": [1, 2.5, None]}
    assert job.constraints == ["Every field has a label", "A wrong password says so"]
    assert job.labels == ["ui", "shop"]
    assert (job.priority, job.on_hold, job.max_retries) == (40, True, 0)
    assert job.target_role == role
    assert job.not_before.isoformat() == "2098-01-01T00:00:00+00:00"
    assert job.expires_at.isoformat() == "2099-01-01T00:00:00+00:00"
    references = (
        Artifact.objects.filter(job=job)
        .order_by("id")
        .values_list("artifact_type", "artifact_uri", "artifact_checksum", "metadata_json")
    )
    assert list(references) == [
        ("git_branch", "git://shop/login?a=b", None, {}),
        ("file", "file:///x", None, {}),
    ]


def test_what_is_not_said_has_its_default(publish, role):
    ended = publish()
    job = Job.objects.latest("id")
    assert ended.out == f"Job {job.pk} was published for the role {role.role_key}.\n"
    assert (job.priority, job.max_retries, job.on_hold) == (20, 3, False)
    assert (job.context_payload, job.constraints, job.labels) == ({}, [], [])


def test_the_person_at_the_terminal_is_its_author(publish, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "pat")
    job_id = publish("--json").document["job_id"]
    job = Job.objects.get(pk=job_id)
    assert (job.source_agent, job.source_name) == (None, "pat")
    event = Event.objects.get(stream=f"job:{job_id}")
    assert (event.actor_kind, event.actor_name) == ("person", operator("pat").name)


@pytest.mark.parametrize("error", [KeyError("uid 4711"), OSError("no user"), ImportError("pwd")])
def test_somebody_without_a_name_can_publish_too(publish, monkeypatch, error):
    def nobody() -> str:
        raise error

    monkeypatch.setattr("getpass.getuser", nobody)
    job = Job.objects.get(pk=publish("--json").document["job_id"])
    assert job.source_name.startswith("uid-")


@pytest.mark.parametrize(
    ("name", "kept"),
    [("", "operator"), ("x" * 300, "x" * 255), ("caf\udcff\n", r"caf\udcff\n")],
    ids=["empty", "long", "no text"],
)
def test_a_name_that_the_trail_cannot_keep_is_made_to_fit(publish, monkeypatch, name, kept):
    monkeypatch.setattr("getpass.getuser", lambda: name)
    assert Job.objects.get(pk=publish("--json").document["job_id"]).source_name == kept


@pytest.mark.parametrize(
    ("given", "number"), [("low", 10), ("Normal", 20), ("HIGH", 30), ("40", 40)], ids=str
)
def test_a_priority_is_a_word_or_its_number(publish, given, number):
    job_id = publish("--priority", given, "--json").document["job_id"]
    assert Job.objects.get(pk=job_id).priority == number


def test_the_context_may_come_from_a_file_or_from_standard_input(publish, tmp_path):
    context = {"text": "größer → kleiner", "deep": {"list": [1, {"a": None}]}}
    file = tmp_path / "context.json"
    file.write_text(json.dumps(context), encoding="utf-8")
    from_file = publish("--context", f"@{file}", "--json").document["job_id"]
    from_stdin = publish("--context", "-", "--json", stdin=file.read_bytes()).document["job_id"]
    for job_id in (from_file, from_stdin):
        assert Job.objects.get(pk=job_id).context_payload == context


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--role", "no-such-role"), "--role: "),
        (("--summary", " "), "--summary: "),
        (
            ("--summary", "s" * (LIMITS.summary_max + 1)),
            f"--summary: String should have at most {LIMITS.summary_max}",
        ),
        (("--context", "[1]"), "--context: "),
        (
            ("--context", '{"a": "' + "x" * LIMITS.context_max_bytes + '"}'),
            "--context: JSON should have at most",
        ),
        (("--context", '{"a":' * 65 + "1" + "}" * 65), "--context: JSON should be nested at most 64"),
        (("--context", '{"a": "\\u0000"}'), "NUL"),
        (("--context", '{"a": "\\ud800"}'), "lone surrogate"),
        (("--context", '{"a": 123456789012345678901}'), "Integer should be between"),
        (("--context", '{"a": 1e999}'), "finite"),
        (("--context", '{"a": NaN}'), "finite"),
        (("--context", '{"a": '), "--context is not JSON that can be kept: Expecting value (at character 6)"),
        (("--context", ""), "--context is not JSON that can be kept: it is empty"),
        (("--context", "@/no/such/file"), "--context: the file /no/such/file cannot be read: No such file"),
        (("--constraint", "fine", "--constraint", ""), "--constraint no. 2: "),
        (("--constraint", "x" * (LIMITS.constraint_max_length + 1)), "--constraint no. 1: "),
        (("--constraint", "x") * (LIMITS.constraints_max + 1), "--constraint: List should have at most"),
        (("--artifact", "=x"), "--artifact no. 1, type: "),
        (("--artifact", "x="), "--artifact no. 1, uri: "),
        (("--priority", "25"), "--priority: Input should be 10, 20, 30 or 40"),
        (("--label", "x" * 65), "--label no. 1: "),
        (("--max-retries", "21"), "--max-retries: "),
        (("--max-retries", "-1"), "--max-retries: "),
        (("--not-before", "tomorrow"), "--not-before: "),
        (("--not-before", "2099-01-01T00:00:00"), "--not-before: Input should have timezone info"),
        (("--expires-at", "2020-01-01T00:00:00Z"), "--expires-at must be in the future"),
        (
            ("--not-before", "2099-01-02T00:00:00Z", "--expires-at", "2099-01-01T00:00:00Z"),
            "--expires-at must be later than --not-before",
        ),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_what_rest_would_refuse_is_refused_by_the_name_of_the_option(publish, arguments, told):
    before = Job.objects.count(), Event.objects.count()
    assert told in refusal(publish(*arguments))
    assert (Job.objects.count(), Event.objects.count()) == before


def test_a_context_is_not_read_without_a_bound(publish):
    said = refusal(publish("--context", "-", stdin=b" " * (LIMITS.body_max_bytes + 1)))
    assert f"more than {LIMITS.body_max_bytes} bytes" in said


def test_a_hundred_wrong_items_are_told_in_one_readable_line(publish):
    said = refusal(publish(*("--constraint", " ") * 100))
    assert said.count("--constraint no.") == 5
    assert said.endswith("and 95 more")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--priority", "soon"),
        ("--artifact", "no-equals-sign"),
        ("--max-retries", "many"),
        ("--hold", "yes"),
        ("--blocked-by", "7"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_no_option_takes_is_wrong_usage(publish, arguments):
    before = Job.objects.count()
    ended = publish(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert "usage: forkflux job publish" in ended.err
    assert Job.objects.count() == before


@pytest.mark.parametrize("missing", ["--role", "--summary"])
def test_role_and_summary_must_be_given(capsys, missing):
    given = {"--role": new_role().role_key, "--summary": "s"}
    del given[missing]
    ended = forkflux(capsys, "job", "publish", *next(iter(given.items())))
    assert ended.status == 2
    assert missing in ended.err
