"""What a leash promises: the command ends when whoever asked for it does, however that happens."""

import os
import signal
import subprocess
import sys

import pytest

from testing.installation import ROOT
from testing.leash import Leashed
from testing.processes import eventually, is_running

FAMILY = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(600)
"""

ASKING = """
import pathlib, sys, time
from testing.leash import Leashed
folder = pathlib.Path(sys.argv[1])
leashed = Leashed(["sleep", "600"], output=folder / "out", remove=folder / "data")
(folder / "pid.new").write_text(str(leashed.pid))
(folder / "pid.new").rename(folder / "pid")
time.sleep(600)
"""


def test_closing_ends_the_command_and_removes_its_folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    leashed = Leashed(["sleep", "600"], output=tmp_path / "out", remove=data)
    assert is_running(leashed.pid)
    assert leashed.close() == 128 + signal.SIGTERM
    assert not is_running(leashed.pid)
    assert not data.exists()


def test_the_exit_code_and_the_output_are_the_commands_own(tmp_path):
    leashed = Leashed(["sh", "-c", "echo said; exit 7"], output=tmp_path / "out")
    assert leashed.wait(10) == 7
    assert (tmp_path / "out").read_text() == "said\n"


def test_a_program_that_does_not_exist_is_told_at_once(tmp_path):
    with pytest.raises(RuntimeError, match="did not start"):
        Leashed([tmp_path / "nothing"], output=tmp_path / "out")


def test_children_are_killed_with_the_command(tmp_path):
    leashed = Leashed([sys.executable, "-c", FAMILY, tmp_path / "child"], output=tmp_path / "out")
    eventually(
        lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text(), "the child's start"
    )
    child = int((tmp_path / "child").read_text())
    leashed.kill_group()
    assert not is_running(leashed.pid)
    if sys.platform == "linux":
        assert not is_running(child), "kill_group came back before the child was gone"
    eventually(lambda: not is_running(child), "the child's end")


def test_a_command_that_ignores_its_stop_signal_is_killed(tmp_path):
    leashed = Leashed(
        ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 600; done"],
        output=tmp_path / "out",
        stop_seconds=0.5,
    )
    eventually(lambda: (tmp_path / "out").read_text() == "ready\n", "the trap")
    assert leashed.close() == 128 + signal.SIGKILL
    assert not is_running(leashed.pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_command_ends_with_the_process_that_asked_for_it(tmp_path, number):
    (tmp_path / "data").mkdir()
    asking = subprocess.Popen([sys.executable, "-c", ASKING, tmp_path], cwd=ROOT, stderr=subprocess.DEVNULL)
    eventually((tmp_path / "pid").exists, "the command's start")
    command = int((tmp_path / "pid").read_text())
    assert is_running(command)
    asking.send_signal(number)
    asking.wait()
    eventually(lambda: not is_running(command), "the command's end")
    eventually(lambda: not (tmp_path / "data").exists(), "the removal of its folder")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent by itself")
def test_the_command_ends_even_when_the_leash_itself_is_killed(tmp_path):
    leashed = Leashed(["sleep", "600"], output=tmp_path / "out")
    os.kill(leashed._leash.pid, signal.SIGKILL)
    eventually(lambda: not is_running(leashed.pid), "the command's end")
    leashed.close()
