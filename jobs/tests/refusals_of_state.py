"""Requests that are well made and must be refused all the same: who calls, where the job is, whose lease it is."""

from __future__ import annotations

from typing import Any

from jobs.tests.refusals import Refusal, publication

PATH = ["path", "job_id"]
STATUS = ["body", "status"]


def _claim(name: str, code: str, *, who: str = "worker", status: int = 409) -> Refusal:
    place = PATH if status == 409 else None
    return Refusal(
        f"claim of {name} by {who}", f"POST /jobs/{{{name}}}/claim", None, status, code, place, who=who
    )


def _next(id_: str, code: str, *roles: str, status: int = 404, who: str = "worker", **more: Any) -> Refusal:
    body = {"target_role_keys": [f"{{role:{role}}}" for role in roles]} | more
    return Refusal(f"claim-next {id_}", "POST /jobs/claim-next", body, status, code, who=who)


def _to(
    status: str, name: str, code: str, *, who: str = "worker", http: int = 409, note: str = "", **more: Any
) -> Refusal:
    """A change of status through the route that names the wanted one."""
    headers = more.pop("headers", {})
    return Refusal(
        f"{name} to {status} by {who}{note}",
        f"POST /jobs/{{{name}}}/status",
        {"status": status} | more,
        http,
        code,
        STATUS if http == 409 else None,
        who=who,
        headers=headers,
    )


def _verb(
    verb: str, name: str, code: str, *, who: str = "worker", http: int = 409, note: str = "", **more: Any
) -> Refusal:
    headers = more.pop("headers", {})
    return Refusal(
        f"{verb} of {name} by {who}{note}",
        f"POST /jobs/{{{name}}}/{verb}",
        more or None,
        http,
        code,
        PATH if http == 409 else None,
        who=who,
        headers=headers,
    )


def _update(name: str, code: str, *, who: str, http: int = 409, **fields: Any) -> Refusal:
    body = {"constraints": ["changed"]} | fields
    place = PATH if http == 409 else None
    return Refusal(
        f"update of {name} by {who} ({code})", f"PATCH /jobs/{{{name}}}", body, http, code, place, who=who
    )


def _credential(
    id_: str, status: int, code: str | None, *, who: str = "worker", call: str = "POST /jobs", **headers: str
) -> Refusal:
    return Refusal(id_, call, publication(), status, code, who=who, headers=headers)


CREDENTIALS = [
    _credential("no credential", 401, None, Authorization=""),
    _credential("another scheme", 401, None, Authorization="Digest abc"),
    _credential("a bearer without a token", 401, None, Authorization="Bearer "),
    _credential("an unknown token", 401, None, who="unknown"),
    _credential("a revoked token", 401, None, who="revoked"),
    _credential("an expired token", 401, None, who="expired"),
    _credential("basic that is not base64", 401, None, Authorization="Basic ?"),
    _credential("basic with another agent's name", 401, None, Authorization="Basic {other_name}"),
    _credential("publish without its scope", 403, "scope_missing", who="reader"),
    _credential(
        "claim without its scope", 403, "scope_missing", who="reader", call="POST /jobs/{published}/claim"
    ),
    _credential(
        "requeue without its scope", 403, "scope_missing", who="reader", call="POST /jobs/{failed}/requeue"
    ),
    _credential(
        "basic from another site",
        403,
        "cross_origin",
        Authorization="Basic {basic}",
        Origin="https://evil.example",
    ),
    _credential(
        "basic sent by another site's form",
        403,
        "cross_origin",
        Authorization="Basic {basic}",
        **{"Sec-Fetch-Site": "cross-site"},
    ),
]
HEADERS = [
    Refusal(
        "a session of 65",
        "POST /jobs/{held}/heartbeat",
        None,
        422,
        "session.invalid",
        ["header", "X-ForkFlux-Session"],
        headers={"X-ForkFlux-Session": "x" * 65},
    ),
    Refusal(
        "a session with blanks",
        "POST /jobs/{held}/heartbeat",
        None,
        422,
        "session.invalid",
        ["header", "X-ForkFlux-Session"],
        headers={"X-ForkFlux-Session": "my desk"},
    ),
    Refusal(
        "a key of 256",
        "POST /jobs",
        publication(),
        422,
        "idempotency_key.invalid",
        ["header", "Idempotency-Key"],
        headers={"Idempotency-Key": "x" * 256},
    ),
    Refusal(
        "a blank key",
        "POST /jobs",
        publication(),
        422,
        "idempotency_key.invalid",
        ["header", "Idempotency-Key"],
        headers={"Idempotency-Key": " "},
    ),
    Refusal(
        "a key used with another body",
        "POST /jobs",
        publication(),
        422,
        "idempotency_key.reused",
        ["header", "Idempotency-Key"],
        headers={"Idempotency-Key": "used for a job"},
    ),
    Refusal(
        "a claim repeated after it was lost",
        "POST /jobs/{claimed_and_lost}/claim",
        None,
        409,
        "lease_lost",
        PATH,
        headers={"Idempotency-Key": "used for a claim"},
    ),
    Refusal(
        "a refusal under a new key",
        "POST /jobs/{completed}/claim",
        None,
        409,
        "wrong_status",
        PATH,
        headers={"Idempotency-Key": "new"},
    ),
    Refusal(
        "bad input under a new key",
        "POST /jobs",
        {},
        422,
        "missing",
        ["body", "parent_job_id"],
        headers={"Idempotency-Key": "new"},
    ),
]
CLAIMS = [
    _claim("elsewhere", "role_not_held", status=403),
    _claim("published", "role_not_held", status=403, who="source"),
    _claim("held", "already_claimed"),
    _claim("held", "already_claimed", who="stranger"),
    _claim("blocked", "already_claimed"),
    _claim("unblocked", "already_claimed"),
    _claim("taken", "already_claimed"),
    _claim("completed", "wrong_status"),
    _claim("failed", "wrong_status"),
    _claim("cancelled", "wrong_status"),
    _claim("paused", "paused"),
    _claim("on_hold", "on_hold"),
    _claim("not_due", "not_due"),
    _claim("overdue", "expired"),
    _claim("above_limit", "at_capacity"),
    _next("of a role not held", "role_not_held", "other", status=403),
    _next("by an agent without roles", "role_not_held", "main", "other", status=403, who="source"),
    _next("with no job at all", "empty", "empty"),
    _next("with no job of that label", "empty", "main", labels=["no such label"]),
    _next("with a paused role", "paused", "paused"),
    _next("with all on hold", "on_hold", "held_back"),
    _next("with none due", "not_due", "not_due"),
    _next("at the limit", "at_capacity", "limited"),
    _next("with overdue jobs only", "empty", "overdue"),
    _next("of several roles", "at_capacity", "empty", "limited", "other"),
]
STATES = [
    _to("in_progress", "published", "wrong_status", who="stranger"),
    _to("in_progress", "held", "wrong_status"),
    _to("in_progress", "held", "wrong_status", who="stranger"),
    _to("in_progress", "blocked", "not_holder", who="stranger"),
    _to("in_progress", "completed", "wrong_status"),
    _to("in_progress", "cancelled", "cancelled"),
    _to("in_progress", "failed", "not_holder", who="stranger"),
    _to("in_progress", "spent", "retry_budget_used"),
    _to("in_progress", "lost", "lease_lost"),
    _to("completed", "published", "wrong_status", who="stranger"),
    _to("completed", "blocked", "wrong_status"),
    _to("completed", "unblocked", "wrong_status"),
    _to("completed", "completed", "wrong_status"),
    _to("completed", "failed", "wrong_status"),
    _to("completed", "cancelled", "cancelled"),
    _to("completed", "held", "not_holder", who="stranger"),
    _to("completed", "held", "not_holder", who="source"),
    _to("completed", "lost", "lease_lost"),
    _to("completed", "taken", "not_holder"),
    _to("completed", "taken", "lease_lost", note=" with its old lease", lease_generation=1),
    _to("completed", "held", "lease_lost", note=" with an older lease", lease_generation=0),
    _to("completed", "held", "lease_lost", note=" with a lease that never was", lease_generation=9),
    _to(
        "completed",
        "held",
        "lease_lost",
        note=" from another session",
        headers={"X-ForkFlux-Session": "other"},
    ),
    _to("failed", "published", "wrong_status", who="stranger"),
    _to("failed", "completed", "wrong_status"),
    _to("failed", "held", "not_holder", who="source"),
    _to("failed", "lost", "lease_lost", lease_generation=1),
    _to("blocked", "blocked", "wrong_status"),
    _to("blocked", "unblocked", "wrong_status"),
    _to("blocked", "held", "not_holder", who="stranger"),
    _to(
        "blocked", "held", "lease_lost", note=" from another session", headers={"X-ForkFlux-Session": "other"}
    ),
    _to("unblocked", "held", "wrong_status", unblock_reason="red"),
    _to("unblocked", "blocked", "not_source", who="stranger", http=403, unblock_reason="red"),
    _to(
        "unblocked",
        "blocked",
        "lease_lost",
        note=" with an older lease",
        unblock_reason="red",
        lease_generation=0,
    ),
    _to("published", "published", "wrong_status", who="stranger"),
    _to("published", "held", "not_holder", who="stranger"),
    _to("published", "completed", "wrong_status"),
    _to("published", "failed", "not_source", http=403),
    _to("pending", "held", "wrong_status"),
    _to("pending", "published", "wrong_status", who="source"),
    _to("cancelled", "published", "not_source", who="stranger", http=403),
    _to("cancelled", "held", "not_source", who="stranger", http=403),
    _to("cancelled", "completed", "wrong_status", who="source"),
    _to("cancelled", "cancelled", "wrong_status", who="source"),
    _to("cancelled", "lost", "lease_lost"),
    _to("cancelled", "held", "lease_lost", note=" with an older lease", lease_generation=0),
    _verb("heartbeat", "published", "wrong_status", who="stranger"),
    _verb("heartbeat", "held", "not_holder", who="stranger"),
    _verb("heartbeat", "held", "lease_lost", note=" with an older lease", lease_generation=0),
    _verb(
        "heartbeat",
        "held",
        "lease_lost",
        note=" from another session",
        headers={"X-ForkFlux-Session": "other"},
    ),
    _verb("heartbeat", "lost", "lease_lost"),
    _verb("heartbeat", "cancelled", "cancelled"),
    _verb("heartbeat", "completed", "wrong_status"),
    _verb("release", "failed", "wrong_status"),
    _verb("release", "held", "not_holder", who="source"),
    _verb("release", "blocked", "lease_lost", note=" with an older lease", lease_generation=0),
    _verb("requeue", "published", "wrong_status", who="source"),
    _verb("requeue", "held", "wrong_status", who="source"),
    _verb("requeue", "blocked", "wrong_status", who="source"),
    _verb("requeue", "held", "not_source", http=403),
    _verb("requeue", "failed", "not_source", http=403, who="stranger"),
    _verb("requeue", "completed", "wrong_status", who="source"),
    _verb("hold", "published", "not_source", http=403, who="stranger"),
    _verb("hold", "held", "wrong_status", who="source"),
    _verb("hold", "cancelled", "wrong_status", who="source"),
    _verb("unhold", "on_hold", "not_source", http=403),
    _verb("unhold", "held", "wrong_status", who="source"),
    _update("published", "not_source", who="stranger", http=403),
    _update("completed", "wrong_status", who="source"),
    _update("held", "constraints_fixed", who="worker", http=403),
    _update("held", "not_holder", who="source"),
    _update("lost", "lease_lost", who="worker"),
    _update("published", "version_mismatch", who="source", expected_version=2),
    _update("held", "lease_lost", who="worker", context_payload={}, lease_generation=0),
]
