"""README.md and docs/ hang together: every block is tested somehow, every link, name and picture is good.

What the pages tell a reader to type is typed in test_docs_played.py; test_docs_tables.py compares the tables.
"""

import importlib.util
import re
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from django.core.management import get_commands

from forkflux_site.tests.doc_pages import Block, Page, pages
from testing.installation import ROOT

PAGES = list(pages().values())
# Language → what a test does with the block: test_docs_played.py on the pages that it plays, `make` and `module`
# here on all of them.
LABELS = {
    "bash": {"clone", "environment", "serve", "run", "make", "module"},
    "json": {"answer"},
    "http": {"run"},
    "text": {"output", "demo"},
}
PLAYED = {
    "README.md",
    "docs/getting-started.md",
    "docs/api-reference.md",
    "docs/api-reference-people.md",
}
_COMMAND = re.compile(r"^\s*(\$ |curl |forkflux |make |git |source |export |tools/|\{|\[\{)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_a_test_does_with_it(page: Page):
    for block in page.blocks:
        assert says_what_is_tested(block), (
            f"{block}: write the label behind the language, one of {LABELS}; "
            "a picture without commands is ```text"
        )


def says_what_is_tested(block: Block) -> bool:
    if block.language == "text" and not block.label:
        return not _COMMAND.search(block.text)
    if block.language == "bash" and block.label == "make":
        return all(re.fullmatch(r"make [a-z]+", line) for line in block.text.splitlines())
    if block.language == "bash" and block.label == "module":
        named = [re.fullmatch(r"python -m ([\w.]+)", line) for line in block.text.splitlines()]
        return all(match and importlib.util.find_spec(match[1]) for match in named)
    return (
        block.label in LABELS.get(block.language, set()) and block.page.relative_to(ROOT).as_posix() in PLAYED
    )


@pytest.mark.parametrize(
    ("language", "label", "text", "fine"),
    [
        ("bash", "run", "forkflux init\n", True),
        ("bash", "", "forkflux init\n", False),
        ("bash", "make", "make test\n", True),
        ("bash", "make", "rm -rf .venv\n", False),
        ("bash", "module", "python -m tools.demo\n", True),
        ("bash", "module", "python -m tools.nothing\n", False),
        ("bash", "later", "forkflux init\n", False),
        ("json", "", "{}\n", False),
        ("", "", "a\n", False),
        ("text", "", "a ──▶ b\n", True),
        ("text", "", "$ forkflux init\n", False),
        ("text", "", '{"a": 1}\n', False),
    ],
)
def test_a_block_without_a_label_is_found(language, label, text, fine):
    block = Block(ROOT / "README.md", 1, language, label, {}, text)
    assert says_what_is_tested(block) is fine


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Page):
    wrong = [
        f"{page.name}:{line}: {target}" for line, target in page.links() if not leads_somewhere(page, target)
    ]
    assert not wrong, "\n".join(wrong)


def leads_somewhere(page: Page, target: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme:
        return True
    path = (page.path.parent / parts.path).resolve() if parts.path else page.path
    if not path.is_relative_to(ROOT) or not path.exists():
        return False
    if not parts.fragment:
        return True
    other = pages().get(path.relative_to(ROOT).as_posix())
    return other is not None and parts.fragment in other.anchors()


def test_a_link_to_nowhere_is_found():
    page = pages()["docs/overview.md"]
    assert leads_somewhere(page, "core-concepts.md#the-life-table")
    assert not leads_somewhere(page, "core-concepts.md#the-death-table")
    assert not leads_somewhere(page, "no-such-page.md")
    assert not leads_somewhere(page, "../../elsewhere.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_command_is_broken_over_two_lines(page: Page):
    broken = [f"{page.name}:{line}" for line, text in page.prose if text.count("`") % 2]
    assert not broken, "a reader who looks for a command finds half of it"


def test_a_test_that_a_page_names_is_in_the_file_that_it_links():
    named = re.compile(r"\[`(test_\w+)`\]\(([^)]+)\)")
    found = [(page, match) for page in PAGES for _, line in page.prose for match in named.finditer(line)]
    assert found
    for page, match in found:
        text = (page.path.parent / match[2]).read_text(encoding="utf-8")
        assert f"def {match[1]}(" in text, f"{page.name}: {match[2]} has no {match[1]}"


def test_every_page_is_in_the_list_of_pages():
    listed = {target for _, target in pages()["docs/README.md"].links()}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"} <= listed


def test_a_photograph_of_a_page_is_shown_somewhere_with_words_for_it_and_is_not_large():
    shown = {
        (page.path.parent / name).resolve(): words
        for page in PAGES
        for _, line in page.prose
        for words, name in re.findall(r"!\[([^\]]*)\]\(([^)]+\.png)\)", line)
    }
    photographs = set((ROOT / "docs" / "images").glob("*.png"))
    assert photographs
    assert photographs == set(shown)
    assert all(len(words) > 20 for words in shown.values())
    assert all(path.stat().st_size < 200_000 for path in photographs)


def test_every_command_and_target_that_a_page_names_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        for line, text in page.prose:
            for name in re.findall(r"`forkflux ([a-z_]+)", text):
                assert name in get_commands(), f"{page.name}:{line}: forkflux {name}"
            for name in re.findall(r"`make ([a-z]+)", text):
                assert name in targets, f"{page.name}:{line}: make {name}"
        for block in page.blocks:
            for name in re.findall(r"^make ([a-z]+)", block.text, re.MULTILINE):
                assert name in targets, f"{block}: make {name}"


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "images").glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_says_in_words_what_it_shows_and_loads_nothing(path):
    root = ElementTree.parse(path).getroot()  # noqa: S314 - our own file
    space = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{space}title") is not None
    assert root.find(f"{space}desc") is not None
    text = path.read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"href=|url\((?!#)|<script|<image", text)
