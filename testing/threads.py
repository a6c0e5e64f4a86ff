"""Several calls at the same moment, each in a thread with a database connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connections

JOIN_SECONDS = 60.0


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each call answered, or the exception that it raised, in the order of the calls."""
    barrier = threading.Barrier(len(calls))
    answers: list[Any] = [None] * len(calls)

    def run(number: int) -> None:
        try:
            barrier.wait(JOIN_SECONDS)
            answers[number] = calls[number]()
        except Exception as error:  # noqa: BLE001 - handed to the test, which says what it expected
            answers[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(JOIN_SECONDS)
        if thread.is_alive():
            raise AssertionError(f"a call did not end within {JOIN_SECONDS:g} s")
    return answers
