"""How many statements each call costs, credential included: bounds that nobody may raise unnoticed."""

from __future__ import annotations

import pytest

from jobs.services.closing import cancel
from jobs.services.returning import release
from jobs.tests.board import caller, copies, new_agent, new_role, publish_body, published
from jobs.tests.refusals import artifact
from jobs.tests.statements import statements
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")
# What no list may read: each can hold a MiB.
PAYLOADS = ("context_payload", "constraints", '"result"', "result_summary", "_reason", "progress_note")


class Bench:
    """A worker with a role of its own that has called before, so that its presence is noted for this minute."""

    def __init__(self, **policy: int) -> None:
        self.role = new_role(**policy)
        self.worker = caller(new_agent(self.role))
        assert self.worker.get("/agents/me").status_code == 200

    def job(self, **fields) -> int:
        return published(self.worker.actor, self.role, **fields).pk

    def claim_next(self, **headers: str) -> list[str]:
        with statements() as found:
            response = self.worker.post(
                "/jobs/claim-next", {"target_role_key": self.role.role_key}, **headers
            )
        assert response.status_code == 201, response.content
        return found


def at_most(most: int, found: list[str]) -> None:
    assert len(found) <= most, "\n".join(found)


def test_claim_next_costs_four():
    bench = Bench()
    bench.job()
    at_most(4, bench.claim_next())


def test_artifacts_cost_claim_next_one_more():
    bench = Bench()
    bench.job(artifacts=[artifact(), artifact()])
    at_most(5, bench.claim_next())


def test_earlier_attempts_cost_claim_next_one_more():
    bench = Bench()
    number = bench.job()
    bench.claim_next()
    release(job_id=number, actor=bench.worker.actor)
    at_most(5, bench.claim_next())


def test_artifacts_and_earlier_attempts_cost_claim_next_two_more():
    bench = Bench()
    number = bench.job(artifacts=[artifact()])
    bench.claim_next()
    release(job_id=number, actor=bench.worker.actor)
    at_most(6, bench.claim_next())


def test_an_idempotency_key_and_a_role_limit_cost_claim_next_three_more():
    bench = Bench(max_held_per_agent=1)
    bench.job()
    at_most(7, bench.claim_next(**{"Idempotency-Key": "once"}))


def test_claim_next_costs_as_much_among_many_jobs():
    bench = Bench()
    number = bench.job()
    before = len(bench.claim_next())
    release(job_id=number, actor=bench.worker.actor)
    cancel(job_id=number, actor=bench.worker.actor)
    copies(published(bench.worker.actor, bench.role), 200)
    assert len(bench.claim_next()) == before


def test_several_roles_cost_claim_next_one_more():
    bench = Bench()
    other = new_role()
    worker = caller(new_agent(bench.role, other))
    worker.get("/agents/me")
    bench.job()
    with statements() as found:
        response = worker.post(
            "/jobs/claim-next", {"target_role_keys": [bench.role.role_key, other.role_key]}
        )
    assert response.status_code == 201
    at_most(5, found)


def test_publish_costs_six():
    bench = Bench()
    with statements() as found:
        assert bench.worker.post("/jobs", publish_body(bench.role)).status_code == 201
    at_most(6, found)


def test_artifacts_and_labels_cost_publish_one_more_each():
    bench = Bench()
    body = publish_body(bench.role, artifacts=[artifact()] * 3, labels=["ui", "night"])
    with statements() as found:
        assert bench.worker.post("/jobs", body).status_code == 201
    at_most(8, found)


@pytest.mark.parametrize(
    ("path", "body", "most"),
    [
        pytest.param("claim", None, 4, id="claim"),
        pytest.param("status", {"status": "completed"}, 5, id="complete"),
        pytest.param("status", {"status": "failed"}, 5, id="fail"),
        pytest.param("status", {"status": "blocked"}, 5, id="block"),
        pytest.param("heartbeat", {}, 3, id="heartbeat"),
        pytest.param("heartbeat", {"note": "half"}, 4, id="heartbeat with progress"),
        pytest.param("release", {}, 5, id="release"),
    ],
)
def test_a_verb_costs_the_credential_the_lock_the_event_the_change_and_a_look_at_leases(path, body, most):
    bench = Bench()
    number = bench.job()
    if path != "claim":
        bench.claim_next()
    with statements() as found:
        response = bench.worker.post(f"/jobs/{number}/{path}", body)
    assert response.status_code < 300, response.content
    at_most(most, found)


def test_reading_a_job_costs_two_and_its_artifacts_one_more():
    bench = Bench()
    for fields, most in (({}, 3), ({"artifacts": [artifact()]}, 4)):
        number = bench.job(**fields)
        with statements() as found:
            assert bench.worker.get(f"/jobs/{number}").status_code == 200
        at_most(most, found)


def test_a_list_of_200_costs_as_much_as_a_list_of_two():
    bench = Bench()
    job = published(bench.worker.actor, bench.role)
    copies(job, 1)
    costs = []
    for _ in range(2):
        with statements() as found:
            listed = bench.worker.get("/jobs?limit=200").json()
        costs.append((len(listed), len(found)))
        copies(job, 198)
    assert costs == [(2, 2), (200, 2)]


def test_a_list_never_reads_a_payload():
    bench = Bench()
    bench.job(context_payload={"a": "x" * 1000}, labels=["ui"])
    with statements() as found:
        query = (
            f"label=ui&status=published&order=priority_desc&count=true&target_role_key={bench.role.role_key}"
        )
        response = bench.worker.get(f"/jobs?{query}")
    assert len(response.json()) == 1
    [reading] = [sql for sql in found if "summary" in sql]
    assert not [column for column in PAYLOADS if column in reading]
