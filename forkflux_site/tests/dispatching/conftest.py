"""A small server of its own for each module, and one for a test that ends or slows it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forkflux_site.tests.dispatching.small_client import SmallServer


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., SmallServer]]:
    with contextlib.ExitStack() as servers:

        def make(**environment: str) -> SmallServer:
            server = SmallServer(tmp_path, environment)
            servers.callback(server.close)
            return server

        yield make


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallServer]:
    server = SmallServer(tmp_path_factory.mktemp("small"), {})
    yield server
    server.close()


@pytest.fixture(autouse=True)
def nothing_is_left_over(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "server" in request.fixturenames:
        small: SmallServer = request.getfixturevalue("server")
        small.control("open")
        small.wait_for(pending=0, body_bytes=0)
        small.control("close")
