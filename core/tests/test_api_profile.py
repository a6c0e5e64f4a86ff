"""`/ui/profile`: a new installation is not set up, and says so once."""

import pytest

from testing.people import UI, operator, viewer

pytestmark = pytest.mark.django_db


def test_a_new_installation_is_set_up_once() -> None:
    lead, onlooker = operator(), viewer()
    assert onlooker.get(f"{UI}/profile").json() == {"is_onboarded": False}
    assert lead.post(f"{UI}/profile", {"is_onboarded": False}).json() == {"is_onboarded": False}
    made = lead.post(f"{UI}/profile", {"is_onboarded": True, "extra": 1}, Idempotency_Key="k")
    assert (made.status_code, made.json()) == (201, {"is_onboarded": True, "ignored_fields": ["extra"]})
    assert lead.get(f"{UI}/profile").json() == {"is_onboarded": True}
    again = lead.post(f"{UI}/profile", {"is_onboarded": True})
    assert again.status_code == 409
    [entry] = again.json()["detail"]
    assert list(entry) == ["loc", "msg", "type", "input", "ctx"]
    assert (entry["type"], entry["loc"], entry["input"]) == (
        "profile.already_exists",
        ["body", "is_onboarded"],
        True,
    )
    assert entry["msg"].startswith("Profile already exists")
    replayed = lead.post(f"{UI}/profile", {"is_onboarded": True, "extra": 1}, Idempotency_Key="k")
    assert (replayed.status_code, replayed["Idempotency-Replayed"]) == (201, "true")


def test_a_viewer_cannot_say_so() -> None:
    refused = viewer().post(f"{UI}/profile", {"is_onboarded": True})
    assert (refused.status_code, refused.json()["code"]) == (403, "permission_missing")
    assert "core.change_installation" in refused.json()["detail"]


@pytest.mark.parametrize("body", [{}, {"is_onboarded": None}, {"is_onboarded": "maybe"}, [], None])
def test_a_wrong_body_is_told_where(body: object) -> None:
    refused = operator().post(f"{UI}/profile", body)
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"][0] == "body"
