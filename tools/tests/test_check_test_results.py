"""CI's last look: a half that did not run, or ran on something else, is a failure."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "check_test_results.py"


def results(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


def proof(version: str) -> str:
    return (
        '<testcase name="test_the_run_uses_the_database_that_it_was_asked_for">'
        f'<properties><property name="database" value="{version}"/></properties></testcase>'
    )


SERVED = '<testcase name="test_served[sqlite]"/><testcase name="test_served[postgresql]"/>'
SQLITE = results(proof("SQLite 3.40.1"), SERVED)
POSTGRESQL = results(proof("PostgreSQL 15.18"))


def check(folder: Path, sqlite: str | None, postgresql: str | None) -> subprocess.CompletedProcess[str]:
    for name, content in (("sqlite.xml", sqlite), ("postgresql.xml", postgresql)):
        if content is not None:
            (folder / name).write_text(content)
    return subprocess.run(
        [sys.executable, SCRIPT, folder / "sqlite.xml", folder / "postgresql.xml"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_whole_halves_pass(tmp_path):
    result = check(tmp_path, SQLITE, POSTGRESQL)
    assert (result.returncode, result.stderr) == (0, "")
    assert "PostgreSQL: 1 tests ran, 0 were skipped, on PostgreSQL 15.18" in result.stdout


@pytest.mark.parametrize(
    ("sqlite", "postgresql", "said"),
    [
        (SQLITE, None, "PostgreSQL: there is no"),
        (None, POSTGRESQL, "SQLite: there is no"),
        (SQLITE, results(), "PostgreSQL: no test ran"),
        (SQLITE, results("<testcase name='a'/>"), "did not run"),
        (SQLITE, results(proof("SQLite 3.40.1")), "the tests ran on SQLite"),
        (
            SQLITE,
            results(proof("PostgreSQL 15"), "<testcase name='a'><failure/></testcase>"),
            "1 tests failed",
        ),
        (SQLITE, results("<testcase name='a'><skipped/></testcase>"), "no test ran"),
        (results(proof("SQLite 3"), "<testcase name='a[sqlite]'/>"), POSTGRESQL, "ran on postgresql"),
    ],
    ids=[
        "no PostgreSQL",
        "no SQLite",
        "empty",
        "no proof",
        "the wrong database",
        "failed",
        "skipped",
        "not served",
    ],
)
def test_what_is_missing_is_named(tmp_path, sqlite, postgresql, said):
    result = check(tmp_path, sqlite, postgresql)
    assert result.returncode == 1
    assert said in result.stderr
