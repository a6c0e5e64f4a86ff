"""People's job routes: what they answer, field by field, and what they change."""

import re
from typing import Any

import pytest

from artifacts.models import Artifact
from events.models import Event
from jobs.models import Job, JobLabel
from testing.people import UI, actor_of, operator
from testing.wire import Board, Caller, job_body, role

pytestmark = pytest.mark.django_db

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
# The reference's fields in its order.
ITEM = [
    *("id", "parent_job_id", "parent_job_summary", "summary", "status", "priority", "source_agent_label"),
    *("assignee_agent_label", "target_role_label", "retry_count", "max_retries", "created_at"),
]
WHOLE = [
    *("id", "parent_job_id", "parent_job_summary", "summary", "context_payload", "status", "priority"),
    *("source_agent_label", "assignee_agent_label", "target_role_label", "constraints", "routing_rules"),
    *("retry_count", "max_retries", "artifacts", "events", "failure_reason", "blocked_reason"),
    *("unblock_reason", "upstream_dependencies", "downstream_dependencies", "published_at", "started_at"),
    *("completed_at", "failed_at", "blocked_at", "unblocked_at", "cancelled_at", "expires_at"),
    *("created_at", "updated_at"),
]
EVENT = ["event_type", "current_status", "actor_agent_label", "payload_json", "created_at"]
ARTIFACT = ["id", "artifact_type", "artifact_uri", "artifact_checksum", "metadata_json", "created_at"]


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def anna(board: Board) -> Caller:
    return operator()


def test_a_list_has_the_references_fields_first_and_never_a_payload(board: Board, anna: Caller) -> None:
    parent = board.job(summary="The parent")
    job_id = board.claimed(parent_job_id=parent, labels=["web"])
    answer = anna.get(f"{UI}/jobs?limit=1&offset=1")
    assert answer.status_code == 200
    body = answer.json()
    assert list(body) == ["items", "total", "limit", "offset", "next_cursor"]
    assert (body["total"], body["limit"], body["offset"], body["next_cursor"]) == (2, 1, 1, None)
    [item] = body["items"]
    assert list(item)[: len(ITEM)] == ITEM
    assert (item["id"], item["parent_job_id"], item["parent_job_summary"]) == (job_id, parent, "The parent")
    assert (item["source_agent_label"], item["assignee_agent_label"]) == ("Dev agent", "QA agent")
    assert (item["target_role_label"], item["target_role_key"], item["assignee"]) == ("QA", "qa", "qa-agent")
    assert (item["labels"], item["on_hold"], item["stuck"]) == (["web"], False, None)
    assert MOMENT.fullmatch(item["status_changed_at"])
    assert "context_payload" not in item


def test_a_whole_job_has_the_references_fields_first_then_ours(board: Board, anna: Caller) -> None:
    artifact = {"type": "file", "uri": "file:///x", "checksum": None, "metadata_json": {"k": 1}}
    job_id = board.claimed(artifacts=[artifact], parent_job_id=board.job(summary="The parent"))
    board.moved(job_id, "blocked", blocked_reason="need x")
    answer = anna.get(f"{UI}/jobs/{job_id}")
    assert answer.status_code == 200
    job = answer.json()
    assert list(job)[: len(WHOLE)] == WHOLE
    assert (job["parent_job_summary"], job["context_payload"]) == ("The parent", {"branch": "login"})
    [shown] = job["artifacts"]
    assert list(shown) == ARTIFACT
    assert (shown["artifact_type"], shown["artifact_uri"], shown["metadata_json"]) == (
        *("file", "file:///x", {"k": 1}),
    )
    kinds = [event["event_type"] for event in job["events"]]
    assert kinds == ["task_blocked", "task_claimed", "task_published"]
    assert list(job["events"][0])[: len(EVENT)] == EVENT
    assert job["events"][0]["actor_agent_label"] == "QA agent"
    assert job["events"][0]["payload_json"]["blocked_reason"] == "need x"
    assert (job["upstream_dependencies"], job["downstream_dependencies"]) == ([], [])
    assert (job["blocked_reason"], job["target_role_key"], job["assignee"]) == ("need x", "qa", "qa-agent")
    assert [one["verb"] for one in job["allowed"]] == ["unblock", "requeue", "reassign", "cancel"]
    assert job["allowed"][2]["names_an_agent"] is True
    assert "loses it" in job["allowed"][1]["warning"]


def test_a_job_that_is_not_there_is_404_in_the_references_words(board: Board, anna: Caller) -> None:
    for method, path in (("GET", ""), ("GET", "/events"), ("PATCH", ""), ("DELETE", ""), ("POST", "/cancel")):
        refused = anna.call(method, f"{UI}/jobs/999{path}", {"priority": 10})
        assert (refused.status_code, refused.json()) == (404, {"detail": "Handoff job not found."}), path


def test_a_person_publishes_and_is_named_as_the_source(board: Board, anna: Caller) -> None:
    answer = anna.post(f"{UI}/jobs", job_body(mood="good"), Idempotency_Key="k")
    assert answer.status_code == 201
    assert answer.json() == {
        "job_id": answer.json()["job_id"],
        "status": "published",
        "ignored_fields": ["mood"],
    }
    job = Job.objects.get()
    assert (job.source_agent, job.source_name) == (None, "anna")
    event = Event.objects.get(job_id=job.pk)
    assert (event.actor_kind, event.actor_name, event.actor_user_id) == (
        *("person", "anna", actor_of(anna).user_id),
    )
    again = anna.post(f"{UI}/jobs", job_body(mood="good"), Idempotency_Key="k")
    assert (again.json(), again.headers["Idempotency-Replayed"]) == (answer.json(), "true")
    assert Job.objects.count() == 1
    # Of another person the same key is another call.
    assert operator("ben").post(f"{UI}/jobs", job_body(mood="good"), Idempotency_Key="k").status_code == 201
    assert Job.objects.count() == 2
    assert anna.get(f"{UI}/jobs/{job.pk}").json()["source_agent_label"] == "anna"
    assert anna.get(f"{UI}/jobs").json()["items"][0]["source_agent_label"] == "anna"


def test_an_edit_replaces_what_it_names_and_moves_the_labels_along(board: Board, anna: Caller) -> None:
    job_id = board.job(labels=["old"])
    changes = {
        "priority": 40,
        "labels": ["new"],
        "target_role_key": "developer",
        "expected_version": 1,
        "x": 1,
    }
    answer = anna.patch(f"{UI}/jobs/{job_id}", changes)
    assert answer.status_code == 200
    assert answer.json() == {
        "job_id": job_id,
        "message": f"job with job_id {job_id} updated successfully",
        "version": 2,
        "ignored_fields": ["x"],
    }
    job = anna.get(f"{UI}/jobs/{job_id}").json()
    assert (job["priority"], job["labels"], job["target_role_key"]) == (40, ["new"], "developer")
    assert job["context_payload"] == {"branch": "login"}
    assert [row.label for row in JobLabel.objects.filter(job=job_id)] == ["new"]
    told = job["events"][0]
    assert (told["event_type"], told["actor"]["kind"], told["actor_agent_label"]) == (
        *("task_updated", "person", None),
    )
    assert told["payload_json"]["changes"]["priority"] == {"old": 20, "new": 40}


def test_an_edit_of_another_version_and_one_of_a_held_job_are_conflicts(board: Board, anna: Caller) -> None:
    job_id = board.job()
    for refused, code in (
        (anna.patch(f"{UI}/jobs/{job_id}", {"priority": 40, "expected_version": 7}), "version_mismatch"),
        (anna.patch(f"{UI}/jobs/{board.claimed()}", {"priority": 40}), "not_holder"),
    ):
        assert refused.status_code == 409
        [entry] = refused.json()["detail"]
        assert list(entry) == ["loc", "msg", "type", "input", "ctx"]
        assert (entry["type"], entry["loc"]) == ("handoff_job_update.invalid", ["path", "job_id"])
        assert entry["ctx"]["code"] == code
    assert Job.objects.get(pk=job_id).priority == 20


@pytest.mark.parametrize(
    ("body", "type_", "field"),
    [
        ({}, "value_error", None),
        ({"expected_version": 1}, "value_error", None),
        ({"priority": 25}, "enum", "priority"),
        ({"priority": None}, "enum", "priority"),
        ({"summary": " "}, "string_blank", "summary"),
        ({"summary": "x" * 501}, "string_too_long", "summary"),
        ({"labels": [""]}, "string_too_short", "labels"),
        ({"target_role_key": "nobody"}, "target_role.invalid", "target_role_key"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "value_error", "expires_at"),
        ({"not_before": "tomorrow"}, "datetime_from_date_parsing", "not_before"),
        ([], "model_attributes_type", None),
        (b"{", "json_invalid", 1),
    ],
)
def test_a_wrong_edit_is_refused_at_its_field_and_changes_nothing(
    board: Board, anna: Caller, body, type_: str, field
) -> None:
    job_id = board.job()
    refused = anna.patch(f"{UI}/jobs/{job_id}", body)
    assert refused.status_code == 422
    [entry] = refused.json()["detail"]
    assert entry["type"] == type_
    assert entry["loc"][:2] == (["body"] if field is None else ["body", field])
    assert Job.objects.get(pk=job_id).version == 1


def test_a_finished_job_is_deleted_once_and_its_events_stay(board: Board, anna: Caller) -> None:
    artifact: dict[str, Any] = {"type": "file", "uri": "u", "checksum": None, "metadata_json": {}}
    job_id = board.moved(board.claimed(labels=["a"], artifacts=[artifact]), "completed")
    answer = anna.call("DELETE", f"{UI}/jobs/{job_id}", None, Idempotency_Key="k")
    assert (answer.status_code, answer.content) == (204, b"")
    assert not Job.objects.exists()
    assert not Artifact.objects.exists()
    last = Event.objects.filter(stream=f"job:{job_id}").latest("sequence")
    assert (last.event_type, last.actor_name, last.actor_user_id) == (
        *("task_deleted", "anna", actor_of(anna).user_id),
    )
    again = anna.call("DELETE", f"{UI}/jobs/{job_id}", None, Idempotency_Key="k")
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (204, "true")
    assert anna.call("DELETE", f"{UI}/jobs/{job_id}").status_code == 404


def test_a_job_that_is_not_finished_or_has_children_is_not_deleted(board: Board, anna: Caller) -> None:
    parent = board.moved(board.claimed(), "completed")
    child = board.job(parent_job_id=parent)
    for job_id, code in ((parent, "has_children"), (child, "not_finished")):
        refused = anna.call("DELETE", f"{UI}/jobs/{job_id}")
        assert refused.status_code == 409
        [entry] = refused.json()["detail"]
        assert (entry["type"], entry["loc"], entry["ctx"]["code"]) == (
            *("handoff_job_delete.invalid", ["path", "job_id"], code),
        )
    assert Job.objects.count() == 2


def test_the_counts_have_all_eight_states(board: Board, anna: Caller) -> None:
    board.job(), board.moved(board.claimed(), "failed")
    assert anna.get(f"{UI}/jobs/counts").content.decode() == (
        '{"counts":{"pending":0,"published":1,"in_progress":0,"blocked":0,'
        '"unblocked":0,"completed":0,"failed":1,"cancelled":0}}'
    )


def test_the_figures_are_of_the_window_and_the_patience_that_was_asked_for(
    board: Board, anna: Caller
) -> None:
    role("idle", label="Idle")
    board.job()
    answer = anna.get(f"{UI}/stats?window_hours=2&stuck_minutes=5&x=1")
    assert answer.status_code == 200
    assert answer.headers["X-Ignored-Parameters"] == "x"
    found = answer.json()
    assert (found["window_hours"], found["counts"]["published"], found["bottleneck_role"]) == (2, 1, "qa")
    assert [one["role_key"] for one in found["roles"]] == ["developer", "idle", "qa"]
    for query in ("window_hours=0", "window_hours=x", "stuck_minutes=0", "stuck_minutes=527041"):
        assert anna.get(f"{UI}/stats?{query}").status_code == 422, query


def test_the_trail_is_paged_from_its_end_and_holds_still_while_it_grows(board: Board, anna: Caller) -> None:
    job_id = board.job()
    for priority in (10, 30, 40):
        anna.patch(f"{UI}/jobs/{job_id}", {"priority": priority})
    first = anna.get(f"{UI}/jobs/{job_id}/events?limit=3")
    assert [event["sequence"] for event in first.json()["items"]] == [4, 3, 2]
    assert first.json()["before"] == 2
    anna.patch(f"{UI}/jobs/{job_id}", {"priority": 20})
    link = re.fullmatch(r'<http://localhost([^>]*)>; rel="next"', first.headers["Link"])
    assert link
    second = anna.get(link[1])
    assert [event["sequence"] for event in second.json()["items"]] == [1]
    assert second.json()["before"] is None
    assert "Link" not in second.headers


def test_a_job_shows_its_newest_events_and_where_older_ones_go_on(board: Board, anna: Caller) -> None:
    job_id = board.job()
    for number in range(201):
        board.dev.post(f"/jobs/{job_id}/{'unhold' if number % 2 else 'hold'}")
    job = anna.get(f"{UI}/jobs/{job_id}").json()
    assert [event["sequence"] for event in job["events"]] == list(range(202, 2, -1))
    assert job["events_before"] == 3
    older = anna.get(f"{UI}/jobs/{job_id}/events?before=3").json()
    assert [event["sequence"] for event in older["items"]] == [2, 1]
