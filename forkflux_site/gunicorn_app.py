"""Runs gunicorn with ForkFlux in it: `serve` turns into this program once everything is prepared.

A program of its own, not `python -m gunicorn`: that one puts the working directory in front of Python's
search path, and a folder named `core` or `jobs` in it would then be imported instead of ours.
"""

import resource
import sys
from typing import Any

from gunicorn.app.base import BaseApplication

from core import env
from core.limits import LIMITS
from forkflux_site.logs import LEVELS, logging_from_environment


def configuration(*, listener: int, workers: int) -> dict[str, Any]:
    """Gunicorn's settings; `listener` is the inherited file descriptor of the bound socket."""
    body_seconds = env.seconds("FORKFLUX_BODY_SECONDS", 60, low=0.05, high=3_600)
    return {
        "bind": f"fd://{listener}",
        "workers": workers,
        "worker_class": "forkflux_site.gunicorn_worker.Worker",
        # Longer than common clients keep an unused connection (httpx 5 s, browsers and proxies about 60 s):
        # the side that closes first should be the client, which then cannot be in the middle of a request.
        "keepalive": 75,
        # A request has its deadline, so this is enough for all that are under way at the end.
        "graceful_timeout": round(LIMITS.request_deadline_seconds) + 5,
        # A worker whose event loop has been stuck for this long is replaced. Gunicorn also ends the wait for
        # a body that does not come after this time, so it must be above the dispatcher's own bounds.
        "timeout": round(body_seconds) + 30,
        "backlog": 1_024,
        "limit_request_line": 8_190,
        "limit_request_fields": 100,
        "limit_request_field_size": 16_380,
        # Whether a proxy may be believed is decided in Django's settings alone.
        "forwarded_allow_ips": "",
        "secure_scheme_headers": {},
        # Its socket would lie in the user's home and be shared by all servers of that user.
        "control_socket_disable": True,
        "accesslog": None,
        "errorlog": "-",
        "loglevel": env.choice("FORKFLUX_LOG_LEVEL", "WARNING", LEVELS).lower(),
        "logconfig_dict": logging_from_environment(),
        "proc_name": "forkflux",
    }


class Program(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn's arbiter with settings that come from here only: no file, no GUNICORN_CMD_ARGS."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        from forkflux_site.asgi import application

        return application


def main() -> None:
    """`python -m forkflux_site.gunicorn_app LISTENER WORKERS`."""
    allow_many_connections()
    Program(configuration(listener=int(sys.argv[1]), workers=int(sys.argv[2]))).run()


def allow_many_connections() -> None:
    """Allow as many open connections as the system lets this user have; the usual default is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    main()
