"""The original's published client works here as it is: publish, list, read, claim, move, update."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from testing.published_client import Assistant, published_client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def two(served, tmp_path) -> Iterator[tuple[Assistant, Assistant]]:
    """A planner that publishes, and a builder that holds the role."""
    program = published_client()
    server = served()
    server.cli("role", "add", "planner")
    server.cli("role", "add", "builder")
    planner, builder = server.agent("Planner", "planner"), server.agent("Builder", "builder")
    with (
        Assistant(program, url=server.base_url, token=planner.token, folder=tmp_path) as one,
        Assistant(program, url=server.base_url, token=builder.token, folder=tmp_path) as other,
    ):
        yield one, other


def made(planner: Assistant, **given: Any) -> int:
    answer = planner.call(
        "forkflux_create_job",
        **{
            "summary": "Mend the login redirect",
            "context_payload": {"repository": "shop"},
            "target_role_key": "builder",
            "constraints": ["It ends where it began"],
            "artifacts": [{"type": "git_branch", "uri": "git://shop/login"}],
            "priority": 30,
        }
        | given,
    )
    assert answer["success"], answer
    job_id: int = answer["details"]["job_id"]
    return job_id


def refusal(answer: dict[str, Any]) -> tuple[int, Any]:
    """Status and body of what the server refused, as the client hands it on."""
    assert answer["success"] is False
    details = answer["details"]
    return answer["status_code"], json.loads(details) if isinstance(details, str) else details


def test_the_published_client_plays_a_handoff(two):
    planner, builder = two
    tools = {tool["name"]: tool for tool in planner.request("tools/list", {})["tools"]}
    assert len(tools) == 9
    # The roles that it offers are those that it read from us when it started.
    assert "builder" in json.dumps(tools["forkflux_create_job"]["inputSchema"])

    job_id = made(planner)
    listed = builder.call("forkflux_list_jobs", status="published", target_role_key="builder")
    assert [item["id"] for item in listed["details"]] == [job_id]
    assert listed["details"][0]["source_agent_label"] == "Planner"
    assert "context_payload" not in listed["details"][0]
    details = planner.call("forkflux_job_details", job_id=job_id)["details"]
    assert (details["status"], details["context_payload"]) == ("published", {"repository": "shop"})
    assert details["artifacts"] == [
        {"type": "git_branch", "uri": "git://shop/login", "checksum": None, "metadata_json": {}}
    ]

    assert planner.call("forkflux_update_job", job_id=job_id, constraints=["And says so"])["success"]
    claimed = builder.call("forkflux_claim_job", job_id=job_id)["details"]
    assert (claimed["status"], claimed["constraints"]) == ("in_progress", ["And says so"])
    assert claimed["assignee_agent_label"] == "Builder"

    def move(status: str, **given: Any) -> Any:
        return builder.call("forkflux_change_job_status", job_id=job_id, status=status, **given)

    blocked = move("blocked", blocked_reason="Which redirect?")["details"]
    assert blocked == {"job_id": job_id, "previous_status": "in_progress", "new_status": "blocked"}
    # The original's own tool promises this step and its server refuses it.
    assert move("in_progress")["details"]["new_status"] == "in_progress"
    assert builder.call("forkflux_update_job", job_id=job_id, context_payload={"found": True})["success"]
    assert move("completed")["details"]["new_status"] == "completed"
    assert planner.call("forkflux_job_details", job_id=job_id)["details"]["context_payload"] == {
        "found": True
    }


def test_the_next_job_is_claimed_in_the_queues_order_and_refusals_reach_the_assistant(two):
    planner, builder = two
    later, urgent = made(planner, priority=20), made(planner, priority=40)
    for expected in (urgent, later):
        claimed = builder.call("forkflux_claim_next_job", target_role_key="builder")
        assert claimed["details"]["id"] == expected
    status, body = refusal(builder.call("forkflux_claim_next_job", target_role_key="builder"))
    assert (status, body["reason"]) == (404, "empty")
    # What was promised to the assistant as "409 Conflict" is one.
    status, body = refusal(builder.call("forkflux_claim_job", job_id=urgent))
    assert (status, body["detail"][0]["ctx"]["code"]) == (409, "already_claimed")
    status, body = refusal(planner.call("forkflux_claim_job", job_id=made(planner)))
    assert (status, body["code"]) == (403, "role_not_held")
    assert refusal(builder.call("forkflux_job_details", job_id=999_999))[0] == 404
    status, body = refusal(builder.call("forkflux_update_job", job_id=urgent))
    assert (status, body["detail"][0]["loc"]) == (422, ["body"])
    failed = builder.call(
        "forkflux_change_job_status", job_id=urgent, status="failed", failure_reason="No such branch"
    )
    assert failed["details"]["new_status"] == "failed"
    # In progress → cancelled, which the original's server refuses.
    assert builder.call("forkflux_change_job_status", job_id=later, status="cancelled")["success"]
