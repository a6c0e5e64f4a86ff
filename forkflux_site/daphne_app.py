"""Runs the site in daphne, in this process: for systems without gunicorn, such as Windows.

Daphne does not tell the application when it starts and ends, and cuts off what is under way at its end.
"""

from collections.abc import Callable

from daphne.server import Server
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from forkflux_site.asgi import application


def run(*, host: str, port: int, ready: Callable[[], None]) -> None:
    """Serve until the process is told to end; `ready` is called when connections are accepted."""

    def end() -> "Deferred[None]":
        return Deferred.fromCoroutine(application.stop())

    def begin() -> None:
        application.start()
        reactor.addSystemEventTrigger("before", "shutdown", end)  # type: ignore[arg-type]  # its stub is wrong
        ready()

    interface = host.replace(":", r"\:")
    Server(
        application,
        endpoints=[f"tcp:port={port}:interface={interface}"],
        ready_callable=begin,
        server_name="forkflux",
    ).run()
