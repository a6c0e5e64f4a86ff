"""What is committed here: the files that the house rules are about."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def tracked_files() -> list[Path]:
    """Every committed or added file, relative to the root, that is still there."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = [Path(name) for name in listed.decode().split("\0") if name]
    return [name for name in names if (ROOT / name).is_file()]


def python_files() -> list[Path]:
    """The tracked modules without migrations, which are written by Django and never again by hand."""
    return [name for name in tracked_files() if name.suffix == ".py" and "migrations" not in name.parts]


def product_files() -> list[Path]:
    """The tracked modules of the apps, without their tests."""
    apps = set(configuration()["tool"]["importlinter"]["root_packages"])
    return [name for name in python_files() if name.parts[0] in apps and "tests" not in name.parts]


def module_name(path: Path) -> str:
    """The dotted name of a module's file."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def configuration() -> dict[str, Any]:
    """pyproject.toml, parsed."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def opening_sentence(path: Path) -> str | None:
    """The first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8")))
    return docstring.splitlines()[0] if docstring else None
