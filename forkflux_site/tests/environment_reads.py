"""Which environment variables ForkFlux reads, with default and bounds, found by watching it read them.

`python -m forkflux_site.tests.environment_reads` prints them as JSON: name → `{kind, default, allowed}`, where
`allowed` is how configuration.md says it, or null where a sentence must.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from testing.source_tree import ROOT, product_files

READERS = ("text", "choice", "integer", "seconds", "boolean", "items", "secret")


def watched() -> dict[str, dict[str, Any]]:
    """Import whatever reads its configuration, in a process that has not done so yet, and note each read."""
    from core import env

    found: dict[str, dict[str, Any]] = {}
    for kind in READERS:
        setattr(env, kind, _watching(getattr(env, kind), kind, found))
    os.environ["DATABASE_URL"] = "postgresql://somebody@localhost/somewhere"
    os.environ["SECRET_KEY"] = "only-for-looking-at-the-variables-that-are-read"
    os.environ["DJANGO_SETTINGS_MODULE"] = "forkflux_site.settings"
    import django

    django.setup()
    from forkflux_site import database, gunicorn_app
    from forkflux_site.management.commands import serve

    gunicorn_app.configuration(listener=3, workers=1)
    serve._use_gunicorn()
    del os.environ["DATABASE_URL"]
    database.database_from_environment(threads=1)
    return found


def _watching(reader: Callable[..., Any], kind: str, found: dict[str, dict[str, Any]]) -> Callable[..., Any]:
    signature = inspect.signature(reader)

    @functools.wraps(reader)
    def read(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named)
        given.apply_defaults()
        name = given.arguments.pop("name")
        # A reader that calls another one (choice asks text) was noted already, as what it is.
        found.setdefault(name, _described(kind, **given.arguments))
        return reader(*arguments, **named)

    return read


def _described(
    kind: str, default: Any = None, allowed: Any = None, low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    said: str | None = None
    if kind == "integer":
        said = f"{low:,} to {high:,}"
    elif kind == "seconds":
        default, said = f"{default:g}", f"{low:,g} to {high:,g} s"
    elif kind == "boolean":
        default, said = str(default).lower(), "`true`, `false`"
    elif kind == "choice":
        said = ", ".join(f"`{choice}`" for choice in allowed)
    elif kind == "items":
        default = ",".join(default)
    return {"kind": kind, "default": "none" if default in (None, "") else f"`{default}`", "allowed": said}


def named_in_the_code() -> Iterator[tuple[str, str]]:
    """Place and name of every variable that product code reads by a literal name, through core.env or past it."""
    for path in product_files():
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner, method = ast.unparse(node.func.value), node.func.attr
                if not (
                    (owner == "env" and method in READERS) or (owner == "os.environ" and method == "get")
                ):
                    continue
                name = node.args[0]
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                if ast.unparse(node.value) != "os.environ":
                    continue
                name = node.slice
            else:
                continue
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield f"{path}:{node.lineno}", name.value


if __name__ == "__main__":
    json.dump(watched(), sys.stdout)
