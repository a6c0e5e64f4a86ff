"""The watch over secrets sees what it is there for, and its tests would be worth nothing if it did not."""

import logging

import pytest
from django.test import Client

from agents.models import Agent
from agents.services import issue_token, register_agent
from testing import secrets_watch
from testing.people import PASSWORD
from testing.secrets_watch import WATCH, found_in, remember, rows_with_secrets
from testing.wire import OPERATOR, bearer

pytestmark = pytest.mark.django_db
logger = logging.getLogger("testing.secrets")


@pytest.fixture
def secret() -> str:
    _, issued = register_agent(actor=OPERATOR, agent_label="Watched", role_keys=[])
    return issued.secret


def leaks() -> list[str]:
    """What was noticed, taken from those who would fail the test for it."""
    seen = list(WATCH.leaks)
    WATCH.leaks.clear()
    return seen


def test_a_token_is_known_from_when_it_is_made_wherever_it_stands_in_a_text(secret):
    assert found_in(f"Bearer {secret}.") == [secret]
    assert found_in(f"x{secret}y") == [secret]
    assert found_in(secret[:-1]) == []
    assert found_in("Z" * 43) == []
    assert found_in(f"name=anna&password={PASSWORD}") == [PASSWORD]


def test_a_log_line_with_a_secret_is_noticed_in_text_values_and_exceptions(secret):
    logger.warning("refused %s", secret)
    logger.warning("refused", extra={"credential": secret})
    try:
        raise ValueError(secret)
    except ValueError:
        logger.exception("failed")
    assert len(leaks()) == 3
    logger.warning("refused")
    assert leaks() == []


def test_an_error_body_with_a_secret_is_noticed_and_the_answer_that_shows_it_is_not(secret, monkeypatch):
    monkeypatch.setattr("core.api.refusals.InvalidToken.__doc__", f"No such token: {secret}")
    assert bearer("x").get("/agents/me").status_code == 401
    [leak] = leaks()
    assert leak.startswith("a 401 of /api/v1/mcp/agents/me holds")
    assert Client(SERVER_NAME="localhost").get("/api/v1/health").status_code == 204
    assert leaks() == []


def test_a_stored_secret_is_noticed(secret):
    assert rows_with_secrets() == []
    Agent.objects.filter(name="watched").update(status_line=f"my token is {secret}")
    assert rows_with_secrets() == ["agents_agent.status_line"]


def test_every_way_to_a_token_is_watched():
    agent, first = register_agent(actor=OPERATOR, agent_label="Another", role_keys=[])
    second = issue_token(actor=OPERATOR, agent_name=agent.name)
    assert {first.secret, second.secret} <= secrets_watch._MADE
    assert remember("a spoken password") in found_in("it was a spoken password")
    secrets_watch._SPOKEN.discard("a spoken password")
