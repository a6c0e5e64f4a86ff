"""The ASGI application that `forkflux serve` runs: HTTP, websockets, and the life of the process."""

import asyncio
from typing import Any

from django.conf import settings
from django.db import connections

from core.limits import LIMITS
from forkflux_site.dispatcher import Dispatcher
from forkflux_site.request_body import BodyRules, Receive, Send
from forkflux_site.sweeper import Sweeper
from forkflux_site.wsgi import application as wsgi_application

# Below what the server gives a process to end (`forkflux_site.gunicorn_conf`).
_STOP_SECONDS = 20.0


class Site:
    """One process of the server: HTTP goes to Django's threads, beside them runs the sweep."""

    def __init__(self) -> None:
        self.dispatcher = Dispatcher(
            wsgi_application,
            threads=settings.FORKFLUX_THREADS,
            queue_max=settings.FORKFLUX_QUEUE_MAX,
            deadline_seconds=LIMITS.request_deadline_seconds,
            body_rules=BodyRules(
                max_bytes=LIMITS.body_max_bytes,
                grace_seconds=settings.FORKFLUX_BODY_GRACE_SECONDS,
                least_bytes_per_second=settings.FORKFLUX_BODY_LEAST_BYTES_PER_SECOND,
                total_seconds=settings.FORKFLUX_BODY_SECONDS,
            ),
            on_thread_exit=connections.close_all,
        )
        self.sweeper = Sweeper()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Route by the kind of connection."""
        if scope["type"] == "http":
            await self.dispatcher(scope, receive, send)
        elif scope["type"] == "websocket":
            await refuse_websocket(receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            raise ValueError(f"There is no handler for connections of type {scope['type']!r}.")

    def start(self) -> None:
        """Start threads and sweep; for servers that do not announce the start of a process themselves."""
        self.dispatcher.start()
        self.sweeper.start()

    async def stop(self) -> None:
        """Finish what is under way, then end threads, sweep and database connections."""
        self.sweeper.request_stop()
        await self.dispatcher.stop(timeout_seconds=_STOP_SECONDS)
        await asyncio.to_thread(self.sweeper.stop, timeout_seconds=5.0)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.start()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return


async def refuse_websocket(receive: Receive, send: Send) -> None:
    """Close the handshake of a websocket whose address leads nowhere; the client sees a 403."""
    if (await receive())["type"] == "websocket.connect":
        await send({"type": "websocket.close", "code": 4404})


application = Site()
