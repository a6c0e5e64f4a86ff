"""`forkflux job VERB`: every verb at the terminal, in a person's own name or in an agent's."""

import getpass

import pytest

from artifacts.models import Artifact
from events.models import Event
from jobs.lifecycle import Status
from jobs.management.verbs import VERBS
from jobs.models import Job, JobLabel
from jobs.services.claiming import claim
from jobs.services.closing import cancel, complete, fail
from jobs.tests.board import new_agent, new_role, published
from testing.command_line import forkflux, refusal
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


class Scene:
    """A role, its source and its worker, and a job in the state that was asked for."""

    def __init__(self, state="published", **given):
        self.role = new_role()
        self.source = new_agent()
        self.worker = new_agent(self.role)
        self.job = published(self.source, self.role, **given)
        if state != "published":
            claim(job_id=self.job.pk, actor=self.worker)
        if state == "failed":
            fail(job_id=self.job.pk, actor=self.worker, failure_reason="Windy")

    def run(self, capsys, verb, *arguments):
        return forkflux(capsys, "job", verb, self.job.pk, *arguments)

    def last_event(self):
        return Event.objects.filter(stream=self.job.stream).order_by("-sequence").first()

    def now(self):
        return Job.objects.get(pk=self.job.pk)


# verb, state before, options beside the reason, state after, event, and what the reason is called in it
STEPS = {
    "claim": ("published", [], "in_progress", "task_claimed", None),
    "complete": ("in_progress", ["--result", "{}"], "completed", "task_completed", None),
    "fail": ("in_progress", [], "failed", "task_failed", "failure_reason"),
    "block": ("in_progress", [], "blocked", "task_blocked", "blocked_reason"),
    "release": ("in_progress", [], "published", "task_released", "reason"),
    "requeue": ("failed", [], "published", "task_requeued", "reason"),
    "restart": ("failed", [], "in_progress", "task_restarted", None),
    "cancel": ("published", [], "cancelled", "task_cancelled", "reason"),
    "hold": ("published", [], "published", "task_held", "reason"),
}  # fmt: skip


@pytest.mark.parametrize("verb", STEPS)
def test_a_verb_in_an_agents_name_does_what_the_agent_may_and_names_both(capsys, verb):
    state, options, after, event_type, said = STEPS[verb]
    scene = Scene(state)
    agent = scene.source if verb in {"requeue", "cancel", "hold"} else scene.worker
    reason = [] if said is None else ["--reason", "Because of the wind"]
    ended = scene.run(capsys, verb, "--as", agent.name, *options, *reason, "--json")
    assert ended.document["job_id"] == scene.job.pk
    assert ended.document["status"] == after == scene.now().status
    event = scene.last_event()
    assert (event.event_type, event.actor_kind, event.actor_name) == (event_type, "agent", agent.name)
    assert event.via == getpass.getuser()
    if said:
        assert event.payload[said] == "Because of the wind"


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS if verb.acts_as == "agent"])
def test_what_only_an_agent_may_do_asks_for_the_agent(capsys, verb):
    scene = Scene("in_progress")
    said = refusal(
        scene.run(capsys, verb, "--reason", "r") if _has_reason(verb) else scene.run(capsys, verb), status=2
    )
    assert said.startswith("--as is needed")
    assert scene.now().status == "in_progress"


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS if verb.reason])
def test_nothing_changes_without_a_reason(capsys, verb):
    scene = Scene("in_progress")
    more = ["--to", scene.worker.name] if verb == "reassign" else ["--as", scene.worker.name]
    for blank in ([], ["--reason", "  "]):
        said = refusal(scene.run(capsys, verb, *more, *blank), status=2)
        assert said == "--reason is needed: say why, for whoever reads the trail."
    assert scene.last_event().event_type == "task_claimed"


def _has_reason(name):
    return any(verb.name == name and verb.reason for verb in VERBS)


def test_a_terminal_is_asked_for_the_reason(capsys, monkeypatch):
    scene = Scene("in_progress")
    asked = iter(["\n", "The agent is gone\n"])
    monkeypatch.setattr("core.cli.sys", _Terminal(asked))
    ended = scene.run(capsys, "requeue")
    assert (ended.status, ended.err) == (0, "Reason: Reason: ")
    assert scene.last_event().payload["reason"] == "The agent is gone"


class _Terminal:
    """Stands in for `sys` where a command asks: a terminal at which these lines are typed."""

    def __init__(self, lines):
        self._lines = lines
        self.stdin = self

    def isatty(self):
        return True

    def readline(self):
        return next(self._lines)


def test_a_person_acts_in_their_own_name_where_a_person_may(capsys):
    scene = Scene("in_progress")
    assert (
        scene.run(capsys, "requeue", "--reason", "Stuck").out == f"Job {scene.job.pk} is published again.\n"
    )
    event = scene.last_event()
    assert (event.actor_kind, event.actor_name, event.via) == ("person", getpass.getuser(), None)


def test_a_job_is_given_to_another_agent(capsys):
    scene, other = Scene("in_progress"), new_agent()
    said = refusal(scene.run(capsys, "reassign", "--to", other.name, "--reason", "Faster"))
    assert "does not hold the role" in said
    assert "Assign the role to it first" in said
    other = new_agent(scene.role)
    ended = scene.run(capsys, "reassign", "--to", other.name, "--reason", "Faster", "--lease-seconds", "90")
    assert ended.out.startswith(f"Job {scene.job.pk} is held by {other.name} until ")
    assert scene.now().assignee_agent_id == other.agent_id
    assert scene.now().lease_seconds == 90


def test_a_blocked_job_is_answered_and_resumed(capsys):
    scene = Scene("in_progress")
    assert scene.run(capsys, "block", "--as", scene.worker.name, "--reason", "Which one?").status == 0
    assert scene.run(capsys, "unblock", "--reason", "The second").status == 0
    assert scene.now().unblock_reason == "The second"
    assert (
        scene.run(capsys, "resume", "--as", scene.worker.name).out == f"Job {scene.job.pk} is in progress.\n"
    )


def test_a_refused_verb_says_what_is_open_to_whom(capsys):
    scene = Scene("published")
    said = refusal(scene.run(capsys, "complete", "--as", scene.worker.name))
    assert "is published, and complete is not possible from there" in said
    assert "claim by an agent that holds the role" in said


def test_an_unknown_or_deactivated_agent_cannot_be_acted_for(capsys):
    scene = Scene("published")
    assert refusal(scene.run(capsys, "claim", "--as", "nobody-such")).startswith(
        "There is no agent nobody-such"
    )
    assert forkflux(capsys, "agent", "deactivate", scene.worker.name, "--reason", "r", "--yes").status == 0
    assert "is deactivated" in refusal(scene.run(capsys, "claim", "--as", scene.worker.name))


def test_bad_values_name_their_option(capsys):
    scene = Scene("in_progress")
    said = refusal(scene.run(capsys, "complete", "--as", scene.worker.name, "--result", "{"))
    assert said.startswith("--result is not JSON that can be kept")
    scene = Scene("published")
    said = refusal(scene.run(capsys, "claim", "--as", scene.worker.name, "--lease-seconds", "0"))
    assert said.startswith("--lease-seconds: Input should be greater than or equal to")
    said = refusal(scene.run(capsys, "cancel", "--reason", "x" * 20_001))
    assert said.startswith("--reason: String should have at most 20000 characters")


def test_an_open_job_is_edited(capsys):
    scene, other = Scene(labels=["old"]), new_role()
    ended = scene.run(
        capsys,
        "edit",
        *(
            "--summary",
            "Other",
            "--priority",
            "urgent",
            "--label",
            "a",
            "--label",
            "b",
            "--role",
            other.role_key,
        ),
        *("--constraint", "Done", "--not-before", "2099-01-01T00:00:00Z", "--json"),
    )
    assert ended.document == {"job_id": scene.job.pk, "version": 2}
    job = scene.now()
    assert (job.summary, job.priority, job.labels, job.target_role_id) == ("Other", 40, ["a", "b"], other.pk)
    assert (job.constraints, job.is_deferred) == (["Done"], True)
    assert sorted(JobLabel.objects.filter(job=job).values_list("label", flat=True)) == ["a", "b"]
    assert scene.run(capsys, "edit", "--not-before", "never").status == 0
    assert (scene.now().not_before, scene.now().is_deferred) == (None, False)
    assert "At least one" in refusal(scene.run(capsys, "edit"))


def test_only_a_finished_job_is_deleted_after_a_question_and_its_trail_stays_whole(capsys):
    scene = Scene("in_progress", artifacts=[_REFERENCE], labels=["x"])
    assert "only a completed, failed or cancelled job" in refusal(scene.run(capsys, "delete", "--yes"))
    complete(job_id=scene.job.pk, actor=scene.worker)
    said = refusal(scene.run(capsys, "delete"))
    assert said.startswith(f"Delete job {scene.job.pk}")
    assert "--yes" in said
    assert Job.objects.filter(pk=scene.job.pk).exists()
    assert scene.run(capsys, "delete", "--yes", "--json").document == {
        "job_id": scene.job.pk,
        "deleted": True,
    }
    assert not Job.objects.filter(pk=scene.job.pk).exists()
    assert not Artifact.objects.filter(job_id=scene.job.pk).exists()
    kinds = list(
        Event.objects.filter(stream=scene.job.stream)
        .order_by("sequence")
        .values_list("event_type", flat=True)
    )
    assert kinds == ["task_published", "task_claimed", "task_completed", "task_deleted"]
    report = forkflux(capsys, "audit", "verify", "--stream", scene.job.stream, "--json").document
    assert (report["intact"], report["outlived_streams"]) == (True, 0)
    Event.objects.filter(stream=scene.job.stream, event_type="task_deleted").delete()
    assert forkflux(capsys, "audit", "verify", "--stream", scene.job.stream).status == 1


def test_a_parent_is_not_deleted_before_its_children(capsys):
    scene = Scene()
    cancel(job_id=scene.job.pk, actor=scene.source)
    child = published(scene.source, scene.role, parent_job_id=scene.job.pk)
    assert "parent of 1" in refusal(scene.run(capsys, "delete", "--yes"))
    cancel(job_id=child.pk, actor=scene.source)
    assert forkflux(capsys, "job", "delete", child.pk, "--yes").status == 0
    assert scene.run(capsys, "delete", "--yes").status == 0


def test_who_acted_in_whose_name_is_shown_in_the_trail(capsys):
    scene = Scene()
    scene.run(capsys, "claim", "--as", scene.worker.name)
    rows = forkflux(capsys, "job", "events", scene.job.pk).rows
    assert rows[-1][3] == f"{scene.worker.name} (by {getpass.getuser()})"
    told = forkflux(capsys, "job", "events", scene.job.pk, "--json").document
    assert told[-1]["actor"]["via"] == getpass.getuser()


def test_every_status_that_a_verb_leads_to_is_one():
    assert {after for _, _, after, _, _ in STEPS.values()} <= {str(status) for status in Status}


_REFERENCE: dict[str, object] = {
    "type": "git_branch",
    "uri": "git://shop/login",
    "checksum": None,
    "metadata_json": {},
}
