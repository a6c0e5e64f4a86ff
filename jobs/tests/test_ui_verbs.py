"""The verbs of persons at their routes: each moves the job, is told in the person's name, and refuses in one shape."""

import pytest

from events.models import Event
from jobs.lifecycle import FINAL, Status, Verb, Who, arrows_of
from jobs.models import Job
from jobs.services.by_persons import BY_PERSONS
from testing.people import UI, actor_of, member, operator, signed_in, viewer
from testing.wire import Board, Caller, agent, role

pytestmark = pytest.mark.django_db

REASON = "Its holder is gone"
# What each verb is sent with, from where it leads where, and what is told of it.
STEPS = {
    "unblock": ("blocked", {"unblock_reason": f"  {REASON} "}, "unblocked", "task_unblocked"),
    "requeue": ("in_progress", {"reason": REASON}, "published", "task_requeued"),
    "reassign": ("in_progress", {"agent_name": "rival", "reason": REASON}, "in_progress", "task_reassigned"),
    "hold": ("published", {"reason": REASON}, "published", "task_held"),
    "unhold": ("published", {"reason": REASON}, "published", "task_unheld"),
    "cancel": ("blocked", {"reason": REASON}, "cancelled", "task_cancelled"),
}
VERBS = pytest.mark.parametrize("verb", STEPS)


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def anna(board: Board) -> Caller:
    agent("Rival", "qa")
    return operator()


def standing(board: Board, verb: str) -> int:
    """A job from where the verb leads somewhere."""
    status = STEPS[verb][0]
    if status == "published":
        return board.job(on_hold=verb == "unhold")
    return board.claimed() if status == "in_progress" else board.moved(board.claimed(), status)


def last_event(job_id: int) -> Event:
    return Event.objects.filter(stream=f"job:{job_id}").latest("sequence")


def test_every_verb_of_persons_is_tried_here() -> None:
    assert set(STEPS) == {str(verb) for verb in BY_PERSONS}
    by_arrows = {str(verb) for verb in Verb if any(Who.PERSON in arrow.who for arrow in arrows_of(verb))}
    assert set(STEPS) == by_arrows - {"update"}


@VERBS
def test_a_verb_moves_the_job_and_is_told_in_the_persons_name(board: Board, anna: Caller, verb: str) -> None:
    before, body, after, kind = STEPS[verb]
    job_id = standing(board, verb)
    answer = anna.post(f"{UI}/jobs/{job_id}/{verb}", {**body, "mood": 1})
    assert answer.status_code == 200, answer.content
    expected = {"job_id": job_id, "previous_status": before, "new_status": after}
    if verb == "unblock":
        expected["unblock_reason"] = REASON
    assert answer.json() == expected | {"ignored_fields": ["mood"]}
    assert list(answer.json()) == [*expected, "ignored_fields"]
    assert Job.objects.get(pk=job_id).status == after
    event = last_event(job_id)
    assert (event.event_type, event.actor_kind, event.actor_name) == (kind, "person", "anna")
    assert (event.actor_user_id, event.actor_agent_id) == (actor_of(anna).user_id, None)
    assert REASON in (event.payload.get("reason"), event.payload.get("unblock_reason"))


@VERBS
def test_a_verb_that_is_repeated_under_its_key_has_one_effect(board: Board, anna: Caller, verb: str) -> None:
    job_id, body = standing(board, verb), STEPS[verb][1]
    first = anna.post(f"{UI}/jobs/{job_id}/{verb}", body, Idempotency_Key="k")
    told = Event.objects.count()
    again = anna.post(f"{UI}/jobs/{job_id}/{verb}", body, Idempotency_Key="k")
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Event.objects.count() == told
    other = anna.post(f"{UI}/jobs/{job_id}/{verb}", {**body, "reason": "another"}, Idempotency_Key="k")
    assert (other.status_code, other.json()["detail"][0]["type"]) == (422, "idempotency_key.reused")


@VERBS
@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_verb_that_leads_nowhere_is_a_conflict_that_says_what_is_open(
    board: Board, anna: Caller, verb: str, status: Status
) -> None:
    job_id = board.moved(board.claimed(), status)
    told = Event.objects.count()
    refused = anna.post(f"{UI}/jobs/{job_id}/{verb}", STEPS[verb][1])
    assert refused.status_code == 409
    [entry] = refused.json()["detail"]
    assert list(entry) == ["loc", "msg", "type", "input", "ctx"]
    assert (entry["loc"], entry["type"], entry["input"]) == (
        *(["path", "job_id"], "handoff_job_status.invalid", job_id),
    )
    assert entry["msg"].startswith(f"Handoff job status transition is invalid: Job {job_id} is {status}")
    assert (entry["ctx"]["code"], entry["ctx"]["current_status"]) == ("wrong_status", status)
    assert entry["ctx"]["allowed"] == []
    assert Event.objects.count() == told


@VERBS
def test_only_who_may_change_jobs_uses_a_verb(board: Board, anna: Caller, verb: str) -> None:
    job_id = standing(board, verb)
    told = Event.objects.count()
    for caller, code in (
        (viewer(), "permission_missing"),
        (signed_in(member("nobody")), "permission_missing"),
        (signed_in(member("customer", "operators", is_staff=False)), "not_staff"),
        (board.qa, "people_only"),
    ):
        refused = caller.post(f"{UI}/jobs/{job_id}/{verb}", STEPS[verb][1])
        assert (refused.status_code, refused.json()["code"]) == (403, code)
        if code == "permission_missing":
            assert "jobs.change_job" in refused.json()["detail"]
    assert Event.objects.count() == told


def test_a_viewer_reads_everything(board: Board) -> None:
    job_id, vera = board.job(), viewer()
    for path in ("/jobs", "/jobs/counts", f"/jobs/{job_id}", f"/jobs/{job_id}/events", "/stats", "/stuck"):
        assert vera.get(f"{UI}{path}").status_code == 200, path
    for method, path, permission in (
        ("POST", "/jobs", "jobs.add_job"),
        ("PATCH", f"/jobs/{job_id}", "jobs.change_job"),
        ("DELETE", f"/jobs/{job_id}", "jobs.delete_job"),
    ):
        refused = vera.call(method, f"{UI}{path}", b"{")
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_missing"), path
        assert permission in refused.json()["detail"]


@pytest.mark.parametrize("verb", ["requeue", "hold", "unhold", "cancel"])
@pytest.mark.parametrize("body", [None, b"", b" ", {}, {"reason": None}], ids=str)
def test_a_reason_may_be_left_out(board: Board, anna: Caller, verb: str, body) -> None:
    job_id = standing(board, verb)
    assert anna.post(f"{UI}/jobs/{job_id}/{verb}", body).status_code == 200
    assert last_event(job_id).payload["reason"] is None


@pytest.mark.parametrize(
    ("verb", "body", "refusal"),
    [
        ("unblock", None, ("missing", None)),
        ("unblock", {}, ("missing", "unblock_reason")),
        ("unblock", {"unblock_reason": None}, ("string_type", "unblock_reason")),
        ("unblock", {"unblock_reason": " \n"}, ("string_blank", "unblock_reason")),
        ("unblock", {"unblock_reason": "x" * 20_001}, ("string_too_long", "unblock_reason")),
        ("cancel", {"reason": "x" * 20_001}, ("string_too_long", "reason")),
        ("hold", {"reason": 5}, ("string_type", "reason")),
        ("requeue", [], ("model_attributes_type", None)),
        ("reassign", {}, ("missing", "agent_name")),
        ("reassign", {"agent_name": "rival", "lease_seconds": 1}, ("greater_than_equal", "lease_seconds")),
    ],
)
def test_a_wrong_body_is_refused_at_its_field_before_the_job_is_looked_at(
    board: Board, anna: Caller, verb: str, body, refusal: tuple[str, str | None]
) -> None:
    type_, field = refusal
    for job_id in (standing(board, verb), 999):
        refused = anna.post(f"{UI}/jobs/{job_id}/{verb}", body)
        assert refused.status_code == 422
        [entry] = refused.json()["detail"]
        assert (entry["type"], entry["loc"]) == (type_, ["body", field] if field else ["body"])


def test_a_reassigned_job_is_held_by_the_agent_that_was_named(board: Board, anna: Caller) -> None:
    job_id = board.claimed()
    answer = anna.post(f"{UI}/jobs/{job_id}/reassign", {"agent_name": "rival", "lease_seconds": 60})
    assert answer.status_code == 200
    job = Job.objects.get(pk=job_id)
    assert (job.assignee_agent.name, job.lease_generation, job.lease_seconds) == ("rival", 2, 60)
    lost = board.qa.post(f"/jobs/{job_id}/heartbeat", {"lease_generation": 1})
    assert (lost.status_code, lost.json()["detail"][0]["ctx"]["code"]) == (409, "lease_lost")


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [("nobody", 404, None), ("guest", 409, "agent_lacks_role"), ("qa-agent", 409, "already_claimed")],
)
def test_a_job_goes_to_no_agent_that_could_not_claim_it(
    board: Board, anna: Caller, name: str, status: int, code: str | None
) -> None:
    job_id = board.claimed()
    refused = anna.post(f"{UI}/jobs/{job_id}/reassign", {"agent_name": name})
    assert refused.status_code == status
    if code:
        assert refused.json()["detail"][0]["ctx"]["code"] == code
    assert Job.objects.get(pk=job_id).lease_generation == 1


def test_a_paused_role_hands_nothing_out_to_a_named_agent_either(board: Board, anna: Caller) -> None:
    role("frozen", paused_at="2026-12-01T00:00:00Z", pause_reason="repairs")
    agent("Frost", "frozen")
    refused = anna.post(f"{UI}/jobs/{board.job(target_role_key='frozen')}/reassign", {"agent_name": "frost"})
    [entry] = refused.json()["detail"]
    assert (refused.status_code, entry["ctx"]["code"]) == (409, "paused")
    assert "repairs" in entry["msg"]


@VERBS
def test_the_page_of_a_verb_holds_a_form_with_an_example(board: Board, anna: Caller, verb: str) -> None:
    page = anna.get(f"{UI}/jobs/{standing(board, verb)}/{verb}", Accept="text/html").content.decode()
    field = {"unblock": "unblock_reason", "reassign": "agent_name"}.get(verb, "reason")
    assert f"&quot;{field}&quot;" in page
    assert 'method="POST"' in page
