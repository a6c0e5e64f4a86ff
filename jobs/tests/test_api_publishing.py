"""The wire of publishing a job and reading it again."""

import re
from datetime import UTC, datetime

import pytest

from jobs.models import Job
from testing.wire import JOB_KEYS, Board, job_body

pytestmark = pytest.mark.django_db

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
OURS = [
    *("cancel_reason", "result_summary", "result", "labels", "on_hold", "not_before", "version"),
    *("lease_expiry_count", "progress", "lease"),
]


@pytest.fixture
def board() -> Board:
    return Board()


def test_publishing_answers_the_id_and_where_the_job_is(board: Board) -> None:
    answer = board.dev.post("/jobs", job_body())
    job_id = Job.objects.get().pk
    assert answer.status_code == 201
    assert answer.content.decode() == f'{{"job_id":{job_id},"status":"published"}}'


def test_a_job_reads_as_the_reference_has_it_and_then_what_is_ours(board: Board) -> None:
    artifact = {"type": "file", "uri": "file:///x", "checksum": None, "metadata_json": {"k": 1}}
    job_id = board.job(artifacts=[artifact], labels=["web"], priority=30)
    answer = board.guest.get(f"/jobs/{job_id}")
    job = answer.json()
    assert answer.status_code == 200
    assert list(job) == JOB_KEYS + OURS
    assert list(job["artifacts"][0]) == ["type", "uri", "checksum", "metadata_json"]
    created = job["created_at"]
    assert MOMENT.fullmatch(created)
    assert job == {
        **dict.fromkeys(JOB_KEYS + OURS),
        "id": job_id,
        "summary": "Review the login form",
        "context_payload": {"branch": "login"},
        "status": "published",
        "priority": 30,
        "source_agent_label": "Dev agent",
        "target_role_key": "qa",
        "constraints": ["Every field has a label"],
        "retry_count": 0,
        "max_retries": 3,
        "artifacts": [artifact],
        "published_at": created,
        "created_at": created,
        "updated_at": created,
        "labels": ["web"],
        "on_hold": False,
        "version": 1,
        "lease_expiry_count": 0,
    }


def test_whole_seconds_have_six_digits_too(board: Board) -> None:
    job_id = board.job()
    Job.objects.update(created_at=datetime(2026, 12, 1, 10, 0, 0, tzinfo=UTC))
    assert board.dev.get(f"/jobs/{job_id}").json()["created_at"] == "2026-12-01T10:00:00.000000Z"
    assert board.dev.get("/jobs?my_roles_only=false").json()[0]["created_at"] == "2026-12-01T10:00:00.000000Z"


def test_the_body_is_compact_utf_8(board: Board) -> None:
    job_id = board.job(summary="Prüfen 質 😀", context_payload={"ключ": ["é", {"a": [1, 2.5, None, True]}]})
    body = board.dev.get(f"/jobs/{job_id}").content.decode()
    assert (
        '"summary":"Prüfen 質 😀","context_payload":{"ключ":["é",{"a":[1,2.5,null,true]}]},"status"' in body
    )


def test_a_payload_keeps_the_order_of_its_keys_and_the_kind_of_its_numbers(board: Board) -> None:
    text = '{"z":1,"a":1.0,"m":true,"e":1e300,"n":-0.0,"i":9223372036854775807,"s":0.1}'
    body = job_body() | {"context_payload": "PAYLOAD"}
    raw = board.dev.post(
        "/jobs", str(body).replace("'PAYLOAD'", text).replace("'", '"').replace("None", "null").encode()
    )
    job_id = raw.json()["job_id"]
    read = board.dev.get(f"/jobs/{job_id}").content.decode()
    expected = (
        '"context_payload":{"z":1,"a":1.0,"m":true,"e":1e+300,"n":-0.0,"i":9223372036854775807,"s":0.1}'
    )
    assert expected in read


def test_a_priority_may_be_written_as_pydantic_reads_it(board: Board) -> None:
    for sent, read in ((10, 10), (20, 20), (30, 30), (40, 40), ("20", 20), (20.0, 20), (4e1, 40)):
        job_id = board.job(priority=sent)
        assert board.dev.get(f"/jobs/{job_id}").json()["priority"] == read


@pytest.mark.parametrize("field", ["parent_job_id", "summary", "context_payload", "target_role_key"])
def test_a_field_that_the_reference_requires_is_required(board: Board, field: str) -> None:
    body = job_body()
    del body[field]
    refused = board.dev.post("/jobs", body)
    assert refused.status_code == 422
    assert refused.json() == {
        "detail": [{"type": "missing", "loc": ["body", field], "msg": "Field required", "input": None}]
    }


def test_an_empty_body_names_every_required_field_once(board: Board) -> None:
    entries = board.dev.post("/jobs", {}).json()["detail"]
    assert [entry["loc"] for entry in entries] == [["body", name] for name in job_body()]
    assert {entry["type"] for entry in entries} == {"missing"}


@pytest.mark.parametrize(
    ("fields", "entry"),
    [
        (
            {"priority": 25},
            {
                "type": "enum",
                "loc": ["body", "priority"],
                "msg": "Input should be 10, 20, 30 or 40",
                "input": 25,
                "ctx": {"expected": "10, 20, 30 or 40"},
            },
        ),
        ({"priority": True}, {"type": "enum", "loc": ["body", "priority"]}),
        ({"priority": None}, {"type": "enum", "loc": ["body", "priority"]}),
        ({"priority": [20]}, {"type": "enum", "loc": ["body", "priority"]}),
        ({"summary": ""}, {"type": "string_too_short", "ctx": {"min_length": 1}}),
        ({"summary": " \t\n"}, {"type": "string_blank", "msg": "String should not be blank"}),
        ({"summary": "x" * 501}, {"type": "string_too_long", "ctx": {"max_length": 500}}),
        ({"summary": 1}, {"type": "string_type", "msg": "Input should be a valid string"}),
        ({"context_payload": []}, {"type": "dict_type", "msg": "Input should be a valid dictionary"}),
        ({"context_payload": None}, {"type": "dict_type"}),
        ({"constraints": "c"}, {"type": "list_type", "msg": "Input should be a valid list"}),
        ({"constraints": [""]}, {"type": "string_too_short", "loc": ["body", "constraints", 0]}),
        ({"constraints": ["ok", " "]}, {"type": "string_blank", "loc": ["body", "constraints", 1]}),
        ({"constraints": ["x" * 4001]}, {"type": "string_too_long", "ctx": {"max_length": 4000}}),
        ({"constraints": ["c"] * 101}, {"type": "too_long", "loc": ["body", "constraints"]}),
        ({"artifacts": [{}] * 51}, {"type": "too_long", "loc": ["body", "artifacts"]}),
        ({"blocked_by": None}, {"type": "list_type", "loc": ["body", "blocked_by"]}),
        ({"blocked_by": ["x"]}, {"type": "int_parsing", "loc": ["body", "blocked_by", 0]}),
        ({"parent_job_id": "x"}, {"type": "int_parsing", "loc": ["body", "parent_job_id"]}),
        ({"parent_job_id": 1.5}, {"type": "int_from_float", "loc": ["body", "parent_job_id"]}),
        ({"parent_job_id": True}, None),
        ({"max_retries": 21}, {"type": "less_than_equal", "ctx": {"le": 20}}),
        ({"max_retries": -1}, {"type": "greater_than_equal", "ctx": {"ge": 0}}),
        ({"labels": ["x" * 65]}, {"type": "string_too_long", "ctx": {"max_length": 64}}),
        ({"labels": [f"l{n}" for n in range(21)]}, {"type": "too_long", "loc": ["body", "labels"]}),
        ({"on_hold": "true"}, {"type": "bool_type", "loc": ["body", "on_hold"]}),
        ({"not_before": "2026-12-01T10:00:00"}, {"type": "timezone_aware", "loc": ["body", "not_before"]}),
        ({"not_before": "tomorrow"}, {"type": "datetime_from_date_parsing"}),
        ({"expires_at": "9999-12-31T23:59:59Z"}, {"type": "datetime_range"}),
        ({"expires_at": "2020-01-01T00:00:00Z"}, {"type": "value_error", "loc": ["body", "expires_at"]}),
        (
            {"not_before": "2030-01-02T00:00:00Z", "expires_at": "2030-01-01T00:00:00Z"},
            {"type": "value_error", "loc": ["body"]},
        ),
        ({"routing_rules": [{}] * 11}, {"type": "too_long", "loc": ["body", "routing_rules"]}),
        (
            {"target_role_key": "nobody"},
            {
                "loc": ["body", "target_role_key"],
                "msg": "Target role is invalid: Available roles: developer, qa.",
                "type": "target_role.invalid",
                "input": "nobody",
                "ctx": {},
            },
        ),
        (
            {"parent_job_id": 99999},
            {
                "loc": ["body", "parent_job_id"],
                "msg": "Parent job is invalid.",
                "type": "parent_job.invalid",
                "input": 99999,
                "ctx": {},
            },
        ),
        ({"blocked_by": [1]}, {"type": "not_yet_possible", "loc": ["body", "blocked_by"]}),
        ({"routing_rules": [{"a": 1}]}, {"type": "not_yet_possible", "loc": ["body", "routing_rules"]}),
    ],
)
def test_a_wrong_field_is_refused_once_naming_place_and_bound(board: Board, fields, entry) -> None:
    if entry is None:
        # As everywhere in pydantic's lax mode, true reads as 1: there is no such job.
        entry = {"type": "parent_job.invalid"}
    refused = board.dev.post("/jobs", job_body(**fields))
    assert refused.status_code == 422
    [found] = refused.json()["detail"]
    assert found | entry == found
    if len(entry) == 5:
        assert list(found) == list(entry)
    assert not Job.objects.exists()


def test_an_artifact_has_all_four_keys(board: Board) -> None:
    entries = board.dev.post("/jobs", job_body(artifacts=[{}])).json()["detail"]
    keys = ["type", "uri", "checksum", "metadata_json"]
    assert [entry["loc"] for entry in entries] == [["body", "artifacts", 0, key] for key in keys]


def test_empty_routing_rules_read_back_as_null(board: Board) -> None:
    job_id = board.job(routing_rules=[], blocked_by=[])
    assert board.dev.get(f"/jobs/{job_id}").json()["routing_rules"] is None


def test_labels_are_kept_once_and_without_blanks_around_them(board: Board) -> None:
    job_id = board.job(labels=["web", " web ", "ui"])
    assert board.dev.get(f"/jobs/{job_id}").json()["labels"] == ["web", "ui"]
    for label in ("web", "%20web", "ui"):
        assert len(board.qa.get(f"/jobs?label={label}").json()) == 1
    assert board.qa.get("/jobs?label=web&label=ui").json()[0]["id"] == job_id
    assert board.qa.get("/jobs?label=web&label=other").json() == []


def test_unknown_fields_are_named_and_have_no_effect(board: Board) -> None:
    answer = board.dev.post("/jobs", job_body(urgency=1, status="completed"))
    assert list(answer.json()) == ["job_id", "status", "ignored_fields"]
    assert answer.json()["ignored_fields"] == ["status", "urgency"]
    assert answer.json()["status"] == "published"
    many = board.dev.post("/jobs", job_body(**{f"x{number:04}": 1 for number in range(1000)}))
    named = many.json()["ignored_fields"]
    assert (len(named), named[0], named[-1]) == (51, "x0000", "… and 950 more")


def test_a_person_who_published_is_named_as_the_source(board: Board) -> None:
    job_id = board.job()
    Job.objects.filter(pk=job_id).update(source_agent=None, source_name="pat")
    assert board.dev.get(f"/jobs/{job_id}").json()["source_agent_label"] == "pat"
    assert board.qa.get("/jobs").json()[0]["source_agent_label"] == "pat"


def test_due_and_expiry_read_back_in_utc(board: Board) -> None:
    job_id = board.job(not_before="2030-01-01T02:00:00+02:00", expires_at="2031-01-01T00:00:00.5Z")
    job = board.dev.get(f"/jobs/{job_id}").json()
    assert (job["not_before"], job["expires_at"]) == (
        "2030-01-01T00:00:00.000000Z",
        "2031-01-01T00:00:00.500000Z",
    )
