"""What is left to look at when the story is over: pages and a command, each tried before it is offered."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import urllib.error
import urllib.request

from tools.demo.narrator import Narrator
from tools.demo.stage import StepFailed

PAGE_SECONDS = 20.0
_BOARD = "/api/v1/mcp/jobs?order=created_at_desc"
_DOCS = "/api/v1/docs"


def invite(narrator: Narrator, *, url: str, name: str, token: str, stays: bool) -> None:
    """Say what to open and as whom; StepFailed when one of it does not work."""
    for path in (_BOARD, _DOCS):
        _require_page(url + path, name, token)
    command = f"curl -s -u {name}:{token} {url}/api/v1/mcp/agents"
    _require_command(command, name=name)
    if not stays:
        return
    narrator.part("Look around")
    narrator.row(f"the board    {url}{_BOARD}")
    narrator.row(f"every route  {url}{_DOCS}")
    narrator.row(f"sign in as   {name}")
    narrator.row(f"password     {token}")
    narrator.row()
    narrator.row(command)
    narrator.row()
    narrator.row("Ctrl-C ends the server and removes everything.")


def _require_page(address: str, name: str, token: str) -> None:
    credentials = base64.b64encode(f"{name}:{token}".encode()).decode()
    request = urllib.request.Request(  # noqa: S310 - our own http address
        address, headers={"Authorization": f"Basic {credentials}", "Accept": "text/html"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=PAGE_SECONDS) as response:
            kind = response.headers.get_content_type()
    except (urllib.error.URLError, TimeoutError) as error:
        raise StepFailed(f"the page {address} opens in a browser, but: {error}") from error
    if kind != "text/html":
        raise StepFailed(f"the page {address} is HTML for a browser, but is {kind}")


def _require_command(command: str, *, name: str) -> None:
    """Run what will be pasted. A bare machine may have no curl, and its demo is no worse for that."""
    if shutil.which("curl") is None:
        return
    result = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=PAGE_SECONDS, check=False
    )
    try:
        names = [agent["name"] for agent in json.loads(result.stdout)]
    except (ValueError, TypeError, KeyError) as error:
        raise StepFailed(f"`{command}` lists the agents, but printed {result.stdout!r}") from error
    if name not in names:
        raise StepFailed(f"`{command}` lists the agents, {name} among them, but lists {names}")
