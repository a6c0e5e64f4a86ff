"""Logging to standard error, plain or as JSON lines, without what must never be in a log.

Never logged: bodies, credentials, and what follows the `?` of an address (it may hold a token).
"""

import re
from typing import Any

import structlog

from core import env

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
FORMATS = ("plain", "json")

_NAMED = re.compile(
    r"""(?ix) \b ( (?: authorization | [\w-]*api[_-]?key | [\w-]*token | secret[_-]?key | [\w-]*password | cookie )
    ["']? \s* [:=] \s* ["']? (?: (?: bearer | basic ) \s+ )? ) [^\s'",}]{3,}"""
)
_SCHEME = re.compile(r"(?i)\b((?:bearer|basic)\s+)[\w.~+/=-]{12,}")
_QUERY = re.compile(r"(/[^\s?'\"]*)\?[^\s'\"]+")


def without_secrets(text: str) -> str:
    """The text with query strings and everything that looks like a credential taken out."""
    for pattern in (_NAMED, _SCHEME):
        text = pattern.sub(r"\1[removed]", text)
    return _QUERY.sub(r"\1?[removed]", text)


# What our own log calls say beside their sentence. What other libraries attach (Django: the request) stays out.
_SAID = ("verb", "attempt", "job_id", "error")
# A stranger's doing, at a stranger's pace: one line tells it, a traceback each time would fill the disk.
_STRANGERS = frozenset({"django.security.DisallowedHost"})


def _without_strangers_traces(
    _logger: Any, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    if event.get("logger") in _STRANGERS:
        event.pop("exc_info", None)
    return event


def _remove_secrets(
    _logger: Any, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = without_secrets(value)
    return event


def logging_from_environment() -> dict[str, Any]:
    """Python's logging configuration, from FORKFLUX_LOG_LEVEL and FORKFLUX_LOG_FORMAT."""
    level = env.choice("FORKFLUX_LOG_LEVEL", "WARNING", LEVELS)
    as_json = env.choice("FORKFLUX_LOG_FORMAT", "plain", FORMATS) == "json"
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ExtraAdder(allow=_SAID),
        _without_strangers_traces,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _remove_secrets,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Its own handlers are dropped so that each line is written once, in our form.
            "django": {"handlers": [], "level": level, "propagate": True},
            "gunicorn.error": {"handlers": [], "level": level, "propagate": True},
            # A 404 for an empty queue is an answer, not a warning: one line for each would hide the errors.
            "django.request": {"level": "ERROR" if level == "WARNING" else level},
            # At DEBUG it writes every statement with its values: payloads and token hashes.
            "django.db.backends": {"level": "WARNING" if level == "DEBUG" else level},
        },
    }
