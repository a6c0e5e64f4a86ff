"""`forkflux doctor` says what is wrong and what to do, and changes nothing."""

import dataclasses
import json
import socket
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from core.clock import database_moment
from forkflux_site import doctor
from jobs.models import Job
from jobs.services.claiming import claim
from jobs.tests.board import new_agent, new_role, published
from testing.command_line import forkflux
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def looked_at(capsys, *options):
    ended = forkflux(capsys, "doctor", "--json", *options)
    return ended.status, {each["name"]: each for each in json.loads(ended.out)}


def test_a_sound_installation_has_no_problem_and_says_what_a_newcomer_does_next(capsys):
    status, found = looked_at(capsys)
    assert status == 0
    assert {each["state"] for each in found.values()} <= {"ok", "warning"}
    assert found["people"]["remedy"] == "Run: forkflux createsuperuser"
    assert found["database"]["state"] == found["migrations"]["state"] == found["clock"]["state"] == "ok"
    User.objects.create_user("doctor-anna", password="secret-of-anna", is_staff=True)
    new_agent(new_role())
    status, found = looked_at(capsys)
    assert "1 can sign in" in found["people"]["told"]
    assert found["agents"]["state"] == "ok"
    User.objects.all().delete()


def test_jobs_beyond_their_lease_say_that_nobody_sweeps(capsys):
    role = new_role()
    worker = new_agent(role)
    job = claim(job_id=published(worker, role).pk, actor=worker)
    assert looked_at(capsys)[1]["sweep"]["state"] == "ok"
    Job.objects.filter(pk=job.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=90))
    status, found = looked_at(capsys)
    assert (status, found["sweep"]["state"]) == (1, "problem")
    assert "forkflux sweep" in found["sweep"]["remedy"]


def test_a_clock_that_differs_is_told(capsys, monkeypatch):
    late = dataclasses.replace(database_moment(), now=timezone.now() + timedelta(seconds=60))
    monkeypatch.setattr(doctor, "database_moment", lambda: late)
    assert looked_at(capsys)[1]["clock"]["state"] == "warning"


def test_missing_migrations_are_a_problem_and_what_needs_the_tables_is_left_out(capsys, monkeypatch):
    monkeypatch.setattr(
        "django.db.migrations.recorder.MigrationRecorder.applied_migrations", lambda recorder: {}
    )
    status, found = looked_at(capsys)
    assert (status, found["migrations"]["remedy"]) == (1, "Run: forkflux init")
    assert "sweep" not in found


def test_a_file_that_is_not_there_is_a_problem_and_is_not_made(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "sqlite_file", lambda: tmp_path / "none.db")
    found = list(doctor.findings(host="127.0.0.1", port=1))
    assert [each.name for each in found] == ["versions", "database"]
    assert (found[1].state, found[1].remedy) == ("problem", "Run: forkflux init")
    assert not (tmp_path / "none.db").exists()


def test_what_listens_at_the_port_is_told(capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert "something answers" in looked_at(capsys, "--port", port)[1]["port"]["told"]
    assert "nothing listens" in looked_at(capsys, "--port", port)[1]["port"]["told"]
