"""Where the secret key comes from, and that nobody ever runs with half a key."""

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from forkflux_site import secret

GIVEN = "x" * 40


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a database that does not exist yet; no key is given from outside."""
    monkeypatch.delenv("SECRET_KEY", raising=False)
    return tmp_path / "forkflux.db"


def test_a_given_key_counts_and_is_not_written_down(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.touch()
    monkeypatch.setenv("SECRET_KEY", GIVEN)
    assert secret.secret_key(file, required=False) == GIVEN
    assert not secret.path_beside(file).exists()


def test_a_short_key_is_refused_with_how_to_make_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "short")
    with pytest.raises(
        ImproperlyConfigured, match=r"has 5 characters; allowed are 32 or more.*token_urlsafe"
    ):
        secret.secret_key(file, required=False)


def test_before_there_is_a_database_nothing_is_written(file: Path) -> None:
    first, second = (secret.secret_key(file, required=False) for _ in range(2))
    assert first != second
    assert list(file.parent.iterdir()) == []


def test_beside_a_database_the_key_is_made_once_and_only_its_owner_may_read_it(file: Path) -> None:
    file.touch()
    key = secret.secret_key(file, required=False)
    path = secret.path_beside(file)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret.secret_key(file, required=False) == key
    assert {entry.name for entry in file.parent.iterdir()} == {"forkflux.db", "secret_key"}


def test_many_that_start_at_once_have_one_key(file: Path, rounds) -> None:
    starters = 16
    for _ in range(rounds(5, 100)):
        barrier = threading.Barrier(starters)

        def start(barrier: threading.Barrier = barrier) -> str:
            barrier.wait()
            return secret.kept_key(file)

        with ThreadPoolExecutor(starters) as pool:
            keys = {future.result() for future in [pool.submit(start) for _ in range(starters)]}
        assert len(keys) == 1
        assert [entry.name for entry in file.parent.iterdir()] == ["secret_key"]
        secret.path_beside(file).unlink()


def test_a_file_system_without_hard_links_will_do(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("os.link", refuse)
    key = secret.kept_key(file)
    assert secret.kept_key(file) == key
    assert stat.S_IMODE(secret.path_beside(file).stat().st_mode) == 0o600


def test_a_key_file_that_is_of_no_use_is_named(file: Path) -> None:
    path = secret.path_beside(file)
    path.write_text("short")
    with pytest.raises(ImproperlyConfigured, match=f"{path} holds 5 characters"):
        secret.kept_key(file)
    path.unlink()
    path.mkdir()
    with pytest.raises(ImproperlyConfigured, match=f"{path} cannot be used"):
        secret.kept_key(file)


def test_with_postgresql_the_key_must_be_given(file: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"SECRET_KEY is not set.*SECRET_KEY_FILE.*token_urlsafe"):
        secret.secret_key(None, required=True)
