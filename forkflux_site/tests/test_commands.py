"""What holds for every command of the product: help, a database that is not there, real processes and their exits."""

import json
import subprocess
import sys
import time

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.db import connection

from testing.command_line import forkflux, refusal
from testing.committed import committed_database  # noqa: F401 - the fixture `db`
from testing.installation import ROOT, Installation
from testing.leash import Leashed

# Each command with its actions; a test holds this against what there is.
ACTIONS = {
    "role": ["add", "list", "edit", "pause", "resume", "delete"],
    "agent": ["add", "list", "edit", "deactivate", "activate", "assign-role", "unassign-role"],
    "token": ["issue", "list", "revoke", "rotate"],
    "job": [
        *("publish", "list", "show", "events", "edit", "claim", "complete", "fail", "block", "unblock"),
        *("resume", "restart", "release", "requeue", "reassign", "cancel", "hold", "unhold", "delete"),
    ],
    "audit": ["verify"],
    "stats": [],
    "stuck": [],
    "sweep": [],
}
# They work without a database.
OF_THEMSELVES = {"init", "serve", "doctor", "completion"}
# A call of each that would work, were there a database.
CALLS = {
    "role add": ("role", "add", "qa"),
    "role list": ("role", "list"),
    "agent add": ("agent", "add", "Reviewer"),
    "agent list": ("agent", "list"),
    "token issue": ("token", "issue", "reviewer"),
    "token list": ("token", "list"),
    "token revoke": ("token", "revoke", "1"),
    "token rotate": ("token", "rotate", "1"),
    "job publish": ("job", "publish", "--role", "qa", "--summary", "s"),
    "job list": ("job", "list"),
    "job show": ("job", "show", "1"),
    "job events": ("job", "events", "1"),
    "audit verify": ("audit", "verify"),
    "sweep": ("sweep",),
    "stats": ("stats",),
    "stuck": ("stuck",),
    "role edit": ("role", "edit", "qa", "--label", "Q"),
    "role pause": ("role", "pause", "qa", "--reason", "r"),
    "role resume": ("role", "resume", "qa"),
    "role delete": ("role", "delete", "qa", "--yes"),
    "agent edit": ("agent", "edit", "reviewer", "--label", "R"),
    "agent deactivate": ("agent", "deactivate", "reviewer", "--reason", "r", "--yes"),
    "agent activate": ("agent", "activate", "reviewer"),
    "agent assign-role": ("agent", "assign-role", "reviewer", "qa"),
    "agent unassign-role": ("agent", "unassign-role", "reviewer", "qa"),
    "job edit": ("job", "edit", "1", "--summary", "s"),
    "job delete": ("job", "delete", "1", "--yes"),
    "job reassign": ("job", "reassign", "1", "--to", "reviewer", "--reason", "r"),
    **{
        f"job {verb}": ("job", verb, "1", "--as", "reviewer", *(["--reason", "r"] if needs_reason else []))
        for verb, needs_reason in (
            *((verb, False) for verb in ("claim", "complete", "resume", "restart")),
            *(
                (verb, True)
                for verb in ("fail", "block", "unblock", "release", "requeue", "cancel", "hold", "unhold")
            ),
        )
    },
}
PAGES = [
    *(name.split() for name in CALLS),
    *([name] for name, actions in ACTIONS.items() if actions),
    ["doctor"],
    ["completion"],
]


def test_every_command_is_named_here():
    ours = {name for name, app in get_commands().items() if app in settings.FORKFLUX_APPS}
    assert ours - OF_THEMSELVES == set(ACTIONS)
    for name, actions in ACTIONS.items():
        command = load_command_class(get_commands()[name], name)
        parser = command.create_parser("forkflux", name)
        found = [list(action.choices or ()) for action in parser._actions if action.dest == "action"]
        assert found == ([actions] if actions else [])
    every = {f"{name} {action}".strip() for name, actions in ACTIONS.items() for action in actions or [""]}
    assert set(CALLS) == every


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_a_help_page_fits_a_terminal_and_has_an_example(capsys, monkeypatch, page):
    monkeypatch.setenv("COLUMNS", "80")
    ended = forkflux(capsys, *page, "--help")
    assert (ended.status, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 80
    example = ended.out.partition("\nexample:\n")[2]
    assert example.lstrip().startswith(f"forkflux {' '.join(page)}")
    assert "--settings" not in ended.out


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_without_its_tables_a_command_says_what_to_do(capsys, monkeypatch, call):
    # Of a version that has one migration more.
    monkeypatch.setattr(
        "django.db.migrations.recorder.MigrationRecorder.applied_migrations",
        lambda recorder: {},
    )
    assert refusal(forkflux(capsys, *call)).endswith("run: forkflux init")


@pytest.mark.sqlite_only
@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_without_its_file_a_command_says_what_to_do_and_makes_nothing(capsys, monkeypatch, tmp_path, call):
    missing = tmp_path / "folder" / "forkflux.db"
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "NAME", str(missing))
    assert refusal(forkflux(capsys, *call)) == f"There is no database {missing} yet; run: forkflux init"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_in_a_real_process_nothing_is_made_without_a_database(tmp_path):
    with Installation(database_url=f"sqlite:///{tmp_path}/db/forkflux.db", folder=tmp_path) as bare:
        result = bare.run("job", "list", expect=1)
    assert (result.stdout, result.stderr.count("\n")) == ("", 1)
    assert result.stderr.endswith("run: forkflux init\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_empty_database_is_told_from_one_that_is_ready(database_url, tmp_path):
    with Installation(database_url=database_url, folder=tmp_path) as empty:
        result = empty.run("role", "list", "--json", expect=1)
        assert (result.stdout, result.stderr.count("\n")) == ("", 1)
        assert result.stderr.endswith("run: forkflux init\n")
        empty.init()
        assert empty.cli("role", "list") == []


@pytest.mark.slow
def test_a_postgresql_database_that_does_not_exist_is_told_from_one_without_tables(postgres_url, tmp_path):
    nowhere = f"{postgres_url}_nowhere"
    with Installation(database_url=nowhere, folder=tmp_path) as missing:
        for call in (("role", "list"), ("init",)):
            said = missing.run(*call, expect=1).stderr
            assert said == (
                f'Error: The PostgreSQL database "{nowhere.rpartition("/")[2]}" does not exist; '
                "make it (createdb), then run: forkflux init\n"
            )


@pytest.mark.slow
def test_the_program_works_prints_json_and_its_exits_mean_something(installation):
    assert installation.cli("role", "add", "qa", "--label", "日本 →")["role_label"] == "日本 →"
    # A name that is also the word for help, which is that in the first place only.
    assert installation.agent("help", "qa").name == "help"
    context = json.dumps({"text": "größer → kleiner"})
    published = installation.run(
        *("job", "publish", "--role", "qa", "--summary", "s", "--context", "-", "--json"), input=context
    )
    job_id = json.loads(published.stdout)["job_id"]
    assert installation.cli("job", "show", job_id)["context_payload"] == json.loads(context)
    assert installation.cli("audit", "verify")["events"] == 4
    # A terminal that knows no such letters ends no command.
    shown = installation.run("role", "list", environment={"PYTHONIOENCODING": "ascii"}).stdout
    assert r"\u65e5\u672c \u2192" in shown

    refused = installation.run("job", "show", 999, expect=1)
    assert (refused.stdout, refused.stderr.count("\n")) == ("", 1)
    assert installation.run("job", "shown", 999, expect=2).stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_manage_py_has_the_same_commands(installation):
    result = subprocess.run(
        [sys.executable, ROOT / "manage.py", "role", "add", "qa", "--json"],
        cwd=installation.folder,
        env=installation.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout)["role_key"] == "qa"
    assert [role["role_key"] for role in installation.cli("role", "list")] == ["qa"]


@pytest.mark.slow
def test_a_loop_of_sweeps_ends_in_good_order_when_it_is_told_to(installation):
    log = installation.folder / "sweep.log"
    loop = Leashed(
        [installation.command, "sweep", "--loop"],
        output=log,
        cwd=installation.folder,
        environment=installation.environment | {"FORKFLUX_SWEEP_SECONDS": "0.1"},
    )
    try:
        deadline = time.monotonic() + 30
        while "Sweeping every 0.1 s" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        status = loop.close()
    assert status == 0, log.read_text()
    assert log.read_text().rstrip().endswith("sweeps.")
    assert "Traceback" not in log.read_text()
