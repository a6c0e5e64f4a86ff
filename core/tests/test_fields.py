"""JSON comes back as it went in: keys in their order, numbers as they were written."""

from __future__ import annotations

import json
import math

import pytest
from django.db import connection

from core.fields import compact_json
from jobs.models import Job
from jobs.tests.board import new_agent, new_role, published

VALUES = [
    pytest.param({"b": 1, "a": {"z": 0, "y": 0}}, id="keys in their order"),
    pytest.param({"n": 1e300}, id="1e300"),
    pytest.param({"n": [0.1, -0.0, 5e-324, 1.0]}, id="floats"),
    pytest.param({"n": [2**63 - 1, -(2**63)]}, id="the ends of 64 bits"),
    pytest.param({"": "", "a": None, "b": [True, False, [], {}]}, id="empty things"),
    pytest.param({"t": 'Prüfung ✓ 𝄞 \u2028 \x7f \\ " \t'}, id="text of all kinds"),
]


@pytest.mark.django_db
@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_read_as_it_was_written(value):
    number = published(new_agent(), new_role(), context_payload=value).pk
    read = Job.objects.get(pk=number).context_payload
    # As text: to Python 1 and 1.0 are equal, and so are two orders of keys.
    assert json.dumps(read) == json.dumps(value)
    with connection.cursor() as cursor:
        cursor.execute("SELECT context_payload FROM jobs_job WHERE id = %s", [number])
        assert cursor.fetchone()[0] == compact_json(value)


@pytest.mark.django_db
def test_nothing_is_null_and_not_the_word():
    number = published(new_agent(), new_role()).pk
    assert Job.objects.filter(pk=number, result__isnull=True).exists()
    assert Job.objects.get(pk=number).result is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=str)
def test_what_json_does_not_know_is_not_stored(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        compact_json({"a": value})
