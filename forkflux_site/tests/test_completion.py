"""`forkflux completion`: real shells complete what the parsers know."""

import shutil
import subprocess

import pytest

from testing.command_line import forkflux

ASK = """
source "$1"
COMP_WORDS=($2 "$3"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_forkflux
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def bash_script(tmp_path, capsys):
    ended = forkflux(capsys, "completion", "bash")
    assert (ended.status, ended.err) == (0, "")
    path = tmp_path / "completion.bash"
    path.write_text(ended.out)
    return path


def completed(script, before, word):
    ended = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", str(script), before, word],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("before", "word", "expected"),
    [
        ("forkflux", "jo", ["job"]),
        ("forkflux", "st", ["stats", "stuck"]),
        ("forkflux job", "un", ["unblock", "unhold"]),
        ("forkflux job cancel 7", "--re", ["--reason"]),
        ("forkflux role delete qa", "--", ["--help", "--json", "--move-to", "--yes"]),
        ("forkflux stats", "--w", ["--window-hours"]),
        ("forkflux completion", "z", ["zsh"]),
        ("forkflux nothing", "", []),
    ],
)
def test_bash_completes_commands_actions_and_options(bash_script, before, word, expected):
    assert completed(bash_script, before, word) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_script_for_another_shell_knows_the_same_words(capsys, shell):
    script = forkflux(capsys, "completion", shell).out
    assert "unassign-role" in script
    assert "window-hours" in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script, text=True, check=True)
