"""Settings that do not fit together are said, with what to do."""

from pathlib import Path
from typing import Any

import pytest

from forkflux_site.checks import check_secret_key_file, hosting_problems, is_loopback

FITTING: dict[str, Any] = {
    "host": "127.0.0.1",
    "allowed_hosts": ["localhost", "127.0.0.1", "[::1]"],
    "trusted_origins": [],
    "debug": False,
}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
def test_loopback_is_recognised(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "*", "example.org", "192.0.2.7", ""])  # noqa: S104
def test_other_addresses_are_not_taken_for_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("change", "ids"),
    [
        ({}, []),
        ({"debug": True}, []),
        ({"host": "0.0.0.0"}, ["forkflux.W001"]),  # noqa: S104 - the warning is about it
        ({"host": "0.0.0.0", "debug": True}, ["forkflux.W001", "forkflux.E001"]),  # noqa: S104 - as above
        ({"allowed_hosts": ["bus.example.org"]}, ["forkflux.W002"]),
        ({"allowed_hosts": ["bus.example.org"], "trusted_origins": ["https://bus.example.org"]}, []),
        ({"allowed_hosts": ["*"], "trusted_origins": ["http://x"], "debug": True}, ["forkflux.E001"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_with_a_hint(change: dict[str, Any], ids: list[str]) -> None:
    problems = hosting_problems(**{**FITTING, **change})
    assert [problem.id for problem in problems] == ids
    assert all(problem.hint for problem in problems)


def test_the_hint_names_the_host_that_lacks_an_origin() -> None:
    (problem,) = hosting_problems(**{**FITTING, "allowed_hosts": ["localhost", ".example.org"]})
    assert "CSRF_TRUSTED_ORIGINS=https://example.org" in str(problem.hint)


@pytest.mark.parametrize(("mode", "ids"), [(0o600, []), (0o400, []), (0o640, ["forkflux.W003"])])
def test_a_key_that_others_can_read_is_a_warning(
    mode: int, ids: list[str], tmp_path: Path, settings: Any
) -> None:
    settings.SQLITE_FILE = tmp_path / "forkflux.db"
    (tmp_path / "secret_key").touch(mode=0o600)
    (tmp_path / "secret_key").chmod(mode)
    assert [problem.id for problem in check_secret_key_file()] == ids


def test_no_key_file_is_no_problem(tmp_path: Path, settings: Any) -> None:
    settings.SQLITE_FILE = tmp_path / "forkflux.db"
    assert check_secret_key_file() == []
    settings.SQLITE_FILE = None
    assert check_secret_key_file() == []
