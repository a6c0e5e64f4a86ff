"""What the pages tell a reader to type is typed here, and what they show of the answers is what comes."""

import json
import os
import re
import shutil
from collections.abc import Iterator

import pytest

from forkflux_site.tests.demo_run import finished_demo
from forkflux_site.tests.doc_pages import Block, Page, pages
from forkflux_site.tests.doc_samples import Credentials, HttpPlay, output_differs, require_equal
from forkflux_site.tests.doc_shell import ShellPlay
from testing.installation import Installation
from testing.wire import basic_headers

pytestmark = [pytest.mark.slow, pytest.mark.sqlite_only]


def require_curl():
    if shutil.which("curl") is None:
        message = "NOT TESTED: the pages' curl commands; install curl"
        if os.environ.get("CI"):
            pytest.fail(message, pytrace=False)
        pytest.skip(message)


def play(page: Page, shell: ShellPlay) -> None:
    """Every block of the page in order, each as its label says."""
    for block in page.blocks:
        if block.language == "bash":
            getattr(shell, block.label)(block)
        elif block.label == "answer":
            require_equal(block, json.loads(shell.printed.splitlines()[0]))
        elif block.label == "output":
            difference = output_differs(block.text, shell.printed)
            assert difference is None, f"{block}: {difference}"


def test_getting_started_leads_from_a_clone_to_two_agents_that_hand_work_over(tmp_path):
    require_curl()
    with ShellPlay(tmp_path) as shell:
        play(pages()["docs/getting-started.md"], shell)


def test_what_the_readme_tells_a_team_to_type_works(tmp_path):
    require_curl()
    with ShellPlay(tmp_path) as shell:
        play(pages()["README.md"], shell)


class Anna:
    """A person who may do everything, by HTTP Basic."""

    password = "a-password-of-the-pages"

    def __init__(self, installation: Installation) -> None:
        made = installation.run(
            *("createsuperuser", "--no-input", "--username", "anna", "--email", "anna@example.com"),
            environment={"DJANGO_SUPERUSER_PASSWORD": self.password},
        )
        assert made.returncode == 0, made

    @property
    def headers(self) -> dict[str, str]:
        return basic_headers("anna", self.password)


@pytest.mark.parametrize("page", ["docs/api-reference.md", "docs/api-reference-people.md"])
def test_every_request_of_the_api_reference_is_answered_as_it_shows(tmp_path, page):
    database_url = f"sqlite:///{tmp_path}/forkflux.db"
    with Installation(database_url=database_url, folder=tmp_path) as installation:
        installation.init()
        for key, label in (("developer", "Developer"), ("reviewer", "Reviewer")):
            installation.cli("role", "add", key, "--label", label)
        callers: dict[str, Credentials] = {
            "planner": installation.agent("planner", "reviewer"),
            "builder": installation.agent("builder", "developer"),
            "anna": Anna(installation),
        }
        player = HttpPlay(installation.serve(), callers)
        for block in pages()[page].blocks:
            if block.language == "http":
                player.send(block)
            else:
                player.compare(block)


def test_the_readme_shows_what_the_demo_prints():
    [excerpt] = [block for block in pages()["README.md"].blocks if block.label == "demo"]
    printed = [_steady(line) for line in finished_demo().output.splitlines()]
    after = 0
    for line in _lines(excerpt):
        assert line in printed[after:], f"{excerpt}: the demo does not print, or not in this order:\n{line}"
        after = printed.index(line, after) + 1


def _lines(excerpt: Block) -> Iterator[str]:
    for line in excerpt.text.splitlines():
        if line.strip() not in {"", "…"}:
            yield _steady(line)


def _steady(line: str) -> str:
    """The line without what is another one on each run: seconds, times of day, process ids, port and folder."""
    line = re.sub(r" *\b\d+\.\d s", " <seconds>", line)
    line = re.sub(r"\b\d\d:\d\d:\d\d\.\d", "<time>", line)
    line = re.sub(r"(process|kill -9) \d+", r"\1 <pid>", line)
    return re.sub(r"127\.0\.0\.1:\d+.*", "<address>", line)
