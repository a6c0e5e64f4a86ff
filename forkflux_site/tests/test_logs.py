"""What must never be in a log is taken out."""

import io
import json
import logging
import logging.config
from collections.abc import Iterator

import pytest

from forkflux_site.logs import logging_from_environment, without_secrets


@pytest.mark.parametrize(
    "text",
    [
        "GET /api/v1/jobs?api_token=s3cret-s3cret HTTP/1.1",
        "Authorization: Bearer s3cret-s3cret",
        "{'Authorization': 'Bearer s3cret-s3cret'}",
        "authorization=s3cret-s3cret",
        "Basic s3cret-s3cret",
        '{"api_token": "s3cret-s3cret"}',
        "password='s3cret-s3cret'",
        "SECRET_KEY=s3cret-s3cret",
        "X-Api-Key: s3cret-s3cret",
    ],
)
def test_credentials_and_queries_are_removed(text: str) -> None:
    assert "s3cret" not in without_secrets(text)


@pytest.mark.parametrize(
    "text", ["Not Found: /api/v1/jobs/7", "the token of agent 3 was revoked", "what is this? nothing", "a?b"]
)
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert without_secrets(text) == text


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What is logged as JSON lines for the length of a test."""
    monkeypatch.setenv("FORKFLUX_LOG_FORMAT", "json")
    stream = io.StringIO()
    configuration = logging_from_environment()
    configuration["handlers"]["stderr"]["stream"] = stream
    before = logging.root.handlers[:], logging.root.level
    try:
        logging.config.dictConfig(configuration)
        yield stream
    finally:
        logging.root.handlers[:], logging.root.level = before


def _fail(logger: str, **extra: object) -> None:
    try:
        raise RuntimeError("Bearer s3cret-s3cret")
    except RuntimeError:
        logging.getLogger(logger).exception("it failed", extra=extra)


def test_every_line_passes_the_filter_also_that_of_other_libraries(written: io.StringIO) -> None:
    logging.getLogger("somebody.else").warning(
        "asked %s", "/x?token=s3cret-s3cret", extra={"request": "s3cret"}
    )
    _fail("somebody.else")
    first, second = map(json.loads, written.getvalue().splitlines())
    assert first["event"] == "asked /x?[removed]"
    assert (first["level"], first["logger"]) == ("warning", "somebody.else")
    assert "RuntimeError" in second["exception"]
    assert "s3cret" not in written.getvalue()


def test_statements_with_their_values_are_not_logged_even_at_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKFLUX_LOG_LEVEL", "DEBUG")
    assert logging_from_environment()["loggers"]["django.db.backends"]["level"] == "WARNING"


def test_what_our_own_calls_say_beside_their_sentence_is_told(written: io.StringIO) -> None:
    _fail("jobs.services.sweeping", verb="expire", job_id=7)

    told = json.loads(written.getvalue())
    assert (told["verb"], told["job_id"]) == ("expire", 7)


def test_a_wrong_host_is_told_in_one_line_without_a_traceback(written: io.StringIO) -> None:
    _fail("django.security.DisallowedHost")

    assert "exception" not in json.loads(written.getvalue())
