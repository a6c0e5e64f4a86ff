"""`forkflux role edit|pause|resume|delete`."""

import pytest

from jobs.models import Job
from jobs.services.claiming import claim
from jobs.tests.board import new_agent, new_role, published
from roles.models import Role
from testing.command_line import forkflux, refusal
from testing.committed import committed_database  # noqa: F401 - the fixture `db`

pytestmark = pytest.mark.usefixtures("db")


def test_a_role_is_edited_also_its_key_and_a_limit_is_lifted(capsys):
    role = new_role(max_held_per_agent=2)
    other = f"{role.role_key}-renamed"
    ended = forkflux(
        capsys,
        *("role", "edit", role.role_key, "--key", other, "--label", "Quality", "--stuck-after-minutes", "5"),
        *("--max-lease-expiries", "0", "--max-held-per-agent", "none", "--json"),
    )
    assert (ended.document["role_key"], ended.document["max_held_per_agent"]) == (other, None)
    role.refresh_from_db()
    assert (role.role_key, role.role_label, role.stuck_after_minutes) == (other, "Quality", 5)
    assert (role.max_lease_expiries, role.max_held_per_agent) == (0, None)


def test_an_edit_is_refused_when_it_changes_nothing_or_takes_anothers_key(capsys):
    role, other = new_role(), new_role()
    assert "Nothing to change" in refusal(forkflux(capsys, "role", "edit", role.role_key), status=2)
    said = refusal(forkflux(capsys, "role", "edit", role.role_key, "--key", other.role_key))
    assert said.startswith("Target role already exists")
    said = refusal(forkflux(capsys, "role", "edit", role.role_key, "--stuck-after-minutes", "0"))
    assert said.startswith("--stuck-after-minutes: Input should be greater than or equal to 1")


def test_a_paused_role_hands_nothing_out_until_it_is_resumed(capsys):
    role = new_role()
    worker = new_agent(role)
    job = published(worker, role)
    assert "--reason is needed" in refusal(forkflux(capsys, "role", "pause", role.role_key), status=2)
    assert forkflux(capsys, "role", "pause", role.role_key, "--reason", "No server").status == 0
    said = refusal(forkflux(capsys, "job", "claim", job.pk, "--as", worker.name))
    assert "is paused (No server)" in said
    assert forkflux(capsys, "role", "resume", role.role_key).out.endswith("is open for work.\n")
    assert forkflux(capsys, "job", "claim", job.pk, "--as", worker.name).status == 0


def test_a_role_with_unfinished_jobs_is_deleted_only_when_they_have_somewhere_to_go(capsys):
    role, target = new_role(), new_role()
    worker = new_agent(role)
    jobs = [published(worker, role).pk for _ in range(3)]
    claim(job_id=jobs[0], actor=worker)
    said = refusal(forkflux(capsys, "role", "delete", role.role_key, "--yes"))
    assert "still has 3 unfinished jobs" in said
    said = refusal(forkflux(capsys, "role", "delete", role.role_key, "--move-to", role.role_key, "--yes"))
    assert "name another one" in said
    assert "--yes" in refusal(forkflux(capsys, "role", "delete", role.role_key, "--move-to", target.role_key))
    assert Role.objects.get(pk=role.pk).is_deleted is False
    ended = forkflux(capsys, "role", "delete", role.role_key, "--move-to", target.role_key, "--yes", "--json")
    assert ended.document == {"role_key": role.role_key, "deleted": True, "moved_job_ids": jobs}
    assert set(Job.objects.filter(pk__in=jobs).values_list("target_role", flat=True)) == {target.pk}
    assert "There is no role" in refusal(forkflux(capsys, "role", "delete", role.role_key, "--yes"))
