"""A limit on the requests of a token: off by default, and counted by token when it is on."""

from __future__ import annotations

import pytest
from rest_framework.throttling import SimpleRateThrottle

from agents.models import Agent
from core.api.rates import TokenRateThrottle
from testing.wire import Board, another_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def three_a_minute(settings):
    settings.FORKFLUX_TOKEN_REQUESTS_PER_MINUTE = 3
    SimpleRateThrottle.cache.clear()
    yield
    SimpleRateThrottle.cache.clear()


def test_a_token_that_called_too_often_is_told_when_to_go_on_and_others_go_on(
    board: Board, three_a_minute: None
) -> None:
    mine, other = (another_token(Agent.objects.get(name="dev-agent")) for _ in range(2))
    assert [mine.call("GET", "/agents/me").status_code for _ in range(3)] == [200, 200, 200]
    refused = mine.call("GET", "/agents/me")
    assert refused.status_code == 429
    assert refused.json()["code"] == "rate_limited"
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert f"in {refused['Retry-After']} s" in refused.json()["detail"]
    assert other.call("GET", "/agents/me").status_code == 200


def test_without_a_limit_nothing_is_counted(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(self, request, view):
        raise AssertionError("a throttle was asked")

    monkeypatch.setattr(TokenRateThrottle, "allow_request", unexpected)
    assert another_token(Agent.objects.get(name="dev-agent")).call("GET", "/agents/me").status_code == 200
