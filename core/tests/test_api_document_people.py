"""The OpenAPI document of people's routes: real answers are as it says, without a key more."""

from datetime import timedelta

import pytest
from django.db.models import F

from core.tests.test_api_document import _check, operations
from jobs.models import Job
from testing.people import UI, operator, viewer
from testing.wire import NOBODY, Board, agent, job_body

pytestmark = pytest.mark.django_db


@pytest.fixture
def board() -> Board:
    return Board()


def test_real_answers_to_people_fit_the_document(board: Board) -> None:
    anna = operator()
    spare = agent("Spare", "qa")
    artifact = {"type": "file", "uri": "u", "checksum": "c", "metadata_json": {"k": [1]}}
    job_id = board.claimed(artifacts=[artifact], labels=["a"], parent_job_id=board.job())
    board.qa.post(f"/jobs/{job_id}/heartbeat", {"progress_percent": 1})
    Job.objects.filter(pk=job_id).update(
        status_changed_at=F("status_changed_at") - timedelta(days=1),
        progress_at=F("progress_at") - timedelta(days=1),
    )
    seen = set()

    def check(method: str, path: str, body=None, **ids: int):
        template = path.partition("?")[0]
        answer = anna.call(method, UI + path.format(**ids), body)
        assert answer.status_code < 300, (method, path, answer.content)
        if answer.status_code != 204:
            _check(UI + template, method.lower(), answer)
        seen.add((method.lower(), UI + template))
        return answer.json() if answer.content else None

    for path in ("/jobs", "/jobs/counts", "/stats?window_hours=1", "/stuck", "/agents", "/agents/roles"):
        check("GET", path)
    check("GET", "/jobs/{job_id}", job_id=job_id)
    check("GET", "/jobs/{job_id}/events?limit=1", job_id=job_id)
    new = check("POST", "/jobs", job_body(x=1))["job_id"]
    check("PATCH", "/jobs/{job_id}", {"priority": 40, "x": 1}, job_id=new)
    check("POST", "/jobs/{job_id}/hold", {"x": 1}, job_id=new)
    check("POST", "/jobs/{job_id}/unhold", job_id=new)
    check("POST", "/jobs/{job_id}/reassign", {"agent_name": "spare"}, job_id=job_id)
    spare.post(f"/jobs/{job_id}/status", {"status": "blocked"})
    check("POST", "/jobs/{job_id}/unblock", {"unblock_reason": "go"}, job_id=job_id)
    check("POST", "/jobs/{job_id}/requeue", job_id=job_id)
    check("GET", "/jobs/{job_id}", job_id=job_id)
    check("POST", "/jobs/{job_id}/cancel", job_id=job_id)
    check("DELETE", "/jobs/{job_id}", job_id=job_id)
    role = check("POST", "/agents/roles", {"role_key": "docs", "role_label": "Docs", "x": 1})["id"]
    check("PATCH", "/agents/roles/{role_id}", {"role_label": "D"}, role_id=role)
    check("POST", "/agents/roles/{role_id}/pause", {"reason": "r"}, role_id=role)
    check("POST", "/agents/roles/{role_id}/resume", role_id=role)
    made = check("POST", "/agents", {"agent_label": "a", "target_role_ids": [role]})["agent_id"]
    check("PATCH", "/agents/{agent_id}", {"tool_family": "codex", "x": 1}, agent_id=made)
    check("DELETE", "/agents/roles/{role_id}", role_id=role)
    issued = check("POST", "/agents/{agent_id}/tokens", agent_id=made)["token_id"]
    check("POST", "/tokens/{token_id}/rotate", token_id=issued)
    check("DELETE", "/tokens/{token_id}", token_id=issued)
    check("GET", "/agents/{agent_id}/tokens", agent_id=made)
    check("POST", "/agents/{agent_id}/deactivate", {"reason": "r"}, agent_id=made)
    check("POST", "/agents/{agent_id}/activate", agent_id=made)
    check("DELETE", "/agents/{agent_id}", agent_id=made)
    of_people = {(method, path) for method, path in operations() if path.startswith(UI)}
    # Verification needs a transaction of its own (events/tests), and the profile has its own test.
    assert of_people - seen <= {
        ("get", f"{UI}/audit/verify"),
        ("get", f"{UI}/profile"),
        ("post", f"{UI}/profile"),
    }


def test_real_refusals_of_people_fit_the_document(board: Board) -> None:
    anna = operator()
    job_id = board.moved(board.claimed(), "completed")
    for answer, status in (
        (NOBODY.post(f"{UI}/jobs/{job_id}/cancel"), 401),
        (board.qa.post(f"{UI}/jobs/{job_id}/cancel"), 403),
        (viewer().post(f"{UI}/jobs/{job_id}/cancel"), 403),
        (anna.post(f"{UI}/jobs/999999/cancel"), 404),
        (anna.post(f"{UI}/jobs/{job_id}/cancel"), 409),
        (anna.post(f"{UI}/jobs/{job_id}/cancel", b"{"), 422),
    ):
        assert answer.status_code == status
        _check(f"{UI}/jobs/{{job_id}}/cancel", "post", answer)
