"""Secrets are compared as hashes or in constant time, and what people and agents send is never told again."""

from __future__ import annotations

import ast
import hashlib
import logging
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core.api.passwords import VERIFIED, VerifiedPasswords
from core.api.refusals import KEYS_MOST, RefusalCounter
from testing.installation import ROOT
from testing.people import PASSWORD, UI, member, operator
from testing.secrets_watch import remember, rows_with_secrets
from testing.wire import NOBODY, Board, Caller, basic_headers, bearer, job_body

pytestmark = pytest.mark.django_db

NAMED_SECRET = ("secret", "token", "password", "shared", "credential")
NOT_SECRET = ("token_hash", "token_id", "token_state", "is_", "has_", "prefix", "_key", "tokens")
MARK = "payload-mark-c4a1"


def comparisons(path: Path) -> list[str]:
    """Where a value that is called a secret is compared by its text."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Compare):
            continue
        if not any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops):
            continue
        for side in [node.left, *node.comparators]:
            name = (
                side.id
                if isinstance(side, ast.Name)
                else side.attr
                if isinstance(side, ast.Attribute)
                else ""
            )
            lowered = name.lower()
            if any(word in lowered for word in NAMED_SECRET) and not any(
                word in lowered for word in NOT_SECRET
            ):
                found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    return found


def test_no_secret_is_compared_by_its_text(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text("def check(token, shared):\n    return token == shared\n")
    assert len(comparisons(planted)) == 2
    paths = [
        path
        for room in ("core", "agents", "forkflux_site")
        for path in (ROOT / room).rglob("*.py")
        if "tests" not in path.parts and "migrations" not in path.parts
    ]
    assert len(paths) > 50
    assert [line for path in paths for line in comparisons(path)] == []


def test_the_database_is_asked_for_the_hash_and_never_for_the_token():
    board = Board()
    with CaptureQueriesContext(connection) as captured:
        assert board.dev.get("/agents/me").status_code == 200
    asked = "\n".join(query["sql"] for query in captured.captured_queries)
    assert hashlib.sha256(board.dev.token.encode()).hexdigest() in asked
    assert board.dev.token not in asked


def test_what_is_refused_is_told_nowhere(caplog, settings):
    caplog.set_level(logging.DEBUG)
    settings.SHARED_API_KEY = remember("a-shared-key-that-guards-the-roles")
    board, lead = Board(), operator()
    wrong = remember("wrong-password-of-anna")
    spoilt = job_body(context_payload={"note": MARK}, summary="\x00")
    too_deep = job_body(context_payload={"a": {MARK: "x" * 2_000_000}})
    calls = [
        (NOBODY, "POST", "/jobs", spoilt),
        (bearer(board.dev.token[:-1]), "GET", "/jobs", None),
        (Caller(basic_headers("anna", wrong), "anna"), "GET", f"{UI}/jobs", None),
        (Caller(basic_headers("dev-agent", wrong), "dev-agent"), "GET", "/jobs", None),
        (board.dev, "GET", f"{UI}/jobs", None),
        (board.dev, "POST", "/jobs", spoilt),
        (board.dev, "POST", "/jobs", too_deep),
        (board.dev, "POST", "/jobs", job_body(context_payload=[MARK])),
        (board.dev, "POST", "/jobs", job_body(constraints=[MARK, 7])),
        (lead, "POST", f"{UI}/jobs", job_body(target_role_key="none-such", context_payload={"note": MARK})),
        (bearer(settings.SHARED_API_KEY), "GET", "/jobs", None),
    ]
    for caller, method, path, body in calls:
        answer = caller.call(method, path, body)
        assert 400 <= answer.status_code < 500, (path, answer.status_code)
        assert MARK not in answer.content.decode()
        assert wrong not in answer.content.decode()
    told = "\n".join([caplog.text, *(str(vars(record)) for record in caplog.records)])
    assert MARK not in told
    assert rows_with_secrets() == []
    stored = User.objects.get(username="anna").password
    assert PASSWORD not in stored


def test_a_password_that_was_right_is_asked_for_again_when_anything_changed():
    user = member("pia", "operators")
    user.set_password(remember("the-password-of-pia"))
    user.save()
    known = VerifiedPasswords()
    known.remember("pia", "the-password-of-pia", user)
    assert known.user("pia", "the-password-of-pia") == user
    assert known.user("pia", "another") is None
    assert known.user("pi", "athe-password-of-pia") is None
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert known.user("pia", "the-password-of-pia") is None
    User.objects.filter(pk=user.pk).update(is_active=True, password="another hash")
    assert known.user("pia", "the-password-of-pia") is None
    for number in range(1_200):
        known.remember(f"user {number}", "x", user)
    assert len(known._known) == 1_000


def test_a_password_is_hashed_once_and_lost_rights_bite_with_the_next_call(monkeypatch):
    user = member("pam", "viewers")
    user.set_password(remember("the-password-of-pam"))
    user.save()
    caller = Caller(basic_headers("pam", "the-password-of-pam"), "pam")
    hashed = []
    check = User.check_password

    def noted(self: User, raw: str) -> bool:
        hashed.append(raw)
        return check(self, raw)

    monkeypatch.setattr(User, "check_password", noted)
    assert [caller.get(f"{UI}/jobs").status_code for _ in range(3)] == [200, 200, 200]
    assert len(hashed) == 1
    user.groups.clear()
    assert caller.get(f"{UI}/jobs").status_code == 403
    User.objects.filter(pk=user.pk).update(is_staff=False)
    assert caller.get(f"{UI}/jobs").json()["code"] == "not_staff"
    user.set_password(remember("a-new-password-of-pam"))
    User.objects.filter(pk=user.pk).update(password=user.password)
    assert caller.get(f"{UI}/jobs").status_code == 401
    VERIFIED._known.clear()


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_refusals_are_counted_for_a_while_and_in_bounded_memory(settings):
    settings.FORKFLUX_REFUSALS_MAX, settings.FORKFLUX_REFUSALS_SECONDS = 3, 60
    clock = Clock()
    counter = RefusalCounter(clock=clock)
    here, other = ("address", "192.0.2.1"), ("name", "anna")
    assert counter.wait_seconds(here) == 0
    for _ in range(3):
        counter.refused(here)
    clock.now += 20
    assert counter.wait_seconds(here) == 40
    assert counter.wait_seconds(other) == 0
    assert counter.wait_seconds(other, here) == 40
    clock.now += 41
    assert counter.wait_seconds(here) == 0
    assert counter.refused(here) == 1
    for number in range(KEYS_MOST + 500):
        counter.refused(("name", str(number)))
    assert len(counter._windows) == KEYS_MOST


def test_whoever_guesses_is_told_to_wait_and_a_valid_token_still_works(settings):
    settings.FORKFLUX_REFUSALS_MAX = 4
    board = Board()
    statuses = [bearer(f"guess-{number}").get("/agents/me").status_code for number in range(6)]
    assert statuses == [401, 401, 401, 401, 429, 429]
    refused = bearer("one-more").get("/agents/me")
    assert (refused.json()["code"], int(refused["Retry-After"]) > 0) == ("too_many_refused", True)
    assert board.dev.get("/agents/me").status_code == 200


def test_beyond_the_limit_no_password_is_hashed_any_more(settings, monkeypatch):
    settings.FORKFLUX_REFUSALS_MAX = 2
    member("pam", "viewers")
    asked = []
    monkeypatch.setattr("core.api.passwords.authenticate", lambda *args, **given: asked.append(1))
    guess = Caller(basic_headers("pam", "guess"), "pam")
    assert [guess.get(f"{UI}/jobs").status_code for _ in range(4)] == [401, 401, 429, 429]
    assert len(asked) == 2


def test_the_sign_in_closes_for_a_name_that_was_wrong_too_often(settings):
    settings.AXES_FAILURE_LIMIT = 3
    for name in ("ada", "eve"):
        user = member(name, "operators")
        user.set_password(remember("the-right-password"))
        user.save()
    client = Client(SERVER_NAME="localhost")

    def sign_in(name: str, password: str) -> int:
        status: int = client.post("/admin/login/", {"username": name, "password": password}).status_code
        return status

    assert [sign_in("ada", "wrong") for _ in range(3)] == [200, 200, 429]
    assert sign_in("ada", "the-right-password") == 429
    assert sign_in("eve", "the-right-password") == 302
    assert rows_with_secrets() == []
