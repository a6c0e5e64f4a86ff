"""Requests that are wrong in themselves: credential, header, id, query, body."""

from __future__ import annotations

import json
from typing import Any

from jobs.tests.refusals import Refusal, artifact, publication

MIB = 1024 * 1024


def _publishing(id_: str, body: Any, code: str | None, *loc: str | int, **more: Any) -> Refusal:
    status = more.pop("status", 422)
    place = ["body", *loc] if status == 422 else None
    return Refusal(f"publish {id_}", "POST /jobs", body, status, code, place, **more)


def _nested(levels: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    found: dict[str, Any] = value
    return found


def _raw(field: str, literal: str) -> bytes:
    """The body with a literal in the place of a field's value that json.dumps would not write."""
    return json.dumps(publication(**{field: "LITERAL"})).replace('"LITERAL"', literal).encode()


BODIES = [
    _publishing("without a body", None, "missing"),
    _publishing("blanks only", b"  \n ", "missing"),
    _publishing("a broken body", b"{", "json_invalid", 1),
    _publishing("half a body", b'{"summary": "x", "priority"', "json_invalid", 27),
    _publishing("text that is not JSON", b"hello", "json_invalid", 0, content_type="text/plain"),
    _publishing("a form", b"summary=x", "json_invalid", 0, content_type="application/x-www-form-urlencoded"),
    _publishing("a character cut in two", b'{"summary": "\xc3', "json_invalid", 13),
    _publishing("Latin-1", '{"summary": "Prüfung"}'.encode("latin-1"), "json_invalid", 15),
    _publishing("UTF-16", '{"summary": "x"}'.encode("utf-16"), "json_invalid", 0),
    _publishing("a list", [], "model_attributes_type"),
    _publishing("a string", "job", "model_attributes_type"),
    _publishing("null", b"null", "model_attributes_type"),
    _publishing("nothing that is required", {}, "missing", "parent_job_id"),
    _publishing("no priority", publication(priority=...), "missing", "priority"),
    _publishing("more than 4 MiB", b" " * (4 * MIB + 1), None, status=413),
    _publishing("a broken body above 4 MiB", b"{" * (4 * MIB + 1), None, status=413),
]
POISON = [
    _publishing("NUL in the summary", publication(summary="a\0b"), "string_nul", "summary"),
    _publishing("NUL in a key", publication(context_payload={"a\0": 1}), "string_nul", "context_payload"),
    _publishing("NUL in a field unknown here", publication(extra="\0"), "string_nul", "extra"),
    _publishing("a lone surrogate", _raw("summary", r'"\ud800"'), "string_unicode", "summary"),
    _publishing("a surrogate in a label", _raw("labels", r'["\udfff"]'), "string_unicode", "labels", 0),
    _publishing("NaN", _raw("context_payload", '{"a":NaN}'), "finite_number", "context_payload", "a"),
    _publishing(
        "infinity", _raw("context_payload", '{"a":-Infinity}'), "finite_number", "context_payload", "a"
    ),
    _publishing("1e999", _raw("context_payload", '{"a":1e999}'), "finite_number", "context_payload", "a"),
    _publishing("2**63", _raw("context_payload", f'{{"a":{2**63}}}'), "int_64_bit", "context_payload", "a"),
    _publishing(
        "-2**63-1", _raw("context_payload", f'{{"a":{-(2**63) - 1}}}'), "int_64_bit", "context_payload", "a"
    ),
    _publishing("5,000 digits", _raw("priority", "9" * 5_000), "int_64_bit", "priority"),
    _publishing("65 levels", publication(context_payload=_nested(65)), "json_depth", "context_payload"),
    _publishing("100,000 levels", b"[" * 100_000, "json_depth"),
]
FIELDS = [
    _publishing("a blank summary", publication(summary=" \t"), "string_blank", "summary"),
    _publishing("an empty summary", publication(summary=""), "string_too_short", "summary"),
    _publishing("a summary of 501", publication(summary="x" * 501), "string_too_long", "summary"),
    _publishing("a number as summary", publication(summary=7), "string_type", "summary"),
    _publishing("a list as context", publication(context_payload=[]), "dict_type", "context_payload"),
    _publishing(
        "a context of 1 MiB and a byte",
        publication(context_payload={"a": "x" * (MIB - 7)}),
        "json_too_large",
        "context_payload",
    ),
    _publishing("priority 25", publication(priority=25), "enum", "priority"),
    _publishing("priority true", publication(priority=True), "enum", "priority"),
    _publishing("a blank constraint", publication(constraints=["ok", " "]), "string_blank", "constraints", 1),
    _publishing(
        "a constraint of 4,001", publication(constraints=["x" * 4_001]), "string_too_long", "constraints", 0
    ),
    _publishing("101 constraints", publication(constraints=["x"] * 101), "too_long", "constraints"),
    _publishing("51 artifacts", publication(artifacts=[artifact()] * 51), "too_long", "artifacts"),
    _publishing(
        "an artifact without a checksum",
        publication(artifacts=[{"type": "f", "uri": "u", "metadata_json": {}}]),
        "missing",
        "artifacts",
        0,
        "checksum",
    ),
    _publishing(
        "a URI of 2,001",
        publication(artifacts=[artifact(uri="x" * 2_001)]),
        "string_too_long",
        "artifacts",
        0,
        "uri",
    ),
    _publishing(
        "metadata above 64 KiB",
        publication(artifacts=[artifact(metadata_json={"a": "x" * 65_536})]),
        "json_too_large",
        "artifacts",
        0,
        "metadata_json",
    ),
    _publishing("21 labels", publication(labels=[str(n) for n in range(21)]), "too_long", "labels"),
    _publishing("a label of 65", publication(labels=["x" * 65]), "string_too_long", "labels", 0),
    _publishing("a blank label", publication(labels=[" "]), "string_blank", "labels", 0),
    _publishing("21 retries", publication(max_retries=21), "less_than_equal", "max_retries"),
    _publishing("retries below zero", publication(max_retries=-1), "greater_than_equal", "max_retries"),
    _publishing("on_hold in words", publication(on_hold="yes"), "bool_type", "on_hold"),
    _publishing(
        "a time without a zone", publication(not_before="2030-01-01T00:00:00"), "timezone_aware", "not_before"
    ),
    _publishing(
        "a time in words", publication(not_before="tomorrow"), "datetime_from_date_parsing", "not_before"
    ),
    _publishing(
        "a time in the year 9999",
        publication(not_before="9999-12-31T23:59:59Z"),
        "datetime_range",
        "not_before",
    ),
    _publishing(
        "an end before the beginning",
        publication(not_before="2030-01-02T00:00:00Z", expires_at="2030-01-01T00:00:00Z"),
        "value_error",
    ),
    _publishing(
        "an end that has passed", publication(expires_at="2020-01-01T00:00:00Z"), "value_error", "expires_at"
    ),
    _publishing("101 blockers", publication(blocked_by=list(range(101))), "too_long", "blocked_by"),
    _publishing("11 routing rules", publication(routing_rules=[{}] * 11), "too_long", "routing_rules"),
    _publishing(
        "to no role", publication(target_role_key="nobody's"), "target_role.invalid", "target_role_key"
    ),
    _publishing("under no parent", publication(parent_job_id=10**9), "parent_job.invalid", "parent_job_id"),
    _publishing("a parent beyond 64 bits", _raw("parent_job_id", str(2**63)), "int_64_bit", "parent_job_id"),
    _publishing("with blockers", publication(blocked_by=[1]), "not_yet_possible", "blocked_by"),
    _publishing(
        "with routing rules",
        publication(routing_rules=[{"target_role_key": "x"}]),
        "not_yet_possible",
        "routing_rules",
    ),
]


def _form(id_: str, call: str, body: Any, code: str, *loc: str | int, **more: Any) -> Refusal:
    return Refusal(id_, call, body, 422, code, list(loc), **more)


STATUS = "POST /jobs/{held}/status"
OTHER_BODIES = [
    _form(
        "claim with a lease of 29 s",
        "POST /jobs/{published}/claim",
        {"lease_seconds": 29},
        "greater_than_equal",
        "body",
        "lease_seconds",
    ),
    _form(
        "claim with a lease of 86,401 s",
        "POST /jobs/{published}/claim",
        {"lease_seconds": 86_401},
        "less_than_equal",
        "body",
        "lease_seconds",
    ),
    _form("claim with a list", "POST /jobs/{published}/claim", [], "model_attributes_type", "body"),
    _form("claim with a broken body", "POST /jobs/{published}/claim", b"{]", "json_invalid", "body", 1),
    _form("claim-next without a role", "POST /jobs/claim-next", {}, "value_error", "body"),
    _form("claim-next without a body", "POST /jobs/claim-next", None, "missing", "body"),
    _form(
        "claim-next of no roles",
        "POST /jobs/claim-next",
        {"target_role_keys": []},
        "too_short",
        "body",
        "target_role_keys",
    ),
    _form(
        "claim-next of a role that is none",
        "POST /jobs/claim-next",
        {"target_role_key": "nobody's"},
        "target_role.invalid",
        "body",
        "target_role_key",
    ),
    _form("status without one", STATUS, {}, "missing", "body", "status"),
    _form("status that is none", STATUS, {"status": "done"}, "enum", "body", "status"),
    _form(
        "unblocked without a reason",
        "POST /jobs/{blocked}/status",
        {"status": "unblocked"},
        "value_error",
        "body",
    ),
    _form(
        "unblocked with a blank reason",
        "POST /jobs/{blocked}/status",
        {"status": "unblocked", "unblock_reason": " "},
        "value_error",
        "body",
    ),
    _form(
        "a failure reason of 20,001",
        STATUS,
        {"status": "failed", "failure_reason": "x" * 20_001},
        "string_too_long",
        "body",
        "failure_reason",
    ),
    _form(
        "a result summary of 20,001",
        STATUS,
        {"status": "completed", "result_summary": "x" * 20_001},
        "string_too_long",
        "body",
        "result_summary",
    ),
    _form(
        "a result above 1 MiB",
        STATUS,
        {"status": "completed", "result": "x" * MIB},
        "json_too_large",
        "body",
        "result",
    ),
    _form(
        "NUL in a result",
        STATUS,
        {"status": "completed", "result": ["\0"]},
        "string_nul",
        "body",
        "result",
        0,
    ),
    _form(
        "a generation below zero",
        STATUS,
        {"status": "completed", "lease_generation": -1},
        "greater_than_equal",
        "body",
        "lease_generation",
    ),
    _form(
        "101 percent",
        "POST /jobs/{held}/heartbeat",
        {"progress_percent": 101},
        "less_than_equal",
        "body",
        "progress_percent",
    ),
    _form(
        "a note of 2,001",
        "POST /jobs/{held}/heartbeat",
        {"note": "x" * 2_001},
        "string_too_long",
        "body",
        "note",
    ),
    _form(
        "release with a reason of 20,001",
        "POST /jobs/{held}/release",
        {"reason": "x" * 20_001},
        "string_too_long",
        "body",
        "reason",
    ),
    _form("update of nothing", "PATCH /jobs/{published}", {}, "value_error", "body", who="source"),
    _form(
        "update to a list",
        "PATCH /jobs/{published}",
        {"context_payload": []},
        "dict_type",
        "body",
        "context_payload",
        who="source",
    ),
    _form(
        "update to 1 MiB and a byte",
        "PATCH /jobs/{published}",
        {"context_payload": {"a": "x" * (MIB - 7)}},
        "json_too_large",
        "body",
        "context_payload",
        who="source",
    ),
    _form(
        "update from version 0",
        "PATCH /jobs/{published}",
        {"constraints": [], "expected_version": 0},
        "greater_than_equal",
        "body",
        "expected_version",
        who="source",
    ),
    _form(
        "a state that an agent cannot be in",
        "POST /agents/me/heartbeat",
        {"state": "asleep"},
        "literal_error",
        "body",
        "state",
    ),
]
IDS_AND_QUERIES = [
    _form("a job named in letters", "POST /jobs/abc/claim", None, "int_parsing", "path", "job_id"),
    _form("a job beyond 64 bits", f"POST /jobs/{2**63}/claim", None, "int_parsing_size", "path", "job_id"),
    Refusal("a job that is none, claimed", "POST /jobs/1000000000/claim", None, 404),
    Refusal("a job that is none, completed", "POST /jobs/1000000000/status", {"status": "completed"}, 404),
    Refusal("a job of a negative id", "POST /jobs/-1/heartbeat", None, 404),
    Refusal("a job that is none, updated", "PATCH /jobs/1000000000", {"constraints": []}, 404),
    Refusal("a job that is none, read", "GET /jobs/1000000000", None, 404),
    Refusal("a route that is none", "POST /jobs/{held}/finish", None, 404),
    Refusal("a method that is none", "DELETE /jobs/{held}", None, 405),
    _form("a list of no jobs", "GET /jobs?limit=0", None, "greater_than_equal", "query", "limit"),
    _form("a list of 201 jobs", "GET /jobs?limit=201", None, "less_than_equal", "query", "limit"),
    _form(
        "a list from before the first", "GET /jobs?offset=-1", None, "greater_than_equal", "query", "offset"
    ),
    _form("a list by a status that is none", "GET /jobs?status=done", None, "enum", "query", "status", 0),
    _form(
        "a list by a role that is none",
        "GET /jobs?target_role_key=nobody%27s",
        None,
        "target_role.invalid",
        "query",
        "target_role_key",
    ),
    _form("a cursor made up", "GET /jobs?cursor=abc", None, "cursor.invalid", "query", "cursor"),
    _form("cursor and offset", "GET /jobs?cursor=abc&offset=1", None, "value_error", "query"),
    _form("NUL in a query", "GET /jobs?label=%00", None, "string_nul", "query", "label", 0),
    _form(
        "a trail of 501 events",
        "GET /jobs/{held}/events?limit=501",
        None,
        "less_than_equal",
        "query",
        "limit",
    ),
]
