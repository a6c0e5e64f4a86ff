"""A process with Django in it on a board's database: the operator's hand, and a sweep beside the server's own."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

from forkflux_site.tests.concurrency.crew import GATE_SECONDS, end_with_parent

START_SECONDS = 60.0
SWEEP_SECONDS = 20.0


class Backstage:
    """Calls services of ForkFlux in a process of its own, which runs with the installation's environment."""

    def __init__(self, environment: Mapping[str, str], *, gate: Barrier | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        # Where it and the test start a race; of more than two if it is given one.
        self.gate: Barrier = gate or context.Barrier(2)
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(dict(environment), theirs, self.gate), name="backstage", daemon=True
        )
        self._process.start()
        theirs.close()

    def ask(self, verb: str, **arguments: Any) -> Any:
        """Have a verb of `_VERBS` done and give back what it answered; raises RuntimeError with its error."""
        self.tell(verb, **arguments)
        return self.answer()

    def tell(self, verb: str, **arguments: Any) -> None:
        """Have a verb done without waiting for it; `answer` waits."""
        self._connection.send((verb, arguments))

    def answer(self) -> Any:
        """What the verb that was told last came to."""
        assert self._connection.poll(START_SECONDS), "backstage does not answer"
        done, result = self._connection.recv()
        if not done:
            raise RuntimeError(f"backstage: {result}")
        return result

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def _serve(environment: dict[str, str], connection: Connection, gate: Barrier) -> None:
    end_with_parent()
    os.environ.clear()
    os.environ.update(environment)
    os.environ["DJANGO_SETTINGS_MODULE"] = "forkflux_site.settings"
    import django

    django.setup()
    while True:
        try:
            verb, arguments = connection.recv()
        except EOFError:
            return
        try:
            connection.send((True, _VERBS[verb](gate, **arguments)))
        except Exception as error:  # noqa: BLE001 - told to the process that asked
            connection.send((False, repr(error)))


def _add_role(gate: Barrier, *, key: str, **policy: Any) -> None:
    from core.actors import SYSTEM
    from roles.services import create_role

    create_role(actor=SYSTEM, role_key=key, role_label=key, **policy)


def _add_agents(gate: Barrier, *, labels: Sequence[str], roles: Sequence[str]) -> list[tuple[str, int, str]]:
    from agents.services import register_agent
    from core.actors import SYSTEM

    made = [register_agent(actor=SYSTEM, agent_label=label, role_keys=roles) for label in labels]
    return [(agent.name, agent.pk, issued.secret) for agent, issued in made]


def _pause(gate: Barrier, *, key: str) -> None:
    from core.actors import SYSTEM
    from roles.services import pause_role

    pause_role(actor=SYSTEM, role_key=key, reason="The release is frozen")


def _resume(gate: Barrier, *, key: str) -> None:
    from core.actors import SYSTEM
    from roles.services import resume_role

    resume_role(actor=SYSTEM, role_key=key)


def _sweep(gate: Barrier) -> dict[str, Any]:
    from jobs.services.sweeping import sweep_once

    report = sweep_once()
    return {"expired": report.expired, "lapsed": report.lapsed, "errors": report.errors}


def _sweep_from_the_gate(gate: Barrier, *, job_id: int) -> dict[str, Any]:
    """Sweep again and again from the gate on until the job has no lease that is about to end."""
    from django.utils import timezone

    from jobs.models import Job

    gate.wait(GATE_SECONDS)
    soon = timezone.now() + timedelta(seconds=SWEEP_SECONDS)
    deadline = time.monotonic() + SWEEP_SECONDS
    told: dict[str, Any] = {"expired": [], "errors": []}
    while time.monotonic() < deadline:
        report = _sweep(gate)
        told["expired"] += report["expired"]
        told["errors"] += report["errors"]
        if not Job.objects.filter(pk=job_id, lease_expires_at__lt=soon).exists():
            return told
    raise TimeoutError(f"job {job_id} kept its lease")


_VERBS: dict[str, Callable[..., Any]] = {
    "add_role": _add_role,
    "add_agents": _add_agents,
    "pause": _pause,
    "resume": _resume,
    "sweep": _sweep,
    "sweep_from_the_gate": _sweep_from_the_gate,
}
