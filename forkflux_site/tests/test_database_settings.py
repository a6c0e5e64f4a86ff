"""Which database DATABASE_URL means, and how it is spoken to."""

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from forkflux_site import database


def read(monkeypatch: pytest.MonkeyPatch, url: str | None, **variables: str) -> dict[str, Any]:
    if url is None:
        monkeypatch.delenv("DATABASE_URL", raising=False)
    else:
        monkeypatch.setenv("DATABASE_URL", url)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return database.database_from_environment(threads=8)


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+aiosqlite", "SQLite"])
def test_sqlite_urls_name_a_file(scheme: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert read(monkeypatch, f"{scheme}:////var/x/a.db")["NAME"] == "/var/x/a.db"
    assert read(monkeypatch, f"{scheme}:///./sub/a.db")["NAME"] == str(tmp_path / "sub" / "a.db")


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg"])
def test_postgresql_urls_name_server_and_database(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(
        monkeypatch, f"{scheme}://me:p%40ss@db.example:5433/work?sslmode=require&options=-c%20x.y%3D1"
    )
    assert found["ENGINE"] == database.POSTGRESQL
    assert (found["USER"], found["PASSWORD"], found["HOST"], found["PORT"], found["NAME"]) == (
        "me", "p@ss", "db.example", 5433, "work",
    )  # fmt: skip
    assert found["OPTIONS"]["sslmode"] == "require"
    assert found["OPTIONS"]["options"] == (
        "-c lock_timeout=5000 -c idle_in_transaction_session_timeout=30000 -c statement_timeout=30000 -c x.y=1"
    )


def test_asyncpgs_word_for_tls_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(monkeypatch, "postgresql+asyncpg://me@db.example/work?ssl=verify-full")
    assert found["OPTIONS"]["sslmode"] == "verify-full"
    assert "ssl" not in found["OPTIONS"]


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        (
            "mysql://u:s3cret@h/d",
            "begins with 'mysql'; allowed .* sqlite://, postgresql://, sqlite\\+aiosqlite://",
        ),
        ("forkflux.db", "begins with 'no scheme'"),
        ("sqlite://forkflux.db", "too few slashes"),
        ("postgresql://u:s3cret@h:port/d", "cannot be read"),
    ],
)
def test_other_urls_are_refused_without_repeating_a_password(
    url: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"DATABASE_URL .*{complaint}") as raised:
        read(monkeypatch, url)
    assert "s3cret" not in str(raised.value)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The files of the working folder and of the person; neither exists."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return (
        work / ".forkflux" / "forkflux.db",
        tmp_path / "home" / ".local" / "share" / "forkflux" / "forkflux.db",
    )


def make(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.touch()


@pytest.mark.parametrize("url", [None, ""])
def test_without_a_url_it_is_the_folders_file_which_need_not_exist(
    url: str | None, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(monkeypatch, url)["NAME"] == str(places[0])
    assert not places[0].parent.exists(), "reading settings makes nothing"


def test_the_persons_file_counts_when_only_that_exists(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(places[1])
    assert read(monkeypatch, None)["NAME"] == str(places[1])
    make(places[0])
    assert read(monkeypatch, None)["NAME"] == str(places[0])


@pytest.mark.parametrize(
    ("platform", "variable", "below"),
    [
        ("linux", "XDG_DATA_HOME", "data/forkflux/forkflux.db"),
        ("win32", "APPDATA", "data/forkflux/forkflux.db"),
        ("darwin", "HOME", "data/Library/Application Support/forkflux/forkflux.db"),
    ],
)
def test_the_persons_file_is_where_the_platform_keeps_such_data(
    platform: str, variable: str, below: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv(variable, str(tmp_path / "data"))
    assert database.user_file() == tmp_path / below


def test_sqlite_can_be_told_to_survive_a_power_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = read(monkeypatch, "sqlite:////x.db")["OPTIONS"]["init_command"]
    safe = read(monkeypatch, "sqlite:////x.db", FORKFLUX_SQLITE_SYNCHRONOUS="full")["OPTIONS"]["init_command"]
    assert "synchronous=NORMAL" in usual
    assert "synchronous=FULL" in safe


def test_connections_come_from_a_pool_or_last_with_their_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://me@db.example/work"
    pooled = read(monkeypatch, url, FORKFLUX_CONNECTIONS="pool")
    assert pooled["OPTIONS"]["pool"]["max_size"] >= 8
    assert pooled["CONN_MAX_AGE"] == 0
    lasting = read(monkeypatch, url, FORKFLUX_CONNECTIONS="lasting")
    assert "pool" not in lasting["OPTIONS"]
    assert lasting["CONN_MAX_AGE"] is None
