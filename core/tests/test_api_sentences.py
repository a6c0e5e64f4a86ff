"""What a refusal says, read as an agent reads it: literally, and for what to do next."""

import re

import pytest

from core import errors
from core.errors import DomainError
from jobs import errors as job_errors
from testing.wire import NOBODY, Board, agent, bearer, job_body

# The reference's own sentences, which its clients may compare.
OF_THE_REFERENCE = {"JobNotFound", "NothingToClaim", "InvalidToken"}
# Names for kinds of refusals; nothing is refused with their sentence.
KINDS = {"InvalidInput", "Forbidden", "NotFound", "Conflict"}
NEXT_STEP = re.compile(
    r"\{advice\}|\b(ask|send|try|repeat|read|claim|use|choose|finish|stop|wait|publish|shows|look"
    r"|assign|activate|issue|cancel|say|name|delete|load|go on|nothing to do)\b",
    re.IGNORECASE,
)


def _all(of: type[DomainError]) -> set[type[DomainError]]:
    found: set[type[DomainError]] = set()
    for subclass in of.__subclasses__():
        found |= {subclass} | _all(subclass)
    return found


def test_every_sentence_names_a_next_step() -> None:
    known = _all(DomainError)
    assert {errors.ScopeMissing, job_errors.LeaseLost, job_errors.AtCapacity} <= known
    for error in known:
        sentence = (error.__doc__ or "").strip().split("\n", 1)[0]
        assert sentence[0].isupper() or sentence.startswith("{"), error
        if error.__name__ in OF_THE_REFERENCE | KINDS:
            continue
        assert sentence.endswith((".", "{advice}")), error
        assert NEXT_STEP.search(sentence), f"{error.__name__} does not say what to do: {sentence}"


def test_codes_are_words_for_programs_and_each_means_one_thing() -> None:
    codes: dict[str, type[DomainError]] = {}
    for error in _all(DomainError):
        assert re.fullmatch(r"[a-z0-9_]+", error.code), error
        if error.code == getattr(error.__bases__[0], "code", None):
            continue  # KeyReused is an invalid input and tells so by its entry's type
        assert error.code not in codes, (error, codes.get(error.code))
        codes[error.code] = error


@pytest.mark.django_db
def test_refusals_of_one_day_are_sentences_without_holes() -> None:
    board = Board()
    rival = agent("Rival", "qa")
    job_id = board.claimed()
    done = board.moved(board.claimed(), "completed")
    open_ = board.job()
    answers = [
        NOBODY.get("/jobs"),
        bearer("x").get("/jobs"),
        board.guest.post(f"/jobs/{open_}/claim"),
        board.guest.post(f"/jobs/{open_}/hold"),
        board.guest.post(f"/jobs/{open_}/status", {"status": "cancelled"}),
        board.guest.patch(f"/jobs/{open_}", {"constraints": []}),
        board.qa.patch(f"/jobs/{job_id}", {"constraints": []}),
        board.qa.get("/jobs/999999"),
        board.guest.post("/jobs/claim-next", {"target_role_key": "qa"}),
        rival.post(f"/jobs/{job_id}/claim"),
        board.qa.post(f"/jobs/{job_id}/claim"),
        *(
            rival.post(f"/jobs/{job_id}/status", {"status": status})
            for status in ("completed", "in_progress", "failed")
        ),
        *(board.qa.post(f"/jobs/{done}/{verb}") for verb in ("claim", "heartbeat", "release")),
        *(board.dev.post(f"/jobs/{done}/{verb}") for verb in ("hold", "unhold", "requeue")),
        *(
            board.qa.post(f"/jobs/{done}/status", {"status": status})
            for status in ("pending", "published", "blocked")
        ),
        board.qa.post(f"/jobs/{open_}/heartbeat"),
        board.qa.post(f"/jobs/{job_id}/heartbeat", {"lease_generation": 7}),
        board.dev.post("/jobs", job_body(blocked_by=[1])),
        board.dev.post("/jobs", job_body(target_role_key="x")),
        board.dev.post("/jobs", job_body(context_payload={"a": "x" * 1_048_577})),
        board.dev.post("/jobs", b"{"),
        board.dev.get("/jobs?cursor=x"),
        board.dev.get("/jobs?cursor=x&offset=1"),
    ]
    for answer in answers:
        assert 400 <= answer.status_code < 500, answer.content
        detail = answer.json()["detail"]
        for sentence in [entry["msg"] for entry in detail] if isinstance(detail, list) else [detail]:
            assert "{" not in sentence, sentence
            assert "None" not in sentence, sentence
            assert "  " not in sentence, sentence
            assert not re.search(r"Status\.|Verb\.|Who\.|<class|object at", sentence), sentence
            assert len(sentence) < 600, sentence
