"""What keeps a lease alive and what does not: the arithmetic of renewals, and which calls are signs of life."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.clock import database_moment
from jobs.models import Job
from jobs.services import leasing
from jobs.services.claiming import claim
from jobs.services.leasing import agent_heartbeat, heartbeat
from jobs.services.sweeping import expire
from jobs.tests.board import age, caller, in_session, new_agent, new_role, published
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def renewed(*, term: int, since_renewal: float, since_heartbeat: float) -> float | None:
    """By how many seconds from now the lease then runs; None: nothing is written."""
    job = Job(
        lease_seconds=term,
        lease_heartbeat_at=NOON - timedelta(seconds=since_heartbeat),
        lease_expires_at=NOON + timedelta(seconds=term - since_renewal),
    )
    until = leasing._renewal(job, NOON)
    return None if until is None else (until - NOON).total_seconds()


@pytest.mark.parametrize(
    ("term", "since_renewal", "since_heartbeat", "wanted"),
    [
        pytest.param(1800, 19.9, 19.9, None, id="before 20 s nothing is written"),
        pytest.param(1800, 20.0, 20.0, 1800, id="from 20 s on a whole term is given"),
        pytest.param(30, 9.9, 9.9, None, id="of a short lease a third must have passed"),
        pytest.param(30, 10.0, 10.0, 30, id="which is less than 20 s"),
        pytest.param(30, 25.0, 85.0, 30, id="three terms after the heartbeat a whole one is left"),
        pytest.param(30, 20.0, 105.0, 15, id="half a term later half of one"),
        pytest.param(30, 29.0, 119.0, None, id="at the end nothing more than it has already"),
        pytest.param(30, 31.0, 121.0, None, id="after four terms nothing"),
        pytest.param(30, 40.0, 40.0, 30, id="a lease that ran out and was not swept lives on"),
    ],
)
def test_a_sign_of_life_renews(term, since_renewal, since_heartbeat, wanted):
    assert renewed(term=term, since_renewal=since_renewal, since_heartbeat=since_heartbeat) == wanted


def seconds_left(job_id: int) -> float:
    """Until the job's lease runs out."""
    until = Job.objects.values_list("lease_expires_at", flat=True).get(pk=job_id)
    assert until is not None
    return (until - database_moment().now).total_seconds()


class Desk:
    """A worker at the REST door that holds one job, whose lease is due for renewal."""

    def __init__(self, *, session: str | None, term: int = 1800) -> None:
        self.role = new_role()
        self.worker = caller(new_agent(self.role))
        self.session = session
        self.job_id = published(self.worker.actor, self.role).pk
        claim(job_id=self.job_id, actor=in_session(self.worker.actor, session), lease_seconds=term)
        age(Job.objects.filter(pk=self.job_id), 100)

    def left(self) -> float:
        return seconds_left(self.job_id)

    def call(self, method: str, path: str, session: str | None, body: object = None) -> int:
        headers = {"X-ForkFlux-Session": session} if session else {}
        status: int = self.worker.call(method, path.format(id=self.job_id), body, headers).status_code
        return status


NAMING = [
    pytest.param("GET", "/jobs/{id}", None, id="read"),
    pytest.param("GET", "/jobs/{id}/events", None, id="trail"),
    pytest.param("GET", "/jobs/{id}/artifacts", None, id="artifacts"),
    pytest.param("PATCH", "/jobs/{id}", {"context_payload": {"a": 1}}, id="update"),
    pytest.param("POST", "/jobs/{id}/heartbeat", None, id="heartbeat"),
]


@pytest.mark.parametrize("session", [None, "desk"], ids=["without a session", "in the session"])
@pytest.mark.parametrize(("method", "path", "body"), NAMING)
def test_an_accepted_call_that_names_the_job_renews_its_lease(method, path, body, session):
    desk = Desk(session=session)
    assert desk.call(method, path, session, body) == 200
    assert 1790 < desk.left() <= 1800


@pytest.mark.parametrize(("method", "path", "body"), NAMING[:3])
def test_the_same_token_in_another_process_keeps_nothing_alive(method, path, body):
    desk = Desk(session="desk")
    assert desk.call(method, path, "bed", body) == 200
    assert desk.left() < 1710


def test_any_accepted_call_of_the_session_renews_what_it_holds():
    desk = Desk(session="desk")
    assert desk.call("GET", "/agents/me", "desk") == 200
    assert desk.left() > 1790


@pytest.mark.parametrize("session", [None, "desk"], ids=["without a session", "in the session"])
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/jobs", 200, id="list"),
        pytest.param("GET", "/agents", 200, id="colleagues"),
        pytest.param("GET", "/agents/roles", 200, id="roles"),
    ],
)
def test_listing_keeps_nothing_alive(method, path, status, session):
    desk = Desk(session=session)
    assert desk.call(method, path, session) == status
    assert desk.left() < 1710


@pytest.mark.parametrize("session", [None, "desk"], ids=["without a session", "in the session"])
@pytest.mark.parametrize("found", [True, False], ids=["with a job", "in vain"])
def test_claim_next_keeps_nothing_alive(found, session):
    """A worker that was restarted with the same token and polls must not keep its dead predecessor's job."""
    desk = Desk(session=session)
    if found:
        published(desk.worker.actor, desk.role)
    body = {"target_role_key": desk.role.role_key}
    assert desk.call("POST", "/jobs/claim-next", session, body) == (201 if found else 404)
    assert desk.left() < 1710


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        pytest.param("/jobs/{id}/claim", None, 409, id="a claim of what it holds"),
        pytest.param("/jobs/{id}/heartbeat", {"lease_generation": 9}, 409, id="a heartbeat of another lease"),
        pytest.param("/jobs/{id}/status", {"status": "unblocked"}, 422, id="a body with a fault"),
        pytest.param("/jobs/{id}/status", {"status": "pending"}, 409, id="a verb that leads nowhere"),
    ],
)
def test_a_refused_call_keeps_nothing_alive(path, body, status):
    desk = Desk(session="desk")
    assert desk.call("POST", path, "desk", body) == status
    assert desk.left() < 1710


def test_signs_of_life_end_four_terms_after_the_last_heartbeat():
    desk = Desk(session=None, term=300)  # aged by 100 s
    for _ in range(20):
        desk.call("GET", "/jobs/{id}", None)
        age(Job.objects.filter(pk=desk.job_id), 100)
    # 2,100 s after the claim: implicit signs of life carried the lease to 1,200 s and no further.
    assert -910 < desk.left() < -890
    assert desk.call("POST", "/jobs/{id}/heartbeat", None) == 200
    assert desk.left() > 290


def test_a_heartbeat_while_blocked_opens_no_lease():
    desk = Desk(session=None)
    assert desk.call("POST", "/jobs/{id}/status", None, {"status": "blocked"}) == 200
    response = desk.worker.post(f"/jobs/{desk.job_id}/heartbeat")
    assert response.json()["lease"] is None
    assert Job.objects.get(pk=desk.job_id).lease_expires_at is None


def test_progress_is_an_event_only_when_it_changes():
    desk = Desk(session=None)
    for percent, note in ((10, "a"), (10, "a"), (None, None), (10, "b"), (20, None)):
        heartbeat(job_id=desk.job_id, actor=desk.worker.actor, progress_percent=percent, note=note)
    trail = desk.worker.get(f"/jobs/{desk.job_id}/events").json()
    told = [event["payload_json"] for event in trail if event["event_type"] == "task_progress"]
    assert [(item["progress_percent"], item["note"]) for item in told] == [(10, "a"), (10, "b"), (20, "b")]
    stored = Job.objects.values_list("progress_percent", "progress_note").get(pk=desk.job_id)
    assert stored == (20, "b")


def test_an_agents_heartbeat_extends_what_its_session_holds_and_tells_what_that_lost():
    role = new_role()
    agent = new_agent(role)
    mine, elsewhere, lost = (published(agent, role).pk for _ in range(3))
    for number, session in ((mine, "desk"), (elsewhere, "bed"), (lost, "desk")):
        claim(job_id=number, actor=in_session(agent, session))
    age(Job.objects.filter(pk__in=[mine, elsewhere]), 100)
    Job.objects.filter(pk=lost).update(lease_expires_at=database_moment().now - timedelta(seconds=1))
    assert expire(job_id=lost)

    told = agent_heartbeat(actor=in_session(agent, "desk"))

    assert [job.pk for job in told.leases] == [mine]
    assert told.lost == [lost]
    assert seconds_left(mine) > 1790
    assert seconds_left(elsewhere) < 1710
    assert agent_heartbeat(actor=agent).leases == []
