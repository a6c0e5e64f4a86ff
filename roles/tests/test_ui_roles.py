"""People's role routes: made, changed, paused, resumed and deleted."""

import re

import pytest

from events.models import Event
from jobs.models import Job
from roles.models import Role
from testing.people import UI, operator, viewer
from testing.wire import Board, Caller

pytestmark = pytest.mark.django_db

ROLES = f"{UI}/agents/roles"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
KEYS = [
    *("id", "role_key", "role_label", "created_at", "is_open", "lease_seconds", "max_lease_expiries"),
    *("max_held_per_agent", "stuck_after_minutes", "paused_at", "pause_reason"),
]


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def anna(board: Board) -> Caller:
    return operator()


@pytest.fixture
def qa(board: Board) -> int:
    return Role.objects.get(role_key="qa").pk


def test_the_list_has_the_references_fields_first(board: Board, anna: Caller, qa: int) -> None:
    answer = anna.get(ROLES)
    assert answer.status_code == 200
    assert [list(one) for one in answer.json()] == [KEYS, KEYS]
    found = answer.json()[1]
    assert (found["id"], found["role_key"], found["role_label"], found["paused_at"]) == (qa, "qa", "QA", None)
    assert MOMENT.fullmatch(found["created_at"])


def test_a_role_is_made_once_and_a_second_one_of_its_key_is_a_conflict(board: Board, anna: Caller) -> None:
    body = {"role_key": "docs", "role_label": "Docs", "max_held_per_agent": 2, "x": 1}
    answer = anna.post(ROLES, body, Idempotency_Key="k")
    assert answer.status_code == 201
    made = answer.json()
    assert list(made) == [*KEYS, "ignored_fields"]
    assert (made["role_key"], made["max_held_per_agent"], made["lease_seconds"]) == ("docs", 2, 1800)
    again = anna.post(ROLES, body, Idempotency_Key="k")
    assert (again.json(), again.headers["Idempotency-Replayed"]) == (made, "true")
    refused = anna.post(ROLES, body)
    assert refused.status_code == 409
    [entry] = refused.json()["detail"]
    assert list(entry) == ["loc", "msg", "type", "input", "ctx"]
    assert (entry["type"], entry["loc"], entry["input"]) == (
        "target_role.conflict",
        ["body", "role_key"],
        "docs",
    )
    assert entry["msg"].startswith("Target role already exists: ")
    event = Event.objects.get(stream=f"role:{made['id']}")
    assert (event.event_type, event.actor_kind, event.actor_name) == ("role_created", "person", "anna")


def test_an_edit_changes_what_it_names(board: Board, anna: Caller, qa: int) -> None:
    answer = anna.patch(f"{ROLES}/{qa}", {"role_key": "quality", "role_label": "Quality"})
    assert answer.status_code == 200
    assert (answer.json()["id"], answer.json()["role_key"], answer.json()["role_label"]) == (
        *(qa, "quality", "Quality"),
    )
    assert anna.patch(f"{ROLES}/{qa}", {"max_held_per_agent": 1}).json()["max_held_per_agent"] == 1
    assert anna.patch(f"{ROLES}/{qa}", {"max_held_per_agent": None}).json()["role_key"] == "quality"
    refused = anna.patch(f"{ROLES}/{qa}", {"role_key": "developer", "role_label": "D"})
    [entry] = refused.json()["detail"]
    assert (refused.status_code, entry["type"], entry["input"]) == (409, "target_role.conflict", "developer")
    assert Role.objects.get(pk=qa).role_key == "quality"


def test_a_role_that_is_not_there_is_refused_in_the_references_words(
    board: Board, anna: Caller, qa: int
) -> None:
    assert anna.call("DELETE", f"{ROLES}/{qa}").status_code == 204
    for role_id in (qa, 999):
        for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume")):
            refused = anna.call(method, f"{ROLES}/{role_id}{path}", {"role_label": "x", "reason": "r"})
            assert refused.status_code == 422, path
            assert refused.json()["detail"] == [
                {
                    "loc": ["path", "role_id"],
                    "msg": "One or more target roles were not found: Target role not found.",
                    "type": "target_role.not_found",
                    "input": role_id,
                    "ctx": {},
                }
            ]


def test_a_deleted_role_frees_its_key(board: Board, anna: Caller, qa: int) -> None:
    answer = anna.call("DELETE", f"{ROLES}/{qa}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert [one["role_key"] for one in anna.get(ROLES).json()] == ["developer"]
    assert anna.post(ROLES, {"role_key": "qa", "role_label": "New"}).status_code == 201


def test_a_role_with_unfinished_jobs_is_deleted_only_when_they_have_somewhere_to_go(
    board: Board, anna: Caller, qa: int
) -> None:
    jobs = [board.job(), board.claimed()]
    board.moved(board.claimed(), "completed")
    for query, status, code in (
        ("", 409, "role_has_jobs"),
        ("?move_to=qa", 409, "role_is_target"),
        ("?move_to=nobody", 422, None),
    ):
        refused = anna.call("DELETE", f"{ROLES}/{qa}{query}")
        [entry] = refused.json()["detail"]
        assert (refused.status_code, entry["loc"]) == (status, ["query", "move_to"]), query
        assert entry["ctx"].get("code") == code
        assert (entry["type"], "developer, qa" in entry["msg"]) == (
            ("target_role.in_use", False) if code else ("target_role.invalid", True)
        )
    assert anna.call("DELETE", f"{ROLES}/{qa}?move_to=developer").status_code == 204
    moved = Job.objects.filter(target_role__role_key="developer").values_list("pk", flat=True)
    assert sorted(moved) == jobs


def test_a_paused_role_hands_nothing_out_until_it_is_resumed(board: Board, anna: Caller, qa: int) -> None:
    job_id = board.job()
    paused = anna.post(f"{ROLES}/{qa}/pause", {"reason": "The environment is being rebuilt"})
    assert paused.status_code == 200
    assert paused.json()["pause_reason"] == "The environment is being rebuilt"
    assert MOMENT.fullmatch(paused.json()["paused_at"])
    refused = board.qa.post(f"/jobs/{job_id}/claim")
    assert (refused.status_code, refused.json()["detail"][0]["ctx"]["code"]) == (409, "paused")
    resumed = anna.post(f"{ROLES}/{qa}/resume")
    assert (resumed.status_code, resumed.json()["paused_at"], resumed.json()["pause_reason"]) == (
        200,
        None,
        None,
    )
    assert board.qa.post(f"/jobs/{job_id}/claim").status_code == 201
    kinds = (
        Event.objects.filter(stream=f"role:{qa}").order_by("sequence").values_list("event_type", "actor_name")
    )
    assert list(kinds) == [("role_paused", "anna"), ("role_resumed", "anna")]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("", {"role_key": "", "role_label": "x"}, "role_key"),
        ("", {"role_key": "x" * 256, "role_label": "x"}, "role_key"),
        ("", {"role_key": "x"}, "role_label"),
        ("/{qa}", {"role_label": None}, "role_label"),
        ("/{qa}", {"lease_seconds": 1}, "lease_seconds"),
        ("/{qa}", {"max_held_per_agent": 0}, "max_held_per_agent"),
        ("/{qa}/pause", {}, "reason"),
        ("/{qa}/pause", {"reason": " "}, "reason"),
        ("/{qa}/resume", {"reason": 5}, "reason"),
    ],
)
def test_a_wrong_role_is_refused_at_its_field(anna: Caller, qa: int, path: str, body, field: str) -> None:
    method = "PATCH" if path == "/{qa}" else "POST"
    refused = anna.call(method, f"{ROLES}{path.format(qa=qa)}", body)
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", field])
    assert not Event.objects.exists()


def test_a_viewer_sees_roles_and_changes_none(board: Board, qa: int) -> None:
    vera = viewer()
    assert vera.get(ROLES).status_code == 200
    for method, path, permission in (
        ("POST", "", "roles.add_role"),
        ("PATCH", f"/{qa}", "roles.change_role"),
        ("DELETE", f"/{qa}", "roles.delete_role"),
        ("POST", f"/{qa}/pause", "roles.change_role"),
        ("POST", f"/{qa}/resume", "roles.change_role"),
    ):
        refused = vera.call(method, f"{ROLES}{path}", {"reason": "r"})
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_missing"), path
        assert permission in refused.json()["detail"]
    assert not Event.objects.exists()
