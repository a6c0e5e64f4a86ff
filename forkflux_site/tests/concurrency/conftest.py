"""The boards and the crew of the concurrency tests: started once a run, since starting takes longer than racing."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forkflux_site.tests.concurrency.boards import Board, opened_board
from forkflux_site.tests.concurrency.crew import Crew
from testing.installation import Installation
from testing.pytest_plugin import KINDS, DatabaseKind

FOREVER = "3600"  # seconds between sweeps


@pytest.fixture(scope="session")
def crew() -> Iterator[Crew]:
    """Four client processes."""
    made = Crew()
    yield made
    made.close()


@pytest.fixture(scope="session", params=KINDS)
def kind(request: pytest.FixtureRequest) -> DatabaseKind:
    """Each kind of database in turn, for boards that many tests share."""
    found: DatabaseKind = request.param
    return found


@pytest.fixture(scope="session")
def open_board(
    kind: DatabaseKind,
    request: pytest.FixtureRequest,
    initialised_database: Callable[[DatabaseKind], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., Board]]:
    """`open_board(*arguments, **environment)`: a board on a new database, closed at the end of the run."""
    with contextlib.ExitStack() as opened:

        def make(*arguments: str, **environment: str) -> Board:
            folder = tmp_path_factory.mktemp("board")
            template = initialised_database(kind)
            if kind == "postgresql":
                server = request.getfixturevalue("postgres_server")
                url = opened.enter_context(server.database(template))
            else:
                file = Path(tempfile.mkdtemp(dir=folder)) / "forkflux.db"
                shutil.copy(template.removeprefix("sqlite:///"), file)
                url = f"sqlite:///{file}"
            installation = opened.enter_context(Installation(database_url=url, folder=folder))
            return opened.enter_context(opened_board(installation, *arguments, **environment))

        yield make


@pytest.fixture(scope="session")
def board(open_board: Callable[..., Board]) -> Board:
    """A board whose server does not sweep: what a test lets run out is swept when the test says so."""
    return open_board(FORKFLUX_SWEEP_SECONDS=FOREVER, FORKFLUX_LOCK_TIMEOUT_SECONDS="2")


@pytest.fixture(scope="session")
def swept_board(open_board: Callable[..., Board]) -> Board:
    """A board whose server sweeps often."""
    return open_board(FORKFLUX_SWEEP_SECONDS="0.2")


@pytest.fixture
def own_board(installation: Installation) -> Iterator[Callable[..., Board]]:
    """`own_board(*arguments, **environment)`: a board for one test that kills it or sets it up otherwise."""
    with contextlib.ExitStack() as opened:
        yield lambda *arguments, **environment: opened.enter_context(
            opened_board(installation, *arguments, **environment)
        )
