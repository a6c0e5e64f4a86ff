"""A variable with a bad value stops the start and says what is allowed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from core import env
from core.limits import limits_from_environment

READERS: dict[str, Callable[[], Any]] = {
    "integer": lambda: env.integer("THING", 5, low=1, high=10),
    "seconds": lambda: env.seconds("THING", 5, low=0.5, high=10),
    "boolean": lambda: env.boolean("THING", default=True),
    "choice": lambda: env.choice("THING", "Full", ("Full", "Normal")),
    "items": lambda: env.items("THING", ("a", "b")),
    "text": lambda: env.text("THING", "x"),
    "secret": lambda: env.secret("THING"),
}
DEFAULTS = {
    "integer": 5, "seconds": 5, "boolean": True, "choice": "Full", "items": ["a", "b"], "text": "x", "secret": None,
}  # fmt: skip


@pytest.mark.parametrize("written", [None, "", "  "], ids=["unset", "empty", "blank"])
@pytest.mark.parametrize("reader", READERS)
def test_an_unset_or_empty_variable_is_the_default(
    reader: str, written: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THING", raising=False)
    if written is not None:
        monkeypatch.setenv("THING", written)
    assert READERS[reader]() == DEFAULTS[reader]


@pytest.mark.parametrize(
    ("reader", "written", "read"),
    [
        ("integer", " 7 ", 7),
        ("integer", "10", 10),
        ("seconds", "0.5", 0.5),
        ("boolean", "YES", True),
        ("boolean", "off", False),
        ("choice", "normal", "Normal"),
        ("items", " one, two,, ", ["one", "two"]),
        ("text", " y ", "y"),
        ("secret", "hush", "hush"),
    ],
)
def test_a_good_value_is_read(reader: str, written: str, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THING", written)
    assert READERS[reader]() == read


@pytest.mark.parametrize(
    ("reader", "written", "allowed"),
    [
        ("integer", "0", "from 1 to 10"),
        ("integer", "11", "from 1 to 10"),
        ("integer", "many", "from 1 to 10"),
        ("integer", "1.5", "from 1 to 10"),
        ("seconds", "0.4", "from 0.5 to 10"),
        ("seconds", "nan", "from 0.5 to 10"),
        ("seconds", "inf", "from 0.5 to 10"),
        ("seconds", "soon", "from 0.5 to 10"),
        ("boolean", "maybe", "true or false"),
        ("choice", "half", "Full, Normal"),
    ],
)
def test_a_bad_value_names_the_variable_and_what_is_allowed(
    reader: str, written: str, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THING", written)
    with pytest.raises(
        ImproperlyConfigured, match=f"THING is '{re.escape(written)}'; allowed is .*{allowed}"
    ):
        READERS[reader]()


def test_a_secret_may_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text("from the file\n")
    monkeypatch.delenv("THING", raising=False)
    monkeypatch.setenv("THING_FILE", str(file))
    assert env.secret("THING") == "from the file"


@pytest.mark.parametrize(
    ("content", "complaint"), [(None, "cannot be read"), (b"\n", "is empty"), (b"\xff", "cannot be read")]
)
def test_a_secret_file_that_is_of_no_use_is_named(
    content: bytes | None, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.delenv("THING", raising=False)
    monkeypatch.setenv("THING_FILE", str(file))
    with pytest.raises(ImproperlyConfigured, match=f"THING_FILE is .*{complaint}"):
        env.secret("THING")


def test_a_secret_given_in_two_ways_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THING", "a")
    monkeypatch.setenv("THING_FILE", "/dev/null")
    with pytest.raises(ImproperlyConfigured, match="THING and THING_FILE are both set"):
        env.secret("THING")


def test_every_bound_is_a_variable_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKFLUX_SUMMARY_MAX", "200")
    monkeypatch.setenv("FORKFLUX_SWEEP_SECONDS", "0.25")
    limits = limits_from_environment()
    assert (limits.summary_max, limits.sweep_seconds) == (200, 0.25)


def test_lease_bounds_that_cross_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKFLUX_LEASE_SECONDS_MIN", "100")
    monkeypatch.setenv("FORKFLUX_LEASE_SECONDS_MAX", "99")
    with pytest.raises(ImproperlyConfigured, match="FORKFLUX_LEASE_SECONDS_MIN is 100, above"):
        limits_from_environment()
