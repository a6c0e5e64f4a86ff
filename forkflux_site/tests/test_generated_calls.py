"""Calls generated from the OpenAPI document, well formed and spoiled: no 5xx, and each answer fits the document."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from agents.models import AgentToken
from forkflux_site.wsgi import application
from jobs.services.blocking import block
from jobs.services.claiming import claim
from jobs.services.closing import complete, fail
from jobs.tests.board import PERSON, caller, new_agent, new_role, published
from roles.services import pause_role
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.people import PASSWORD, operator
from testing.wire import basic_headers

pytestmark = [pytest.mark.usefixtures("db"), pytest.mark.slow, pytest.mark.timeout(3_000)]

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# In a spoiled call, what the generator wrote into a query or header may be anything at all.
SPOILED = "spoiled"
SAMPLES = 9
POISON = st.sampled_from(
    [
        "\x00", "a\x00b", "\ud800", "\u202e", "' OR 1=1 --", "<script>", "../../etc/passwd", "9" * 400, "-1",
        "NaN", "true", "null", "[]", "{}", "%00", "é" * 300, "\U0001f600", " ", "",
    ]
)  # fmt: skip


MOSTLY = st.sampled_from([True, True, True, False])


class World:
    """What generated ids can hit: jobs in every state, agents, roles, tokens; and who calls."""

    def __init__(self) -> None:
        self.roles = [new_role() for _ in range(3)]
        self.agent = new_agent(*self.roles)
        self.token = caller(self.agent).secret
        # What is revoked or deactivated meanwhile must not be the caller's own.
        self.colleague = new_agent(*self.roles)
        self.jobs = [published(self.agent, self.roles[0]).pk for _ in range(6)]
        for job_id in self.jobs[1:]:
            claim(job_id=job_id, actor=self.agent)
        block(job_id=self.jobs[2], actor=self.agent, blocked_reason="?")
        fail(job_id=self.jobs[3], actor=self.agent, failure_reason="Windy")
        complete(job_id=self.jobs[4], actor=self.agent)
        pause_role(actor=PERSON, role_key=self.roles[2].role_key, reason="Rest")
        operator("generated-calls")

    def application(self, environ: dict[str, Any], start_response: Any) -> Any:
        """The product, with the credential of somebody who may: the generator takes its own out again."""
        by_people = "/ui/" in environ["PATH_INFO"]
        somebody = basic_headers("generated-calls", PASSWORD)["Authorization"]
        environ["HTTP_AUTHORIZATION"] = somebody if by_people else f"Bearer {self.token}"
        environ["HTTP_HOST"] = "localhost"
        return application(environ, start_response)

    def ids(self, name: str) -> list[int]:
        known = {
            "job_id": self.jobs,
            "agent_id": [self.colleague.agent_id or 0],
            "role_id": [role.pk for role in self.roles],
            "token_id": list(
                AgentToken.objects.filter(agent_id=self.colleague.agent_id or 0).values_list("pk", flat=True)
            ),
        }
        return known.get(name, [1])


@pytest.fixture
def world(db: None) -> Iterator[World]:
    yield World()
    User.objects.filter(username="generated-calls").delete()


def operations(world: World) -> list[Any]:
    document = SchemaGenerator().get_schema(request=None, public=True)
    schema = schemathesis.openapi.from_dict(document)
    schema.app = world.application
    return [found.ok() for found in schema.get_all_operations()]


@pytest.mark.parametrize(
    "mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["well formed", SPOILED]
)
def test_generated_calls_have_documented_answers_and_never_a_5xx(
    world, rounds, mode, capsys, record_property
):
    wanted = rounds(SAMPLES // 2, 260)
    statuses: Counter[int] = Counter()
    for operation in operations(world):
        _play(operation, world, mode, wanted, statuses)
    told = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
    with capsys.disabled():
        print(f"\n{sum(statuses.values())} generated calls: {told}")  # noqa: T201 - the soak's output is quoted
    record_property("generated_calls", told)
    assert statuses.total() >= wanted * 30
    assert max(statuses) < 500
    # A generator that only ever got refusals would prove little.
    assert statuses.keys() & {200, 201, 204}


def _play(operation: Any, world: World, mode: GenerationMode, wanted: int, statuses: Counter[int]) -> None:
    strategy = operation.as_strategy(generation_mode=mode)

    @seed(20261201)
    @settings(
        max_examples=wanted,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy, real=MOSTLY, poison=st.one_of(*[st.none()] * 4, POISON), data=st.data())
    def call(case: Any, real: bool, poison: str | None, data: Any) -> None:
        for name, value in (case.path_parameters or {}).items():
            # With these the address would be that of another route.
            if real or not re.fullmatch(r"[^/?#%\\.]+", str(value)):
                case.path_parameters[name] = data.draw(st.sampled_from(world.ids(name)))
        if poison is not None and isinstance(case.body, dict) and case.body:
            case.body[data.draw(st.sampled_from(sorted(case.body)))] = poison
        try:
            response = case.call()
        except (UnicodeEncodeError, ValueError):
            # Not a call that HTTP can carry: a lone surrogate in a header or a path.
            return
        statuses[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    # A route that takes nothing cannot be called wrongly.
    with contextlib.suppress(Unsatisfiable):
        call()


def test_the_check_sees_an_answer_that_does_not_fit(world, monkeypatch):
    monkeypatch.setattr("agents.api.views.me", lambda actor: {"id": "no number"})
    [operation] = [each for each in operations(world) if each.path == "/api/v1/mcp/agents/me"]
    with pytest.raises(BaseException, match="is not of type"):
        _play(operation, world, GenerationMode.POSITIVE, 3, Counter())
