"""The rules of the house that no linter knows, each checked on what is committed."""

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from jobs import locking
from testing.source_tree import (
    ROOT,
    configuration,
    module_name,
    opening_sentence,
    product_files,
    python_files,
    tracked_files,
)
from testing.status_writes import COLUMN, status_writes

MOST_LINES = 400
THE_WRITER = Path("jobs/transitions.py")
# What the search reports because it cannot know, and why it is no write of a status.
IN_DOUBT_BUT_FINE = {
    (
        "jobs/locking.py",
        "setattr of something named at run time",
    ): "puts the joined rows of _RELATIONS on the job",
}

# Put together from parts, so that this file does not hold what it looks for.
_REGISTRIES = [
    ".".join(parts)
    for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"))
]
_HOMES = re.compile(r"(?<![\w.])/(?:root|home/\w+|Users/\w+)/\w")
_WAY_UP = re.compile(r"(?<![\w./])(?:\.\./)+[\w.-]+")
_PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(?:\[[a-z,]+\])?==(?P<version>\d[\w.]*)"
    r"(?:; (?P<marker>(?:python_version|sys_platform) .+))?"
)


def test_no_file_has_more_lines_than_one_reads_at_once():
    long = {
        str(name): lines
        for name in python_files()
        if (lines := len((ROOT / name).read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert not long, f"split along verbs or nouns, not into helpers: {long}"


def test_no_module_is_named_for_holding_anything():
    vague = {"utils", "helpers", "misc", "common", "util", "helper"}
    assert not [str(name) for name in python_files() if vague & {name.stem, *name.parts}]


def test_every_module_opens_with_its_charter():
    silent = [
        str(name)
        for name in python_files()
        if (ROOT / name).stat().st_size > 0
        and not (opening_sentence(name) or "").rstrip().endswith((".", ":", "?"))
    ]
    assert not silent, f"no docstring, or its first line is no sentence: {silent}"


def test_only_the_one_writer_assigns_a_jobs_status():
    found = [
        (str(name), write.what, write.line)
        for name in product_files()
        if name != THE_WRITER
        for write in status_writes((ROOT / name).read_text(encoding="utf-8"))
    ]
    elsewhere = [
        f"{name}:{line}: {what}" for name, what, line in found if (name, what) not in IN_DOUBT_BUT_FINE
    ]
    assert not elsewhere, f"a job's status is moved by {THE_WRITER}: {elsewhere}"
    stale = set(IN_DOUBT_BUT_FINE) - {(name, what) for name, what, _ in found}
    assert not stale, f"no longer needed: {stale}"


def test_what_is_put_on_a_job_by_name_is_no_status():
    assert COLUMN not in locking._RELATIONS


def test_the_search_for_status_writes_sees_the_one_writer():
    assert status_writes((ROOT / THE_WRITER).read_text(encoding="utf-8"))


@pytest.mark.django_db
def test_the_migrations_say_what_the_models_say():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_requirements_are_pinned_exactly(name):
    lines = [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line]
    loose = [line for line in lines if not line.startswith(("#", "-r ")) and not _PINNED.fullmatch(line)]
    assert not loose, "write name==version, so that what is tested is what is installed"


def test_a_requirement_that_stands_twice_is_for_two_kinds_of_machine():
    found: dict[str, list[str | None]] = {}
    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if match := _PINNED.fullmatch(line):
                found.setdefault(match["name"].lower(), []).append(match["marker"])
    twice = {name: markers for name, markers in found.items() if len(markers) > 1}
    assert all(None not in markers and len(set(markers)) == len(markers) for markers in twice.values()), twice


def test_what_is_installed_is_what_the_requirements_say():
    from importlib.metadata import version

    from packaging.markers import Marker

    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            match = _PINNED.fullmatch(line)
            if match and (match["marker"] is None or Marker(match["marker"]).evaluate()):
                assert version(match["name"]) == match["version"], "run tools/bootstrap dev"


def test_nothing_committed_depends_on_somebodys_machine():
    here = [str(ROOT), f"{ROOT.parent}/"] if ROOT.parent not in {Path("/"), Path("/tmp")} else [str(ROOT)]  # noqa: S108
    found = []
    for name in tracked_files():
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture or the like
        for number, line in enumerate(text.splitlines(), 1):
            if (
                any(path in line for path in here)
                or _HOMES.search(line)
                or any(host in line for host in _REGISTRIES)
            ):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
            found += [f"{name}:{number}: leads out of the repository: {way}" for way in _ways_out(name, line)]
    assert not found, "\n".join(found)


def _ways_out(name: Path, line: str) -> list[str]:
    """Relative paths of a line that end outside the repository, read from the file's folder."""
    if name.suffix not in {".md", ".toml", ".txt", ".yaml", ".yml", ""}:
        return []  # in code such a path may be what an attacker sends
    return [
        way for way in _WAY_UP.findall(line) if not (ROOT / name.parent / way).resolve().is_relative_to(ROOT)
    ]


def test_the_search_for_paths_finds_planted_ones():
    assert _ways_out(Path("docs/a.md"), "see ../../elsewhere/design.md") == ["../../elsewhere"]
    assert _ways_out(Path("docs/decisions/a.md"), "see ../concepts.md and ../../README.md") == []
    assert _HOMES.search("open /{}/somebody/notes".format("home"))
    assert not _HOMES.search("GET /api/home/page")


def test_scripts_can_be_run_and_say_with_what():
    for name in tracked_files():
        path = ROOT / name
        starts = path.read_bytes()[:2] == b"#!"
        executable = bool(path.stat().st_mode & stat.S_IXUSR)
        assert starts == executable, f"{name}: a first line of #! and the executable bit go together"


def test_the_hooks_run_what_make_check_runs():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert "repo: local" in hooks
    assert hooks.count("repo:") == hooks.count("repo: local"), (
        "only local hooks: others are fetched from elsewhere"
    )
    for command in ("ruff check", "ruff format --check", "lint-imports", "mypy", "makemigrations --check"):
        assert command in makefile
        assert command in hooks, f"{command} is in `make check` but not in the hooks"


def test_the_settings_pass_djangos_own_checks(settings):
    settings.ALLOWED_HOSTS = ["localhost"]  # the test client's own host would ask for a trusted origin
    call_command("check", fail_level="WARNING")


def test_the_command_is_installed_under_its_name():
    scripts = configuration()["project"]["scripts"]
    assert scripts == {"forkflux": "forkflux_site.cli:main"}
    result = subprocess.run(
        [Path(sys.executable).with_name("forkflux"), "--help"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_templates_and_static_files_are_packaged():
    setuptools = configuration()["tool"]["setuptools"]
    packages = {pattern.rstrip("*") for pattern in setuptools["packages"]["find"]["include"]}
    for name in tracked_files():
        if {"templates", "static"} & set(name.parts[:-1]) and "tests" not in name.parts:
            assert name.parts[0] in packages, name
            assert any(name.match(pattern) for pattern in setuptools["package-data"]["*"]), name


def test_every_app_is_packaged_linted_and_tested():
    tools = configuration()["tool"]
    apps = {
        module_name(name).split(".")[0]
        for name in python_files()
        if (ROOT / name.parts[0] / "apps.py").exists()
    }
    assert apps <= set(tools["importlinter"]["root_packages"])
    assert apps <= {pattern.rstrip("*") for pattern in tools["setuptools"]["packages"]["find"]["include"]}
    assert apps <= set(tools["pytest"]["testpaths"])
    assert apps <= set(tools["mypy"]["files"])
    assert apps <= set(tools["ruff"]["lint"]["isort"]["known-first-party"])
