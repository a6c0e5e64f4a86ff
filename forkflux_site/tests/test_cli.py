"""The `forkflux` command: what it shows, and that each error is one line and an exit status."""

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core import __version__
from testing.installation import ROOT, Installation

# Each starts processes with databases of their own.
pytestmark = [pytest.mark.slow, pytest.mark.both_databases]


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Installation]:
    """An installation whose database has not been made."""
    with Installation(database_url=f"sqlite:///{tmp_path}/db/forkflux.db", folder=tmp_path) as made:
        yield made


def assert_one_line_error(result: subprocess.CompletedProcess[str], *parts: str, status: int = 1) -> None:
    assert result.returncode == status, result
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    for part in parts:
        assert part in result.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["-h"], ["help"]], ids=["nothing", "--help", "-h", "help"]
)
def test_the_overview_lists_our_commands_and_not_djangos(bare: Installation, arguments: list[str]) -> None:
    shown = bare.run(*arguments).stdout
    assert "\n  serve " in shown
    assert "\n  init " in shown
    assert "makemigrations" not in shown


@pytest.mark.parametrize("arguments", [["serve", "--help"], ["help", "serve"]], ids=["--help", "help"])
def test_help_needs_no_usable_settings_and_writes_nothing(bare: Installation, arguments: list[str]) -> None:
    wrong = {"DATABASE_URL": "postgresql://nobody@nowhere.invalid/x", "SECRET_KEY": ""}
    assert "--workers" in bare.run(*arguments, environment=wrong).stdout
    assert "\n  serve " in bare.run("--help", environment=wrong).stdout
    assert list(bare.folder.iterdir()) == []


def test_the_version_is_the_products(bare: Installation) -> None:
    assert bare.run("--version").stdout == f"forkflux {__version__}\n"


def test_manage_py_runs_the_same_and_knows_djangos_commands(bare: Installation) -> None:
    def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, ROOT / "manage.py", *arguments],
            cwd=bare.folder, env=bare.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert "\n  serve " in manage("--help").stdout
    assert "makemigrations" in manage("--help").stdout
    assert manage("init").returncode == 0
    assert "[X] 0001_initial" in manage("showmigrations", "jobs").stdout
    assert manage("check").returncode == 0


def test_an_unknown_command_is_wrong_usage_with_a_guess(bare: Installation) -> None:
    assert_one_line_error(bare.run("serv", expect=None), "no command 'serv'", "Did you mean serve?", status=2)


@pytest.mark.parametrize(
    "arguments", [["serve", "--port", "many"], ["serve", "--sideways"], ["serve", "surplus"]],
    ids=["value", "option", "argument"],
)  # fmt: skip
def test_wrong_usage_exits_with_2_and_shows_the_usage(bare: Installation, arguments: list[str]) -> None:
    result = bare.run(*arguments, expect=2)
    assert result.stderr.startswith("usage: forkflux serve")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"FORKFLUX_THREADS": "0"}, "FORKFLUX_THREADS is '0'; allowed is a whole number from 1 to 256"),
        ({"FORKFLUX_SUMMARY_MAX": "9999"}, "FORKFLUX_SUMMARY_MAX is '9999'"),
        ({"DEBUG": "perhaps"}, "DEBUG is 'perhaps'"),
        ({"DATABASE_URL": "mysql://h/d"}, "DATABASE_URL begins with 'mysql'"),
        ({"SECRET_KEY": "short"}, "SECRET_KEY has 5 characters"),
        ({"SECRET_KEY": "", "DATABASE_URL": "postgresql://u@127.0.0.1:1/d"}, "SECRET_KEY is not set"),
        ({"SECRET_KEY": "", "SECRET_KEY_FILE": "/nowhere"}, "SECRET_KEY_FILE is '/nowhere'"),
        ({"FORKFLUX_LOG_LEVEL": "loud"}, "FORKFLUX_LOG_LEVEL is 'loud'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_bad_setting_stops_every_command_with_one_line(
    bare: Installation, variables: dict[str, str], complaint: str
) -> None:
    assert_one_line_error(bare.run("init", expect=None, environment=variables), complaint)
    assert list(bare.folder.iterdir()) == []


def test_a_database_that_does_not_answer_is_one_line(bare: Installation) -> None:
    unreachable = {"DATABASE_URL": "postgresql://me:s3cret@127.0.0.1:1/d"}
    result = bare.run("init", expect=None, environment=unreachable)
    assert_one_line_error(result, "The database cannot be used", "127.0.0.1")
    assert "s3cret" not in result.stderr


def test_tables_that_are_missing_are_a_hint_to_init(bare: Installation) -> None:
    (bare.folder / "db").mkdir()
    assert_one_line_error(bare.run("role", "list", expect=None), "run: forkflux init")


def test_a_reader_that_leaves_early_gets_no_traceback(bare: Installation) -> None:
    command = subprocess.Popen(
        [bare.command, "--help"], env=bare.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    command.stdout.close()
    _, errors = command.communicate(timeout=60)
    assert errors == b""


def test_init_makes_everything_once_and_says_so(bare: Installation) -> None:
    without_key = {"SECRET_KEY": ""}
    first = bare.run("init", environment=without_key)
    assert f"Made {bare.folder}/db/forkflux.db." in first.stdout
    assert "secret_key" in first.stdout
    second = bare.run("init", environment=without_key)
    assert f"Found {bare.folder}/db/forkflux.db." in second.stdout
    assert "All migrations were applied already." in second.stdout
    assert (bare.folder / "db" / "secret_key").stat().st_mode & 0o777 == 0o600
    assert (bare.folder / "db").stat().st_mode & 0o777 == 0o700
    with closing(sqlite3.connect(bare.folder / "db" / "forkflux.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_new_sqlite_file_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Installation(database_url=f"sqlite:///{folder}/forkflux.db", folder=tmp_path) as made:
        made.init()
        files = [
            path
            for path in folder.iterdir()
            if path.name.startswith("forkflux.db") and path.suffix != ".lock"
        ]
        assert files
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
        assert "file mode" not in {each["name"] for each in made.cli("doctor")}


def test_init_answers_in_json(bare: Installation) -> None:
    answer = bare.cli("init")
    assert answer["database"] == f"{bare.folder}/db/forkflux.db"
    assert answer["database_created"] is True
    assert answer["migrations_applied"] > 5
    assert answer["secret_key_file"] is None, "the key was given"
    assert bare.cli("init")["migrations_applied"] == 0


def test_inits_that_run_at_once_all_succeed_and_one_of_them_works(database_url: str, tmp_path: Path) -> None:
    installation = Installation(database_url=database_url, folder=tmp_path)
    inits = [
        subprocess.Popen(
            [installation.command, "init", "--json"],
            cwd=tmp_path, env=installation.environment, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    answers = [init.communicate(timeout=60)[0] for init in inits]
    assert [init.returncode for init in inits] == [0] * 4
    assert sum('"migrations_applied": 0' in answer for answer in answers) == 3


def test_the_default_folder_is_kept_out_of_version_control(bare: Installation) -> None:
    bare.run("init", environment={"DATABASE_URL": ""})
    assert (bare.folder / ".forkflux" / "forkflux.db").exists()
    assert (bare.folder / ".forkflux" / ".gitignore").read_text() == "*\n"


def test_a_folder_that_cannot_be_made_is_one_line(bare: Installation) -> None:
    (bare.folder / "db").write_text("a file, where a folder should be")
    assert_one_line_error(bare.run("init", expect=None), f"{bare.folder}/db")


@pytest.mark.parametrize(
    ("command", "table"),
    [
        (["init"], "alembic_version"),
        (["serve"], "handoff_job"),
        (["migrate"], "alembic_version"),
        (["role", "list"], "handoff_job"),
    ],
    ids=["init", "serve", "migrate", "role-list"],
)
def test_a_database_of_the_original_is_refused_untouched(
    bare: Installation, command: list[str], table: str
) -> None:
    file = bare.folder / "db" / "forkflux.db"
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"CREATE TABLE {table} (id INTEGER)")
    before = file.read_bytes()
    result = bare.run(*command, expect=None)
    assert_one_line_error(result, str(file), "original ForkFlux", "DATABASE_URL")
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_database_of_a_newer_version_is_refused(bare: Installation) -> None:
    bare.init()
    with closing(sqlite3.connect(bare.folder / "db" / "forkflux.db")) as connection, connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('jobs', '9999_from_the_future', '2026-01-01')"
        )
    for command in ("init", "serve"):
        assert_one_line_error(bare.run(command, expect=None), "newer version", "jobs.9999_from_the_future")


def test_a_database_in_memory_is_refused(bare: Installation) -> None:
    for command in ("init", "serve"):
        result = bare.run(command, expect=None, environment={"DATABASE_URL": "sqlite://"})
        assert_one_line_error(result, "in memory")
