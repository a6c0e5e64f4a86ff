"""tools/bootstrap: which Python it takes, when it installs, and what it says where it cannot."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("sh", "cat", "cksum", "dirname", "mktemp", "tail", "rm", "make", "env")

# Stands in for an interpreter: answers the probe as the real one would, makes an "environment" that holds
# itself, and writes down what pip was asked for.
INTERPRETER = """#!/bin/sh
case "$1 $2" in
  "-m venv") for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"; exit 0 ;;
  "-m pip")
    echo "$*" >>"$CALLS"
    case "$*" in *" -e "*) : >"${0%/*}/forkflux"; chmod +x "${0%/*}/forkflux" ;; esac
    exit "${PIP_EXIT:-0}" ;;
esac
exec PYTHON -c 'import sys
PRETEND
code = sys.argv[2]
sys.argv = ["-c"]
exec(code)' "$@"
"""
GOOD = 'sys.version_info = (3, 12, 1, "final", 0)'
TOO_OLD = 'sys.version_info = (3, 9, 2, "final", 0)'
WITHOUT_VENV = 'sys.version_info = (3, 12, 1, "final", 0); sys.modules["ensurepip"] = None'
SHIM = '#!/bin/sh\necho "pyenv: $0: command not found" >&2\nexit 127\n'


class Machine:
    """A checkout and a PATH that hold only what a test put there."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "checkout"
        (self.checkout / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "tools" / "bootstrap", self.checkout / "tools" / "bootstrap")
        shutil.copy(ROOT / "Makefile", self.checkout / "Makefile")
        for name in ("requirements.txt", "requirements-dev.txt", "pyproject.toml"):
            (self.checkout / name).write_text(f"# {name}\n")
        self.path = folder / "bin"
        self.path.mkdir()
        self.calls = folder / "calls"
        for name in (*PROGRAMS, "mkdir", "cp", "chmod"):
            found = shutil.which(name, path="/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin")
            assert found, f"{name} is missing on this machine"
            (self.path / name).symlink_to(found)

    def add_python(self, name: str, pretend: str) -> None:
        program = self.path / name
        program.write_text(INTERPRETER.replace("PYTHON", sys.executable, 1).replace("PRETEND", pretend))
        program.chmod(0o755)

    def add_shim(self, name: str) -> None:
        (self.path / name).write_text(SHIM)
        (self.path / name).chmod(0o755)

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(command),
            cwd=self.checkout,
            env={
                "PATH": str(self.path),
                "CALLS": str(self.calls),
                "TMPDIR": str(self.checkout.parent),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def bootstrap(self, kind: str = "run", **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run("tools/bootstrap", kind, **environment)

    def installed(self) -> list[str]:
        """What was asked of pip since the last look, without asking for its version."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return [line for line in lines if "--version" not in line]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_it_installs_once_and_then_says_nothing(machine):
    machine.add_python("python3", GOOD)
    first = machine.bootstrap()
    assert (first.returncode, first.stdout) == (0, "")
    assert len(first.stderr.splitlines()) == 1
    assert [call.rpartition("--disable-pip-version-check ")[2] for call in machine.installed()] == [
        "-r requirements.txt",
        "--no-deps -e .",
    ]
    second = machine.bootstrap()
    assert (second.returncode, second.stdout, second.stderr, machine.installed()) == (0, "", "", [])


def test_it_installs_again_when_a_requirement_changed(machine):
    machine.add_python("python3", GOOD)
    machine.bootstrap("dev")
    machine.installed()
    (machine.checkout / "requirements.txt").write_text("another==1.0\n")
    assert machine.bootstrap("dev").returncode == 0
    assert machine.installed()


def test_what_the_checks_need_includes_what_serving_needs_but_not_the_other_way(machine):
    machine.add_python("python3", GOOD)
    machine.bootstrap("run")
    machine.installed()
    machine.bootstrap("dev")
    assert any("requirements-dev.txt" in call for call in machine.installed())
    machine.bootstrap("run")
    assert machine.installed() == []


def test_an_interpreter_is_chosen_by_running_it(machine):
    machine.add_shim("python3")
    machine.add_shim("python3.13")
    machine.add_python("python3.12", GOOD)
    assert machine.bootstrap().returncode == 0
    assert machine.installed()


def test_an_old_python3_is_passed_over_for_a_newer_one(machine):
    machine.add_python("python3", TOO_OLD)
    machine.add_python("python3.12", GOOD)
    assert machine.bootstrap().returncode == 0


def test_the_interpreter_can_be_named(machine):
    machine.add_python("python3", TOO_OLD)
    machine.add_python("my-python", GOOD)
    assert machine.bootstrap(PYTHON="my-python").returncode == 0


@pytest.mark.parametrize("target", ["demo", "check", "test", "serve"])
def test_with_too_old_a_python_make_says_what_to_install(machine, target):
    machine.add_python("python3", TOO_OLD)
    result = machine.run("make", target)
    assert result.returncode != 0
    said = [line for line in result.stderr.splitlines() if not line.startswith("make: ")]
    assert len(said) == 2
    assert "needs Python 3.11 or newer; python3 is 3.9.2" in said[0]
    assert "apt-get install python3 python3-venv" in said[1]
    assert not (machine.checkout / ".venv").exists()


def test_without_any_python_make_says_what_to_install(machine):
    result = machine.run("make", "demo")
    assert result.returncode != 0
    assert "no python3 that runs was found on PATH" in result.stderr


@pytest.mark.parametrize("target", ["demo", "check", "test", "serve"])
def test_without_the_venv_module_make_says_what_to_install(machine, target):
    machine.add_python("python3", WITHOUT_VENV)
    result = machine.run("make", target)
    assert result.returncode != 0
    assert "python3 (3.12.1) cannot make virtual environments" in result.stderr
    assert "apt-get install python3-venv" in result.stderr
    assert not (machine.checkout / ".venv").exists()


def test_a_failed_installation_is_told_and_tried_again(machine):
    machine.add_python("python3", GOOD)
    failed = machine.bootstrap(PIP_EXIT="1")
    assert failed.returncode == 1
    assert "the whole output is in" in failed.stderr
    machine.installed()
    assert machine.bootstrap().returncode == 0
    assert machine.installed()


def test_a_checkout_that_moved_gets_its_environment_anew(machine):
    machine.add_python("python3", GOOD)
    machine.bootstrap()
    machine.installed()
    moved = machine.checkout.with_name("moved")
    machine.checkout.rename(moved)
    machine.checkout = moved
    assert machine.bootstrap().returncode == 0
    assert machine.installed()


def test_an_unknown_kind_is_refused(machine):
    assert machine.bootstrap("everything").returncode == 2


def test_it_is_executable_in_git():
    listed = subprocess.run(
        ["git", "ls-files", "--stage", "tools/bootstrap", ".ci/run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(line.startswith("100755") for line in listed.stdout.splitlines())
    assert os.access(ROOT / "tools" / "bootstrap", os.X_OK)
