"""Which way imports may go: the contracts hold, each finds what it is for, and no module stands outside."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testing.source_tree import ROOT, configuration, module_name, product_files

LINTER = configuration()["tool"]["importlinter"]
CONTRACTS = {contract["id"]: contract for contract in LINTER["contracts"]}

# Wired by Django by their name, and importing what they must.
OUTSIDE_THE_LAYERS = {"apps", "migrations"}
DOORS = {"api", "admin", "management", "consumers"}

# For each contract, and each thing that it forbids: a file and an import that must not stand there.
PLANTED = {
    "a lower app needs a higher one": ("layers", "roles/models.py", "from jobs.models import Job"),
    "a model needs a service": ("layers", "jobs/models.py", "import jobs.services.claiming"),
    "a selector needs a service": ("layers", "roles/selectors.py", "from roles import services"),
    "the writer needs a verb": ("layers", "jobs/transitions.py", "from jobs.services import closing"),
    "a verb needs a door": ("layers", "jobs/services/closing.py", "import jobs.api"),
    "a door needs a door": ("layers", "jobs/api/__init__.py", "import agents.api"),
    "a door needs the wiring": ("layers", "jobs/api/__init__.py", "from forkflux_site import urls"),
    "a door moves a job itself": ("one-writer", "jobs/api/__init__.py", "from jobs import transitions"),
    "the wiring moves a job itself": ("one-writer", "forkflux_site/urls.py", "import jobs.transitions"),
    "another room imports a door": ("doors", "events/record.py", "import agents.api"),
    "core needs a room": ("floor", "core/clock.py", "from agents.models import Agent"),
    "the life table needs the ORM": ("pure", "jobs/lifecycle.py", "from django.db import models"),
    "presence needs a room": ("pure", "agents/presence.py", "from core.limits import LIMITS"),
    "a verb speaks HTTP": (
        "transport",
        "jobs/services/closing.py",
        "from rest_framework.response import Response",
    ),
}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "COLUMNS": "400", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path):
    """A copy of the apps, to plant faults in."""
    for package in LINTER["root_packages"]:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold():
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout


def test_the_copy_is_linted_and_not_what_is_installed(copy):
    assert lint(copy).returncode == 0
    (copy / "core" / "clock.py").unlink()
    assert "clock" not in lint(copy).stdout


@pytest.mark.parametrize(("contract", "file", "planted"), PLANTED.values(), ids=PLANTED)
def test_a_planted_import_is_found(copy, contract, file, planted):
    with (copy / file).open("a") as module:
        # Within a function, where an import hides best.
        module.write(f"\n\ndef planted():\n    {planted}\n")
    result = lint(copy)
    assert result.returncode == 1, result.stdout
    assert re.search(rf"{re.escape(CONTRACTS[contract]['name'])}\s+BROKEN", result.stdout), result.stdout


def test_every_contract_has_a_planted_import():
    assert {contract for contract, _, _ in PLANTED.values()} == set(CONTRACTS)


def _modules() -> set[str]:
    names = {module_name(name) for name in product_files()}
    return names | {name.rpartition(".")[0] for name in names if "." in name}


def _layers() -> list[str]:
    return [
        member.strip().strip("()")
        for layer in CONTRACTS["layers"]["layers"]
        for member in re.split(r"[|:]", layer)
    ]


def test_every_module_stands_in_a_layer():
    layers = _layers()
    homeless = sorted(
        name
        for name in _modules()
        if "." in name
        # The wiring is one layer, and core beneath its API is the floor contract's.
        and name.split(".")[0] not in {"forkflux_site", "core"}
        and name.split(".")[1] not in OUTSIDE_THE_LAYERS
        and not any(name == layer or name.startswith(f"{layer}.") for layer in layers)
    )
    assert not homeless, f"give them a place in pyproject.toml and docs/architecture.md: {homeless}"


def test_every_kind_of_door_is_protected():
    kinds = {name.split(".")[1] for name in _modules() if name.count(".") >= 1} & DOORS
    protected = {name.rpartition(".")[2] for name in CONTRACTS["doors"]["protected_modules"]}
    assert kinds <= protected


def test_no_contract_names_a_module_that_does_not_exist():
    known = _modules()
    ours = set(LINTER["root_packages"])
    for contract in CONTRACTS.values():
        for option in ("protected_modules", "allowed_importers", "source_modules", "forbidden_modules"):
            for expression in contract.get(option, []):
                pattern = re.compile(re.escape(expression).replace(r"\*", r"[^.]+"))
                if expression.split(".")[0] in ours or "*" in expression:
                    assert any(pattern.fullmatch(name) for name in known), f"{contract['id']}: {expression}"
