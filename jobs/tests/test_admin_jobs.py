"""Jobs in the admin: who sees what, every verb by button and by action, the forms, and hostile text."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from events.models import Event
from jobs.models import Job, JobLabel
from jobs.services.blocking import block
from jobs.services.by_persons import BY_PERSONS
from jobs.services.claiming import claim
from jobs.services.closing import complete, fail
from jobs.tests.board import copies, new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")

LIST = "/admin/jobs/job/"
HOSTILE = "<script>alert(1)</script> {{ 7|add:7 }} \u202egnp.exe \x1b[31mred"


@pytest.fixture(scope="module")
def people(db):
    made = {}
    for name in ("operators", "viewers"):
        user = User.objects.create_user(f"one-of-{name}", password="unused", is_staff=True)
        user.groups.add(Group.objects.get(name=name))
        made[name] = user
    made["nothing"] = User.objects.create_user("without-any", password="unused", is_staff=True)
    made["customer"] = User.objects.create_user("no-staff", password="unused")
    yield made
    User.objects.all().delete()


def browser(user: User | None) -> Client:
    client = Client(SERVER_NAME="localhost")
    if user is not None:
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


class Scene:
    def __init__(self, state: str = "published", **given: object) -> None:
        self.role = new_role()
        self.worker = new_agent(self.role)
        self.job = published(self.worker, self.role, **given)
        if state != "published":
            claim(job_id=self.job.pk, actor=self.worker)
        if state == "blocked":
            block(job_id=self.job.pk, actor=self.worker, blocked_reason="Which one?")
        if state == "failed":
            fail(job_id=self.job.pk, actor=self.worker, failure_reason="Windy")
        if state == "completed":
            complete(job_id=self.job.pk, actor=self.worker)

    @property
    def page(self) -> str:
        return f"{LIST}{self.job.pk}/change/"

    def verb(self, name: str) -> str:
        return f"{LIST}{self.job.pk}/verb/{name}/"

    def now(self) -> Job:
        return Job.objects.get(pk=self.job.pk)

    def last_event(self) -> Event:
        return Event.objects.filter(stream=self.job.stream).order_by("-sequence")[0]


# verb: the state before and after, the kind of event, and what it calls the reason
STEPS = {
    "unblock": ("blocked", "unblocked", "task_unblocked", "unblock_reason"),
    "requeue": ("in_progress", "published", "task_requeued", "reason"),
    "reassign": ("in_progress", "in_progress", "task_reassigned", "reason"),
    "hold": ("published", "published", "task_held", "reason"),
    "unhold": ("published", "published", "task_unheld", "reason"),
    "cancel": ("in_progress", "cancelled", "task_cancelled", "reason"),
}


def ready(verb: str) -> tuple[Scene, dict[str, str]]:
    scene = Scene(STEPS[verb][0], on_hold=verb == "unhold")
    fields = {"reason": "Because of the wind"}
    if verb == "reassign":
        fields["agent_name"] = new_agent(scene.role).name
    return scene, fields


def assert_done(verb: str, scene: Scene, person: User) -> None:
    _, after, kind, said = STEPS[verb]
    event = scene.last_event()
    assert scene.now().status == after
    assert (event.event_type, event.actor_kind, event.actor_user_id) == (kind, "person", person.pk)
    assert event.payload[said] == "Because of the wind"


def test_the_table_of_steps_has_every_verb_of_persons():
    assert set(STEPS) == set(map(str, BY_PERSONS))


@pytest.mark.parametrize("verb", STEPS)
def test_a_button_asks_for_the_reason_and_then_does_it(people, verb):
    scene, fields = ready(verb)
    client = browser(people["operators"])
    assert scene.verb(verb) in client.get(scene.page).content.decode()
    asked = client.get(scene.verb(verb)).content.decode()
    assert "csrfmiddlewaretoken" in asked
    before = scene.last_event().pk
    unsaid = client.post(scene.verb(verb), fields | {"reason": " "})
    assert (unsaid.status_code, scene.last_event().pk) == (200, before)
    assert "This field is required." in unsaid.content.decode()
    done = client.post(scene.verb(verb), fields)
    assert (done.status_code, done["Location"]) == (302, scene.page)
    assert_done(verb, scene, people["operators"])


@pytest.mark.parametrize("verb", STEPS)
def test_an_action_goes_on_past_those_that_refuse_it_and_says_why(people, verb):
    scene, fields = ready(verb)
    other = Scene("completed") if verb != "reassign" else Scene("in_progress")
    client = browser(people["operators"])
    chosen = {"action": verb, "_selected_action": [other.job.pk, scene.job.pk]}
    asked = client.post(LIST, chosen).content.decode()
    assert "confirmed" in asked
    assert scene.now().status == STEPS[verb][0]
    done = client.post(LIST, chosen | fields | {"confirmed": "yes"}, follow=True).content.decode()
    assert f"1 of 2 jobs: {BY_PERSONS[next(v for v in BY_PERSONS if v == verb)].label.lower()} done." in done
    assert re.search(rf"[Jj]ob {other.job.pk}\b", done)
    assert_done(verb, scene, people["operators"])
    assert other.now().status == ("completed" if verb != "reassign" else "in_progress")


def test_an_action_tells_ten_refusals_and_counts_the_rest(people):
    scene = Scene("in_progress")
    refusing = copies(Scene().job, 12)
    client = browser(people["operators"])
    chosen = {"action": "requeue", "_selected_action": [*refusing, scene.job.pk]}
    chosen |= {"reason": "r", "confirmed": "yes"}
    said = client.post(LIST, chosen, follow=True).content.decode()
    assert "1 of 13 jobs: requeue done." in said
    assert said.count("and requeue is not possible from there.") == 10
    assert "2 more were refused." in said


def test_the_page_of_a_job_shows_its_whole_trail_newest_first(people):
    page = browser(people["viewers"]).get(Scene("blocked").page)
    assert [event["kind"] for event in page.context["events"]] == ["blocked", "claimed", "published"]


def test_a_button_that_is_pressed_twice_shows_the_refusal(people):
    scene = Scene("in_progress")
    client = browser(people["operators"])
    assert client.post(scene.verb("requeue"), {"reason": "r"}).status_code == 302
    again = client.post(scene.verb("requeue"), {"reason": "kept text"})
    assert again.status_code == 200
    assert (
        f"Job {scene.job.pk} is published, and requeue is not possible from there." in again.content.decode()
    )
    assert "kept text" in again.content.decode()


def test_a_viewer_sees_everything_and_can_do_nothing(people):
    scene = Scene("in_progress")
    client = browser(people["viewers"])
    page = client.get(scene.page).content.decode()
    assert "Review the login form" in page
    assert "/verb/" not in page
    assert "/edit/" not in page
    assert 'name="action"' not in client.get(LIST).content.decode()
    for address in (
        scene.verb("requeue"),
        f"{LIST}{scene.job.pk}/edit/",
        f"{LIST}add/",
        f"{LIST}{scene.job.pk}/delete-job/",
    ):
        for refused in (client.get(address), client.post(address, {"reason": "r"})):
            assert refused.status_code == 403
            assert re.search(
                r"You lack the permission jobs\.(change|add|delete)_job", refused.content.decode()
            )
    client.post(
        LIST, {"action": "requeue", "_selected_action": scene.job.pk, "reason": "r", "confirmed": "yes"}
    )
    assert scene.now().status == "in_progress"


def test_whoever_lacks_a_permission_is_told_which_and_strangers_are_asked_to_sign_in(people):
    scene = Scene()
    for address in (LIST, scene.page, f"{LIST}add/"):
        for stranger in (None, people["customer"]):
            refused = browser(stranger).get(address)
            assert (refused.status_code, refused["Location"].partition("?")[0]) == (302, "/admin/login/")
    refused = browser(people["nothing"]).get(LIST)
    assert refused.status_code == 403
    assert "You lack the permission jobs.view_job" in refused.content.decode()


def test_a_write_needs_the_forms_token(people):
    scene = Scene("in_progress")
    client = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    client.force_login(people["operators"], backend="django.contrib.auth.backends.ModelBackend")
    assert client.post(scene.verb("requeue"), {"reason": "r"}).status_code == 403
    assert scene.now().status == "in_progress"


def test_a_job_is_published_by_the_form_and_a_mistake_loses_nothing_that_was_typed(people):
    role = new_role()
    client = browser(people["operators"])
    typed = {
        "summary": "Check the footer",
        "role": role.role_key,
        "priority": "30",
        "constraints": "It has a link\n\nIt fits",
        "context": '{"page": "home"',
        "labels": "web\nfooter",
        "max_retries": "2",
        "artifacts": "git_branch=git://shop/footer=x",
    }
    wrong = client.post(f"{LIST}add/", typed)
    assert wrong.status_code == 200
    assert "This is no JSON that can be kept" in wrong.content.decode()
    assert "It has a link" in wrong.content.decode()
    assert "{&quot;page&quot;: &quot;home&quot;</textarea>" in wrong.content.decode()
    assert (
        client.post(f"{LIST}add/", typed | {"context": "[1]"}).content.decode().count("valid dictionary") == 1
    )
    late = typed | {"context": "{}", "expires_at": "2020-01-01T00:00:00"}
    assert "expires_at must be in the future" in client.post(f"{LIST}add/", late).content.decode()
    done = client.post(f"{LIST}add/", typed | {"context": '{"page": "home"}', "on_hold": "on"})
    assert done.status_code == 302
    job = Job.objects.order_by("-pk")[0]
    assert done["Location"] == f"{LIST}{job.pk}/change/"
    assert (job.summary, job.priority, job.constraints) == (
        "Check the footer",
        30,
        ["It has a link", "It fits"],
    )
    assert (job.context_payload, job.labels, job.on_hold, job.max_retries) == (
        {"page": "home"},
        ["web", "footer"],
        True,
        2,
    )
    assert [each.artifact_uri for each in job.artifacts.all()] == ["git://shop/footer=x"]
    assert job.source_name == people["operators"].username


def test_an_open_job_is_edited_and_nobodys_edit_is_overwritten_unseen(people):
    scene = Scene(labels=["old"], constraints=["One"])
    client = browser(people["operators"])
    address = f"{LIST}{scene.job.pk}/edit/"
    form = client.get(address).context["form"]
    typed = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    typed = {name: value for name, value in typed.items() if value is not None}
    typed |= {"context": '{"a": 1}', "constraints": "One\nTwo", "labels": "new", "summary": "Other"}
    assert client.post(address, typed)["Location"] == scene.page
    job = scene.now()
    assert (job.summary, job.constraints, job.labels, job.version) == ("Other", ["One", "Two"], ["new"], 2)
    assert list(JobLabel.objects.filter(job=job).values_list("label", flat=True)) == ["new"]
    assert scene.last_event().payload["changes"]["summary"]["old"] == "Review the login form"
    stale = client.post(address, typed | {"summary": "Stale"})
    assert "is at version 2, not 1" in stale.content.decode()
    assert scene.now().summary == "Other"


def test_a_finished_job_is_deleted_after_a_question_and_others_say_why_not(people):
    done, open_ = Scene("completed"), Scene()
    client = browser(people["operators"])
    assert "Delete" in client.get(done.page).content.decode()
    assert "/delete-job/" not in client.get(open_.page).content.decode()
    assert "gone for good" in client.get(f"{LIST}{done.job.pk}/delete-job/").content.decode()
    assert client.post(f"{LIST}{done.job.pk}/delete-job/")["Location"] == LIST
    assert not Job.objects.filter(pk=done.job.pk).exists()
    assert done.last_event().event_type == "task_deleted"
    another = Scene("completed")
    chosen = {"action": "delete_jobs", "_selected_action": [another.job.pk, open_.job.pk]}
    assert "confirmed" in client.post(LIST, chosen).content.decode()
    said = client.post(LIST, chosen | {"confirmed": "yes"}, follow=True).content.decode()
    assert "1 of 2 jobs deleted." in said
    assert (
        f"Job {open_.job.pk} is published: only a completed, failed or cancelled job can be deleted." in said
    )


def test_agents_text_is_shown_as_text_everywhere(people):
    scene = Scene(
        summary=HOSTILE,
        context_payload={"x": HOSTILE},
        constraints=[HOSTILE],
        labels=[HOSTILE[:60]],
        artifacts=[{"type": HOSTILE, "uri": HOSTILE, "checksum": HOSTILE, "metadata_json": {}}],
    )
    claim(job_id=scene.job.pk, actor=scene.worker)
    complete(job_id=scene.job.pk, actor=scene.worker, result_summary=HOSTILE, result={"r": HOSTILE})
    client = browser(people["operators"])
    event = f"/admin/events/event/{scene.last_event().pk}/change/"
    for address in (LIST, scene.page, f"{LIST}?q={scene.job.pk}", event):
        page = client.get(address).content.decode()
        assert "alert(1)" in page
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page
        assert "14" not in re.findall(r"script&gt; (\S+)", page)


@pytest.mark.parametrize("name", ["999999999999999999999", "0", "abc", "-1", "9223372036854775808", "1_0"])
def test_an_id_that_does_not_exist_is_a_404(people, name):
    assert browser(people["operators"]).get(f"{LIST}{name}/change/").status_code == 404


ODD = [
    *(f"{name}=%00" for name in ("q", "role", "label", "holder", "age", "stuck", "status", "on_hold__exact")),
    *(
        "p=99999999999999999999",
        "p=abc",
        "o=abc",
        "o=1.2.999",
        "id__exact=99999999999999999999",
        "id__exact=abc",
    ),
    *(
        "on_hold__exact=7",
        "e=1",
        "q=%FF",
        "q=%F0%9F%98%80",
        "q=%22unclosed",
        "all=1",
        "_facets=True",
        "nonsense=1",
    ),
    *("context_payload__contains=a", "_to_field=password", "q=" + "a" * 5_000, "label=" + "x" * 3_000),
]


@pytest.mark.parametrize("query", ODD, ids=lambda query: query[:30])
def test_an_odd_address_is_answered_and_never_a_500(people, query):
    client = browser(people["operators"])
    for address in (LIST, "/admin/agents/agent/", "/admin/roles/role/", "/admin/events/event/"):
        assert client.get(f"{address}?{query}", follow=True).status_code < 500, address


def test_filters_and_search_find_what_they_say(people):
    scene, other = Scene("in_progress", labels=["needle-label"]), Scene(summary="Needle summary")
    Job.objects.filter(pk=scene.job.pk).update(status_changed_at=timezone.now() - timedelta(hours=3))
    client = browser(people["operators"])

    def found(query: str) -> set[int]:
        page = client.get(f"{LIST}?{query}").context["cl"].result_list
        return {job.pk for job in page} & {scene.job.pk, other.job.pk}

    mine, others = {scene.job.pk}, {other.job.pk}
    assert found("status=in_progress") == mine
    assert found("stuck=yes") == mine
    assert found(f"role={other.role.role_key}") == others
    assert found(f"holder={scene.worker.name}") == mine
    assert found("age=1h") == mine
    assert found("age=1d") == set()
    assert found("label=needle-label") == mine
    assert found("q=needle-label") == mine
    assert found("q=Needle+summ") == others
    assert found(f"q={scene.job.pk}") == mine
    assert found("status=nonsense&age=nonsense&stuck=nonsense") == mine | others
    assert "has told of no progress for 3 h" in client.get(LIST + "?stuck=yes").content.decode()


def test_the_list_asks_the_same_however_many_jobs_there_are_and_reads_no_payload(people):
    scene = Scene()
    client = browser(people["operators"])
    client.get(LIST)

    def statements() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            client.get(LIST)
        return [query["sql"] for query in captured.captured_queries]

    few = statements()
    copies(scene.job, 60)
    many = statements()
    assert len(many) == len(few) <= 22
    assert not any("context_payload" in sql or '"result"' in sql for sql in many)
    Job.objects.filter(target_role=scene.role).exclude(pk=scene.job.pk).delete()


def test_the_overview_counts_what_its_links_show(people):
    Scene("failed")
    client = browser(people["operators"])
    tiles = {tile["word"]: tile for tile in client.get("/admin/").context["tiles"]}
    for word, tile in tiles.items():
        assert client.get(tile["url"]).context["cl"].result_count == tile["count"], word
    assert browser(people["nothing"]).get("/admin/").status_code == 200
