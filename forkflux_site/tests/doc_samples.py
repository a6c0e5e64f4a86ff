"""Comparing what a page shows with what really came, and playing HTTP samples against a served installation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from forkflux_site.tests.doc_pages import Block
from testing.installation import Server

# What is another one on each run. Everything else in a sample must be what really comes.
_VOLATILE = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "<time>"),
    (re.compile(r"\b[\w-]{43}\b"), "<token>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:<port>"),
]
_ELISION = "…"


def differences(told: Any, real: Any, *, partial: bool = False, where: str = "$") -> Iterator[str]:
    """Where a sample is not what came. `partial`: an object of the sample may name some of the keys only."""
    if isinstance(told, dict) and isinstance(real, dict):
        for key in told.keys() | real.keys():
            if key not in real:
                yield f"{where}.{key} is told, but does not come"
            elif key in told:
                yield from differences(told[key], real[key], partial=partial, where=f"{where}.{key}")
            elif not partial:
                yield f"{where}.{key} comes, but is not told"
    elif isinstance(told, list) and isinstance(real, list):
        if len(told) != len(real):
            yield f"{where} has {len(real)} items, not {len(told)}"
        for number, (one, other) in enumerate(zip(told, real, strict=False)):
            yield from differences(one, other, partial=partial, where=f"{where}[{number}]")
    elif steady(told) != steady(real):
        yield f"{where} is {real!r}, not {told!r}"


def steady(value: Any) -> Any:
    """The value without what is another one on each run."""
    if not isinstance(value, str):
        return value
    for pattern, name in _VOLATILE:
        value = pattern.sub(name, value)
    return value


def output_differs(told: str, real: str) -> str | None:
    """How a command's output is not what a page shows of it. `…` in the page stands for anything."""
    pattern = re.escape(steady(told).strip()).replace(re.escape(_ELISION), r"(?:.|\n)*?")
    if re.fullmatch(pattern, steady(real).strip()):
        return None
    return f"the page shows:\n{told}\nbut it printed:\n{real}"


@dataclass(frozen=True)
class Request:
    """An ``http`` block: request line, headers, an empty line, a body."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str

    @classmethod
    def parse(cls, block: Block) -> Request:
        """From the block's text."""
        head, _, body = block.text.partition("\n\n")
        line, *headers = head.splitlines()
        method, path = line.split()
        return cls(method, path, dict(header.split(": ", 1) for header in headers), body)


class Credentials(Protocol):
    """Whoever a sample is played `as`: an agent or a person."""

    @property
    def headers(self) -> dict[str, str]:
        """What says who calls."""


class HttpPlay:
    """Sends the page's requests in order and keeps the last answer."""

    def __init__(self, server: Server, callers: Mapping[str, Credentials]) -> None:
        self._server = server
        self._callers = callers
        self.last: httpx.Response | None = None

    def send(self, block: Block) -> None:
        """Send the request; what it must be answered with stands in the block that follows."""
        request = Request.parse(block)
        caller = self._callers[block.options["as"]] if "as" in block.options else None
        self.last = httpx.request(
            request.method,
            self._server.base_url + request.path,
            headers={**(caller.headers if caller else {}), **request.headers},
            content=request.body or None,
            trust_env=False,
            timeout=30,
        )

    def compare(self, block: Block) -> None:
        """The last answer has the status and the body that the page shows."""
        assert self.last is not None, f"{block}: no request stands before this answer"
        assert str(self.last.status_code) == block.options[""], f"{block}: {self.last.text}"
        require_equal(block, self.last.json())


def require_equal(block: Block, real: Any) -> None:
    """The block's JSON is what came; with the option `part`, what it names of it is."""
    found = list(differences(json.loads(block.text), real, partial="part" in block.options))
    assert not found, f"{block}:\n" + "\n".join(found) + "\n" + drawn(real)


def drawn(value: Any, *, indent: str = "", width: int = 110) -> str:
    """JSON as the pages show it: on one line where it fits, else one member a line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(flat) <= width or not isinstance(value, dict | list) or not value:
        return flat
    inner = indent + "  "
    if isinstance(value, dict):
        members: Iterable[str] = (
            f"{json.dumps(key)}: {drawn(member, indent=inner, width=width)}" for key, member in value.items()
        )
        opening, closing = "{}"
    else:
        members = (drawn(member, indent=inner, width=width) for member in value)
        opening, closing = "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(members) + f"\n{indent}{closing}"
