"""The benchmark as it is called: it measures both databases, writes its JSON, and leaves nothing running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.figures import BARE, CLAIMS, HEALTH, LISTS, PUBLISHES, STATEMENT
from bench.profile_claim import SECTIONS
from testing.installation import ROOT
from testing.postgres import PostgresUnavailable, find_binaries

pytestmark = [pytest.mark.slow, pytest.mark.sqlite_only, pytest.mark.timeout(300)]


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment whose folder for temporary files is known by a name that no other process mentions."""
    try:
        find_binaries()
    except PostgresUnavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"no PostgreSQL: {error}", pytrace=False)
        pytest.skip(f"NOT TESTED: the benchmark needs PostgreSQL's programs: {error}")
    # Not below tmp_path: the server's user must be able to enter it.
    with tempfile.TemporaryDirectory(prefix="forkflux-bench-test-") as folder:
        Path(folder).chmod(0o755)
        yield {**os.environ, "TMPDIR": folder}
        assert _processes_that_mention(folder) == []


def _processes_that_mention(text: str) -> list[str]:
    # With their environments: HOME of all that the benchmark starts lies in the folder.
    listed = subprocess.run(["ps", "axeww"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if text in line]


def test_a_quick_run_measures_everything_and_leaves_nothing(places, tmp_path):
    file = tmp_path / "figures.json"
    run = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", "--json", file],
        cwd=ROOT,
        env=places,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert run.returncode == 0, run.stderr
    document = json.loads(file.read_text())
    measured = {
        (figure["database"], figure["operation"], figure["clients"]): figure["medians"]
        for figure in document["figures"]
    }
    served = [HEALTH, BARE, LISTS, PUBLISHES, CLAIMS]
    expected = {
        (name, operation, n) for name in ("postgresql", "sqlite") for operation in served for n in (1, 8)
    }
    if not document["missing"]:
        expected |= {("postgresql", STATEMENT, n) for n in (1, 8)}
    assert set(measured) == expected
    assert all(medians["per_second"] > 0 for medians in measured.values())
    assert all(medians["server_errors"] == medians["resets"] == 0 for medians in measured.values())
    assert {(growth["small"], growth["large"], growth["roles"]) for growth in document["growth"]} == {
        (300, 3_000, 1),
        (300, 3_000, 3),
    }
    assert "claim-next ≥ 50% of the bare authenticated view" in run.stdout
    assert list(Path(places["TMPDIR"]).iterdir()) == []


@pytest.mark.parametrize("database", ["postgresql", "sqlite"])
def test_the_profile_of_a_claim_finds_every_part_where_it_looks_for_it(places, database):
    run = subprocess.run(
        [sys.executable, "-m", "bench.profile_claim", "--database", database, "--calls", "10", "--top", "5"],
        cwd=ROOT,
        env=places,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    parts = run.stdout.partition("split up")[2].partition("\n\n")[0].splitlines()[2:]
    times = {line[:24].strip(): line.split()[-1] for line in parts}
    expected = [name for name in SECTIONS if name != "connection"]
    if database == "postgresql":
        expected.remove("event insert (SQLite)")
    assert {name: times[name] for name in expected} == dict.fromkeys(expected, "1.0")
    assert run.stdout.count("10 calls") == 3


@pytest.mark.parametrize(
    ("number", "database"), [(signal.SIGINT, "postgresql"), (signal.SIGTERM, "sqlite")], ids=["INT", "TERM"]
)
def test_an_interrupted_run_leaves_nothing(places, number, database):
    with subprocess.Popen(
        [sys.executable, "-m", "bench", "--seconds", "5", "--clients", "2", "--databases", database],
        cwd=ROOT,
        env=places,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stderr is not None
        # Said when the server and its database are under load.
        assert "round 1 of" in run.stderr.readline()
        assert any("gunicorn" in process for process in _processes_that_mention(places["TMPDIR"]))
        run.send_signal(number)
        run.communicate(timeout=60)
    assert run.returncode == 128 + number
    assert list(Path(places["TMPDIR"]).iterdir()) == []
