"""What every test run has: a database of the asked kind, rounds, and fixtures for real servers.

Loaded by `-p` in pyproject.toml, because DATABASE_URL must stand before Django's settings are read, and that
is before the first conftest.py.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import hypothesis
import pytest

from testing import secrets_watch
from testing.installation import TEST_SECRET, Installation, Server, clean_environment
from testing.postgres import PostgresServer, PostgresUnavailable, running_server

DatabaseKind = Literal["sqlite", "postgresql"]
KINDS: tuple[DatabaseKind, ...] = ("sqlite", "postgresql")

_SQLITE = "sqlite:///"
_resources = pytest.StashKey[contextlib.ExitStack]()
_server = pytest.StashKey[PostgresServer]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--db",
        choices=KINDS,
        default=os.environ.get("TEST_DB", "sqlite"),
        help="the database of the tests that run in this process (default: TEST_DB, else sqlite)",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    early_config.stash[_resources] = contextlib.ExitStack()
    # A busy machine is no fault of the code under test; pytest-timeout bounds the whole test.
    hypothesis.settings.register_profile("house", deadline=None, print_blob=True)
    hypothesis.settings.load_profile("house")
    clean_environment()
    os.environ["SECRET_KEY"] = TEST_SECRET
    options = early_config.known_args_namespace
    if options.help or options.version:
        return
    if options.db == "postgresql":
        try:
            server = _postgres(early_config)
        except PostgresUnavailable as error:
            # Asked for by name: a run that went on without it would claim what it did not do.
            raise pytest.UsageError(f"--db postgresql: {error}") from error
        os.environ["DATABASE_URL"] = server.url
        # xdist's workers inherit the environment, and with it this one server.
        os.environ["TEST_DATABASE_URL"] = server.url
    else:
        # Never opened: the root conftest.py names the file of the tests. A folder that is not there makes sure.
        os.environ["DATABASE_URL"] = f"{_SQLITE}{Path(__file__).parent}/no-such-folder/main.db"


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_resources].close()


def _postgres(config: pytest.Config) -> PostgresServer:
    """The run's PostgreSQL server, started when first asked for."""
    if _server not in config.stash:
        config.stash[_server] = config.stash[_resources].enter_context(running_server())
    return config.stash[_server]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        if "database_kind" in getattr(item, "fixturenames", ()):
            item.add_marker("both_databases")
        (kept if _belongs_to(item, config.getoption("db")) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def _belongs_to(item: pytest.Item, kind: DatabaseKind) -> bool:
    """The SQLite run takes every test, the PostgreSQL run those that use the database of the test's own process."""
    if kind == "sqlite":
        return item.get_closest_marker("postgresql_only") is None
    return _uses_own_database(item) and item.get_closest_marker("sqlite_only") is None


def _uses_own_database(item: pytest.Item) -> bool:
    fixtures = {"db", "transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))
    from django.test import SimpleTestCase  # only once the settings stand

    owner = getattr(item, "cls", None)
    is_djangos = isinstance(owner, type) and issubclass(owner, SimpleTestCase)
    return bool(fixtures) or is_djangos or item.get_closest_marker("django_db") is not None


@pytest.fixture(autouse=True)
def _no_secret_is_told() -> Iterator[None]:
    """Each test ends without a token or password in a log line or in an error's body."""
    secrets_watch.WATCH.leaks.clear()
    yield
    assert secrets_watch.WATCH.leaks == []


@pytest.fixture(scope="session", autouse=True)
def _watch_over_secrets() -> None:
    secrets_watch.install()


@pytest.fixture(autouse=True)
def _nobody_was_refused_yet() -> None:
    """All tests of a process call from one address: what one has refused must not slow the next one down."""
    if refusals := sys.modules.get("core.api.refusals"):
        refusals.REFUSALS.forget()


@pytest.fixture(scope="session")
def rounds() -> Callable[..., int]:
    """`rounds(small, full)`: how often a race is run; `full` with FORKFLUX_SOAK=1, else `small`."""
    soak = os.environ.get("FORKFLUX_SOAK", "") == "1"

    def choose(small: int = 2, full: int = 20) -> int:
        return full if soak else small

    return choose


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest) -> PostgresServer:
    """A real PostgreSQL server. Where there is none the test is skipped loudly, and in CI it fails."""
    try:
        return _postgres(request.config)
    except PostgresUnavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"no PostgreSQL: {error}", pytrace=False)
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {error}")


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of a new, empty PostgreSQL database, dropped after the test."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture
def fresh_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """`fresh_database(kind)`: the URL of a new database of that kind, gone after the test.

    It is empty, or a copy of the database at the URL `template`.
    """
    with contextlib.ExitStack() as databases:

        def make(kind: DatabaseKind, template: str | None = None) -> str:
            if kind == "postgresql":
                server: PostgresServer = request.getfixturevalue("postgres_server")
                return databases.enter_context(server.database(template))
            file = Path(tempfile.mkdtemp(dir=tmp_path)) / "forkflux.db"
            if template is not None:
                shutil.copy(template.removeprefix(_SQLITE), file)
            return f"{_SQLITE}{file}"

        yield make


@pytest.fixture(params=KINDS)
def database_kind(request: pytest.FixtureRequest) -> DatabaseKind:
    """Each kind of database in turn, for tests that start processes; marks the test `both_databases`."""
    kind: DatabaseKind = request.param
    return kind


@pytest.fixture
def database_url(database_kind: DatabaseKind, fresh_database: Callable[..., str]) -> str:
    """A new, empty database of each kind in turn."""
    return fresh_database(database_kind)


@pytest.fixture(scope="session")
def initialised_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[DatabaseKind], str]]:
    """`initialised_database(kind)`: the URL of a database that `forkflux init` has made, to copy and not to use.

    `init` takes longer than most tests that need its result.
    """
    made: dict[DatabaseKind, str] = {}
    with contextlib.ExitStack() as databases:

        def make(kind: DatabaseKind) -> str:
            if kind not in made:
                folder = tmp_path_factory.mktemp("initialised")
                url = f"{_SQLITE}{folder}/forkflux.db"
                if kind == "postgresql":
                    server: PostgresServer = request.getfixturevalue("postgres_server")
                    url = databases.enter_context(server.database())
                Installation(database_url=url, folder=folder).init()
                made[kind] = url
            return made[kind]

        yield make


@pytest.fixture
def installation(
    database_kind: DatabaseKind,
    fresh_database: Callable[..., str],
    initialised_database: Callable[[DatabaseKind], str],
    tmp_path: Path,
) -> Iterator[Installation]:
    """A ForkFlux on a database of each kind in turn, initialised; nothing runs yet."""
    folder = tmp_path / "installation"
    folder.mkdir()
    url = fresh_database(database_kind, template=initialised_database(database_kind))
    with Installation(database_url=url, folder=folder) as made:
        yield made


@pytest.fixture
def served(installation: Installation) -> Callable[..., Server]:
    """`served(*arguments, environment=…)`: a running `forkflux serve` on a database of each kind in turn."""
    return installation.serve
