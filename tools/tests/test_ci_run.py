""".ci/run: installs only what is missing, runs the README's own test command, and believes only what was measured."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.tests.test_check_test_results import POSTGRESQL, SQLITE

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("bash", "dirname", "sed", "head", "cat", "mkdir", "cp")
README = "# ForkFlux\n\n```sh\nmake demo\n```\n\n## Tests\n\n```sh\nmake test   # both databases\n```\n"


class Machine:
    """A fresh clone, and a PATH on which `make`, `apt-get` and `python3` only write down that they were called."""

    def __init__(self, folder: Path) -> None:
        self.clone = folder / "clone"
        (self.clone / ".ci").mkdir(parents=True)
        (self.clone / "tools").mkdir()
        (self.clone / ".venv" / "bin").mkdir(parents=True)
        shutil.copy(ROOT / ".ci" / "run", self.clone / ".ci" / "run")
        shutil.copy(ROOT / "tools" / "check_test_results.py", self.clone / "tools")
        (self.clone / ".venv" / "bin" / "python").symlink_to(sys.executable)
        (self.clone / "README.md").write_text(README)
        self.calls = folder / "calls"
        self.path = folder / "bin"
        self.path.mkdir()
        for name in PROGRAMS:
            found = shutil.which(name)
            assert found
            (self.path / name).symlink_to(found)
        for name in ("git", "make", "apt-get", "python3", "chromium"):
            self.add(name, f'echo "{name} $*" >>{self.calls}')

    def add(self, name: str, script: str) -> None:
        (self.path / name).write_text(f"#!{self.path}/bash\n{script}\n")
        (self.path / name).chmod(0o755)

    def make_writes(self, **results: str) -> None:
        lines = ["mkdir -p .test-results"]
        for name, content in results.items():
            (self.clone.parent / f"{name}.xml").write_text(content)
            lines.append(f"cp {self.clone.parent}/{name}.xml .test-results/{name}.xml")
        self.add("make", "\n".join([f'echo "make $* CI=$CI" >>{self.calls}', *lines]))

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.path / "bash", ".ci/run"],
            cwd=self.clone,
            env={"PATH": str(self.path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def called(self) -> list[str]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line for line in lines if not line.startswith("python3 ")]

    def installed(self) -> set[str]:
        (line,) = [line for line in self.called() if line.startswith("apt-get install")]
        return {word for word in line.split()[2:] if not word.startswith("-")}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_it_runs_the_readmes_test_command_and_reads_its_results(machine):
    machine.make_writes(sqlite=SQLITE, postgresql=POSTGRESQL)
    result = machine.run()
    assert result.returncode == 0, result.stderr
    assert "make test CI=true" in machine.called()
    assert "on PostgreSQL 15.18" in result.stdout


@pytest.mark.parametrize("text", ["# ForkFlux\n\nType `make test`.\n", None], ids=["in prose", "no README"])
def test_a_readme_without_the_command_is_a_failure(machine, text):
    (machine.clone / "README.md").unlink()
    if text is not None:
        (machine.clone / "README.md").write_text(text)
    result = machine.run()
    assert result.returncode == 1
    assert "README.md has no line `make test`" in result.stderr
    assert not [call for call in machine.called() if call.startswith("make")]


def test_a_postgresql_half_that_did_not_run_is_a_failure(machine):
    machine.make_writes(sqlite=SQLITE)
    result = machine.run()
    assert result.returncode == 1
    assert "PostgreSQL: there is no" in result.stderr


def test_failed_tests_are_a_failure(machine):
    machine.make_writes(sqlite=SQLITE, postgresql=POSTGRESQL)
    machine.add("make", "exit 2")
    assert machine.run().returncode == 2


@pytest.mark.parametrize("name", ["git", "make", "chromium"])
def test_a_program_that_is_missing_is_installed(machine, name):
    (machine.path / name).unlink()
    machine.run()
    assert name in machine.installed()


def test_a_python_without_venv_gets_it(machine):
    machine.add("python3", "exit 1")
    machine.run()
    assert {"python3", "python3-venv"} <= machine.installed()


def test_the_readme_of_this_repository_has_the_command(machine):
    shutil.copy(ROOT / "README.md", machine.clone / "README.md")
    machine.make_writes(sqlite=SQLITE, postgresql=POSTGRESQL)
    assert machine.run().returncode == 0
