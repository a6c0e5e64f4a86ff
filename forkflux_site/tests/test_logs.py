"""What must never be in a log is taken out."""

import io
import json
import logging
import logging.config

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


def test_every_line_passes_the_filter_also_that_of_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKFLUX_LOG_FORMAT", "json")
    written = io.StringIO()
    configuration = logging_from_environment()
    configuration["handlers"]["stderr"]["stream"] = written
    before = logging.root.handlers[:], logging.root.level
    try:
        logging.config.dictConfig(configuration)
        logging.getLogger("somebody.else").warning(
            "asked %s", "/x?token=s3cret-s3cret", extra={"request": "s3cret"}
        )
        try:
            raise RuntimeError("Bearer s3cret-s3cret")
        except RuntimeError:
            logging.getLogger("somebody.else").exception("it failed")
    finally:
        logging.root.handlers[:], logging.root.level = before
    first, second = map(json.loads, written.getvalue().splitlines())
    assert first["event"] == "asked /x?[removed]"
    assert (first["level"], first["logger"]) == ("warning", "somebody.else")
    assert "RuntimeError" in second["exception"]
    assert "s3cret" not in written.getvalue()


def test_statements_with_their_values_are_not_logged_even_at_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKFLUX_LOG_LEVEL", "DEBUG")
    assert logging_from_environment()["loggers"]["django.db.backends"]["level"] == "WARNING"
