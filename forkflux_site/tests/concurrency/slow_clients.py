"""Clients that stop in the middle of a request's body, and that repeat on the same connection what was refused."""

from __future__ import annotations

import functools
import http.client
import json
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

from forkflux_site.tests.concurrency.crew import GATE_SECONDS, Race
from forkflux_site.tests.concurrency.wire import SECONDS, Answer, Wire, answer_of, publication


def publish_slowly(race: Race, url: str, role: str, tokens: Sequence[str]) -> list[list[Answer]]:
    """One client for each token; for each, its answers up to the one that was no refusal."""
    return race.in_threads([functools.partial(_publish_slowly, race, url, role, token) for token in tokens])


def _publish_slowly(race: Race, url: str, role: str, token: str) -> list[Answer]:
    address = urlsplit(url)
    body = json.dumps(publication(role)).encode()
    half = len(body) // 2
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=SECONDS)
    connection.putrequest("POST", "/api/v1/mcp/jobs")
    connection.putheader("Authorization", f"Bearer {token}")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body[:half])
    race.count()
    assert race.flag.wait(GATE_SECONDS)
    connection.send(body[half:])
    answers = [answer_of(connection.getresponse())]
    race.count()
    with Wire.over(connection, token) as wire:
        while answers[-1].status == 503:
            threading.Event().wait(float(answers[-1].headers["retry-after"]) / 10)
            answers.append(wire.publish(role))
    assert answers[-1].status == 201, answers[-1]
    return answers
