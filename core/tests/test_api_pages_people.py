"""Each of people's routes as a page: whoever may use it finds a form with an example, whoever may not finds none."""

import html
import json
import re
from typing import Any

import pytest
from django.urls import get_resolver

from testing.people import UI, operator, viewer
from testing.wire import Board, Caller

pytestmark = pytest.mark.django_db

# What starts a form or a button that changes something.
CHANGES = re.compile(r'method="POST"|data-method="(?:PUT|PATCH|DELETE)"')


def pages() -> list[tuple[str, dict[str, str], Any]]:
    """Path, what each method does, and the class of every route for people."""
    found = []
    for group in get_resolver().url_patterns:
        if str(group.pattern) == "api/v1/ui/":
            for pattern in group.url_patterns:
                # Reads in a transaction of its own: events/tests/test_ui_verify.py.
                if str(pattern.pattern) == "audit/verify":
                    continue
                callback: Any = pattern.callback
                found.append((str(pattern.pattern), callback.actions, callback.cls))
    return found


@pytest.fixture
def numbers() -> dict[str, int]:
    """An id of each noun."""
    board = Board()
    job_id = board.job()
    anna = operator("setter-up")
    role_id = anna.get(f"{UI}/agents/roles").json()[1]["id"]
    token_id = anna.get(f"{UI}/agents/{board.qa.agent_id}/tokens").json()[0]["token_id"]
    return {"job_id": job_id, "agent_id": board.qa.agent_id, "role_id": role_id, "token_id": token_id}


def opened(caller: Caller, path: str, numbers: dict[str, int]) -> str:
    address = re.sub(r"<str:(\w+)>", lambda found: str(numbers[found[1]]), path)
    answer = caller.get(f"{UI}/{address}", Accept="text/html")
    # A route that has no GET is still a page, which says so above its forms.
    assert answer.status_code in (200, 405), (path, answer.content)
    page: str = answer.content.decode()
    return page


@pytest.mark.parametrize(("path", "actions", "view"), pages(), ids=[path for path, *_ in pages()])
def test_a_page_offers_what_its_reader_may_do(path: str, actions: dict[str, str], view, numbers) -> None:
    page = opened(operator(), path, numbers)
    written = [method for method in actions if method not in ("get", "head")]
    assert bool(CHANGES.search(page)) is bool(written)
    for method in written:
        if method != "delete":
            example = json.dumps(view.inputs[actions[method]].example, indent=2, ensure_ascii=False)
            assert example in html.unescape(page), method
    assert not CHANGES.search(opened(viewer(), path, numbers))
