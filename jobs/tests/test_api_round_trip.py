"""Any JSON that is accepted comes back equal, and what is refused is refused for a reason that is there."""

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testing.wire import Board, job_body

pytestmark = pytest.mark.django_db

LARGEST = 2**63
TEXTS = st.text(st.characters() | st.sampled_from("\x00\ud800\udfff\u202e\ufeff\u2028😀"), max_size=12)
NUMBERS = st.integers(-(2**65), 2**65) | st.floats() | st.sampled_from([LARGEST - 1, LARGEST, -LARGEST])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(TEXTS, inside, max_size=4),
    max_leaves=12,
)


def faults(value: Any) -> set[str]:
    """What is wrong with a JSON value, told a second way than the product tells it."""
    if isinstance(value, str):
        nul = {"string_nul"} if "\0" in value else set()
        whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return nul | ({"string_unicode"} if value != whole else set())
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, int):
        return {"int_64_bit"} if not -LARGEST <= value < LARGEST else set()
    if isinstance(value, float):
        return {"finite_number"} if math.isnan(value) or math.isinf(value) else set()
    if isinstance(value, list):
        return set().union(*(faults(item) for item in value))
    return set().union(*(faults(key) | faults(item) for key, item in value.items()))


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.mark.slow
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    # The board is set up once for all examples, which do not disturb each other.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(payload=st.dictionaries(TEXTS, JSON, max_size=4), escaped=st.booleans())
def test_a_payload_comes_back_as_it_was_sent_or_is_refused_with_cause(
    board: Board, payload: dict[str, Any], escaped: bool
) -> None:
    wrong = faults(payload)
    # A lone surrogate has no form but the escaped one.
    text = json.dumps(job_body(context_payload=payload), ensure_ascii=escaped or "string_unicode" in wrong)
    answer = board.dev.post("/jobs", text.encode())
    if wrong:
        assert answer.status_code == 422
        [entry] = answer.json()["detail"]
        assert entry["type"] in wrong
        assert entry["loc"][:2] == ["body", "context_payload"]
        return
    assert answer.status_code == 201
    job_id = answer.json()["job_id"]
    sent = json.loads(text)["context_payload"]
    for read in (board.dev.get(f"/jobs/{job_id}"), board.qa.post(f"/jobs/{job_id}/claim")):
        assert json.dumps(read.json()["context_payload"]) == json.dumps(sent)
    # As a result, too, and whatever is in the trail.
    done = board.qa.post(
        f"/jobs/{job_id}/status", json.dumps({"status": "completed", "result": sent}).encode()
    )
    assert done.status_code == 200
    assert json.dumps(board.dev.get(f"/jobs/{job_id}").json()["result"]) == json.dumps(sent)
    assert board.dev.get(f"/jobs/{job_id}/events").status_code == 200
