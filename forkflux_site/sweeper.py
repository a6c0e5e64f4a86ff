"""The sweep at its interval: what time alone changes (leases that ran out, jobs that lapse) is seen here."""

import threading
from collections.abc import Callable

import structlog

from core.limits import LIMITS

log = structlog.get_logger(__name__)


def sweep_now() -> object:
    """One sweep; gives back its report."""
    from jobs.services.sweeping import sweep_once

    return sweep_once()


class Sweeper:
    """Sweeps at once and then every `interval_seconds` until it is stopped, whatever a single sweep does."""

    def __init__(
        self,
        *,
        interval_seconds: float = LIMITS.sweep_seconds,
        sweep: Callable[[], object] = sweep_now,
        on_report: Callable[[object], None] | None = None,
    ) -> None:
        self._interval_seconds = interval_seconds
        self._sweep = sweep
        self._on_report = on_report
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Sweep in a thread of its own; may be called once."""
        self._thread = threading.Thread(target=self.run, name="forkflux-sweep", daemon=True)
        self._thread.start()

    def request_stop(self) -> None:
        """End the loop after the sweep that may be under way; safe to call in a signal handler."""
        self._stopped.set()

    def stop(self, *, timeout_seconds: float) -> None:
        """End the loop and wait for its thread."""
        self.request_stop()
        if self._thread is not None:
            self._thread.join(timeout_seconds)
            if self._thread.is_alive():
                log.warning("the sweep did not end with the server")

    def run(self) -> None:
        """The loop itself, in the thread of the caller."""
        # Imported late: the models behind it exist once Django is set up.
        from jobs.services.sweeping import sweep_forever

        sweep_forever(
            self._stopped,
            sweep=self._sweep,
            interval_seconds=self._interval_seconds,
            on_report=self._on_report,
        )
