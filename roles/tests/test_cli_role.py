"""`forkflux role`: roles are made and listed at the terminal."""

import json

import pytest

from core.actors import operator
from core.limits import LIMITS
from events.models import Event
from roles.models import Role
from roles.services import pause_role
from testing.command_line import forkflux, refusal
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def test_a_role_is_made_with_its_policy(capsys):
    made = forkflux(
        capsys,
        "role",
        "add",
        "qa",
        "--label",
        "QA",
        "--lease-seconds",
        900,
        "--max-held-per-agent",
        2,
        "--json",
    ).document
    role = Role.objects.get(role_key="qa")
    assert (role.role_label, role.lease_seconds, role.max_held_per_agent) == ("QA", 900, 2)
    assert made["role_key"] == "qa"
    assert made["lease_seconds"] == 900
    assert made["max_held_per_agent"] == 2


def test_what_is_not_said_of_a_role_has_its_default(capsys):
    ended = forkflux(capsys, "role", "add", "docs")
    assert (ended.status, ended.out, ended.err) == (0, "The role docs was made.\n", "")
    role = Role.objects.get(role_key="docs")
    assert (role.role_label, role.lease_seconds, role.max_held_per_agent) == ("docs", 1800, None)


def test_the_trail_names_the_person_at_the_terminal(capsys, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "pat")
    forkflux(capsys, "role", "add", "named")
    role = Role.objects.get(role_key="named")
    event = Event.objects.get(stream=f"role:{role.pk}")
    assert (event.actor_kind, event.actor_name) == ("person", "pat")


def test_a_role_that_exists_is_refused_and_stays_as_it_is(capsys):
    forkflux(capsys, "role", "add", "twice", "--lease-seconds", 60)
    assert "twice" in refusal(forkflux(capsys, "role", "add", "twice", "--lease-seconds", 90))
    assert Role.objects.get(role_key="twice").lease_seconds == 60


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ((" ",), "KEY"),
        (("k" * 256,), "KEY"),
        (("bad", "--label", ""), "--label"),
        (("bad", "--lease-seconds", LIMITS.lease_seconds_min - 1), "--lease-seconds"),
        (("bad", "--lease-seconds", LIMITS.lease_seconds_max + 1), "--lease-seconds"),
        (("bad", "--lease-seconds", 10**30), "--lease-seconds"),
        (("bad", "--max-held-per-agent", 0), "--max-held-per-agent"),
        (("bad", "--max-held-per-agent", 2**31), "--max-held-per-agent"),
    ],
    ids=[
        "blank",
        "long key",
        "empty label",
        "short lease",
        "long lease",
        "huge",
        "none held",
        "too many held",
    ],
)
def test_a_value_out_of_bounds_is_refused_by_the_name_of_its_option(capsys, arguments, option):
    before = Role.objects.count()
    assert option in refusal(forkflux(capsys, "role", "add", *arguments))
    assert Role.objects.count() == before


def test_every_wrong_value_is_named_at_once(capsys):
    said = refusal(forkflux(capsys, "role", "add", " ", "--lease-seconds", 0, "--max-held-per-agent", 0))
    assert "KEY: " in said
    assert "--lease-seconds: " in said
    assert "--max-held-per-agent: " in said


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("remove", "x"),
        ("add",),
        ("add", "x", "--lease-seconds", "long"),
        ("list", "x"),
        ("add", "x", "--what"),
    ],
    ids=["no action", "unknown action", "no key", "no number", "surplus", "unknown option"],
)
def test_wrong_usage_is_told_on_stderr_with_status_2(capsys, arguments):
    ended = forkflux(capsys, "role", *arguments)
    assert ended.status == 2
    assert ended.out == ""
    assert "usage: forkflux role" in ended.err


def test_bytes_that_are_no_text_are_refused(capsys):
    assert r"\udcff" in refusal(forkflux(capsys, "role", "add", "caf\udcff"))


def test_the_list_shows_active_roles_in_the_order_of_their_keys(capsys):
    for key in ("list-b", "list-a"):
        forkflux(capsys, "role", "add", key, "--max-held-per-agent", 3)
    pause_role(actor=operator("pat"), role_key="list-b", reason="audit")
    forkflux(capsys, "role", "add", "list-gone")
    Role.objects.filter(role_key="list-gone").update(is_deleted=True)

    listed = [
        role for role in forkflux(capsys, "role", "list", "--json").document if "list-" in role["role_key"]
    ]
    assert [role["role_key"] for role in listed] == ["list-a", "list-b"]
    assert listed[0]["paused_at"] is None
    assert listed[1]["pause_reason"] == "audit"

    rows = [row for row in forkflux(capsys, "role", "list").rows if row[0].startswith("list-")]
    assert rows == [
        ["list-a", "list-a", "1800", "3", "no", "open for work"],
        ["list-b", "list-b", "1800", "3", "no", "paused"],
    ]


def test_without_roles_the_list_says_how_to_make_one(capsys):
    Role.objects.update(is_deleted=True)
    assert "forkflux role add" in forkflux(capsys, "role", "list").out
    assert json.loads(forkflux(capsys, "role", "list", "--json").out) == []
