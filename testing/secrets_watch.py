"""Watches over the whole suite that no token or password of a test turns up in a log line, an error, or a stored row.

A token is remembered when it is made. It may be in one place only: the answer, with a status below 400, of the call
that made it.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from django.db import connection
from django.test import Client

# As `secrets.token_urlsafe(32)` writes them: found in a text by their form, and known by their value.
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43,}")
_TOKEN_LENGTH = 43
_MADE: set[str] = set()
_SPOKEN: set[str] = set()
_ERROR = 400


def remember(secret: str) -> str:
    """From now on this text must not turn up anywhere."""
    (_MADE if _TOKEN.fullmatch(secret) and len(secret) == _TOKEN_LENGTH else _SPOKEN).add(secret)
    return secret


def found_in(text: str) -> list[str]:
    """The remembered secrets that a text holds."""
    tokens = [
        run[start : start + _TOKEN_LENGTH]
        for run in _TOKEN.findall(text)
        for start in range(len(run) - _TOKEN_LENGTH + 1)
    ]
    return [token for token in tokens if token in _MADE] + [word for word in _SPOKEN if word in text]


class LogWatch(logging.Handler):
    """Reads every record that is emitted in this process, with all that it carries."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.leaks: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        carried = (str(value) for name, value in vars(record).items() if name not in {"exc_info", "args"})
        text = "\n".join([record.getMessage(), *carried])
        if record.exc_info and record.exc_info[1] is not None:
            text += f"\n{record.exc_info[1]}"
        if leaked := found_in(text):
            self.leaks.append(f"a log line of {record.name} holds {leaked[0][:6]}…: {record.msg}")


WATCH = LogWatch()


def install() -> None:
    """Begin to watch: logs, the error bodies of Django's test client, and every token that is issued."""
    import agents.services

    logging.getLogger().addHandler(WATCH)
    made = SimpleNamespace(token_urlsafe=lambda length: remember(secrets.token_urlsafe(length)))
    setattr(agents.services, "secrets", made)  # noqa: B010 - the module's own import of it, for this process
    request = Client.request

    def watched(self: Client, **environ: Any) -> Any:
        response = request(self, **environ)
        if response.status_code >= _ERROR and not response.streaming:
            text = response.content.decode(errors="replace")
            if leaked := found_in(text):
                WATCH.leaks.append(
                    f"a {response.status_code} of {environ.get('PATH_INFO')} holds {leaked[0][:6]}…"
                )
        return response

    Client.request = watched  # type: ignore[method-assign]


def rows_with_secrets(tables: Iterable[str] | None = None) -> list[str]:
    """`table.column` of every stored value that holds a remembered secret."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor) if tables is None else tables:
            names = [column.name for column in connection.introspection.get_table_description(cursor, table)]
            # As it is stored: a test may have put anything into a column.
            kind = "blob" if connection.vendor == "sqlite" else "text"
            columns = ", ".join(f"CAST({connection.ops.quote_name(name)} AS {kind})" for name in names)
            cursor.execute(f"SELECT {columns} FROM {connection.ops.quote_name(table)}")
            for row in cursor.fetchall():
                found += [
                    f"{table}.{name}"
                    for name, value in zip(names, row, strict=True)
                    if found_in(_text(value))
                ]
    return found


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
