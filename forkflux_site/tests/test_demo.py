"""`make demo` tells what really happens, fails when it does not, and leaves nothing behind however it ends."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from forkflux_site.tests.demo_run import Demo, finished_demo
from testing.installation import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.sqlite_only]

# Changes a module of the served ForkFlux when it is loaded, as a fault in it would.
PLANT = """
import importlib.abc, importlib.machinery, sys

class Loader(importlib.abc.Loader):
    def __init__(self, real):
        self.real = real
    def create_module(self, spec):
        return self.real.create_module(spec)
    def exec_module(self, module):
        self.real.exec_module(module)
        FAULT

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "MODULE":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        spec.loader = Loader(spec.loader)
        return spec

sys.meta_path.insert(0, Finder())
"""
PLANTS = [
    (
        "jobs.services.publishing",
        "module.publish = None",
        'The demo failed in "1. Work is handed over"',
        "planner: POST /jobs should be answered with 201, and was with 500",
    ),
    (
        "jobs.services.sweeping",
        "module.sweep_once = module.SweepReport",
        'The demo failed in "2. A worker dies, and its job does not"',
        "job 1 of the killed worker is back on the board within 13 s, but is still in_progress",
    ),
]


def test_it_tells_the_whole_story_and_ends():
    demo = finished_demo()
    assert (demo.status, demo.errors) == (0, "")
    told = [
        r"planner    publishes job 2 to developer, urgent",
        r"constraint  No redirect to another site",
        r"artifact    git_branch git://shop/main",
        r"builder-1  claims the next developer job: job 2, generation 1",
        r"builder-1  heartbeat: 80 %, Tests pass",
        r"builder-1  completes job 2 \(in_progress → completed\)",
        r"planner    claims the next reviewer job: job 3",
        r"demo       kill -9 \d+: builder-2 is gone, and holds job 1",
        r"system     takes job 1 back from builder-2",
        r"builder-1  claims the next developer job: job 1, generation 3",
        r"earlier attempt: builder-2, lease_expired",
        r"builder-2  completes job 1 with generation 1 and is refused: 409 lease_lost",
        r"builder-1  completes job 1 ",
        r"builder-1  blocks job 4 ",
        r"planner    unblocks job 4 ",
        r"builder-1  resumes job 4 ",
        r"builder-1  fails job 4 ",
        r"5 .* system     task_lease_expired  published    generation 1, taken from builder-2",
        r"forkflux audit verify\n  \S",
    ]
    after = 0
    for pattern in told:
        match = re.compile(pattern).search(demo.output, after)
        assert match, f"{pattern!r} does not follow in:\n{demo.output}"
        after = match.end()


def test_each_agent_is_a_process_of_its_own():
    demo = finished_demo()
    pids = re.findall(r"starts as process (\d+)", demo.output)
    assert len(pids) == len(set(pids)) == 3


def test_output_that_is_no_terminal_has_no_colour_and_no_invitation():
    demo = finished_demo()
    assert "\x1b" not in demo.output
    assert "Ctrl-C" not in demo.output


def test_it_leaves_no_folder():
    assert finished_demo().left == []


def test_on_a_terminal_it_stays_up_with_what_it_offers_until_ctrl_c(tmp_path):
    with Demo(tmp_path, terminal=True) as demo:
        demo.wait_for("Ctrl-C ends the server")
        assert "\x1b[36mbuilder-1" in demo.output
        family = demo.family()
        name = demo.wait_for(r"sign in as +(\S+)")[1]
        token = demo.wait_for(r"password +(\S+)")[1]
        for address in re.findall(r"(?:the board|every route) +(http://\S+)", demo.output):
            page = httpx.get(address, auth=(name, token), headers={"Accept": "text/html"}, timeout=20)
            assert (page.status_code, "<html" in page.text) == (200, True)
        [curl] = re.findall(r"^ +(curl .+)$", demo.output, re.MULTILINE)
        if shutil.which("curl"):
            answer = subprocess.run(["sh", "-c", curl], capture_output=True, check=True).stdout
            assert {agent["name"] for agent in json.loads(answer)} >= {"planner", "builder-1", "builder-2"}
        demo.send_signal(signal.SIGINT)
        assert demo.wait() == 0, demo.errors
        demo.require_nothing_left(family)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_nothing_it_started_survives_it(tmp_path, number, status):
    with Demo(tmp_path, NO_COLOR="1", terminal=True) as demo:
        demo.wait_for(r"planner +starts as process")
        assert "\x1b" not in demo.output, "NO_COLOR is set"
        family = demo.family()
        assert len(family) >= 5, "the demo, the leash, the server and its worker, an agent"
        assert list(tmp_path.iterdir())
        demo.send_signal(number)
        assert demo.wait() == status
        demo.require_nothing_left(family)


def test_it_ends_with_the_make_that_started_it(tmp_path):
    with Demo(tmp_path, through_parent=True) as demo:
        demo.wait_for(r"planner +starts as process")
        family = demo.family()
        demo.send_signal(signal.SIGKILL)
        demo.require_nothing_left(family)


def test_a_port_that_is_taken_is_told(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Demo(tmp_path, DEMO_PORT=str(port)) as demo:
            assert demo.wait() == 1
            assert f"Port {port} on 127.0.0.1 is in use" in demo.errors
            demo.require_nothing_left({demo.pid})


def test_a_port_that_is_none_is_told(tmp_path):
    with Demo(tmp_path, DEMO_PORT="70000") as demo:
        assert demo.wait() == 2
        assert demo.errors == "DEMO_PORT is '70000'; allowed is a port from 0 (any free one) to 65535.\n"


def test_a_server_that_does_not_do_its_part_makes_it_fail_and_say_where(tmp_path, rounds):
    # The second one takes the time of a whole lease and more.
    for module, fault, part, sentence in PLANTS[: rounds(1, 2)]:
        folder = tmp_path / module
        (folder / "temporary").mkdir(parents=True)
        (folder / "sitecustomize.py").write_text(PLANT.replace("MODULE", module).replace("FAULT", fault))
        with Demo(folder / "temporary", PYTHONPATH=str(folder)) as demo:
            demo.wait_for(r"planner +starts as process")
            family = demo.family()
            assert demo.wait() == 1
            assert part in demo.errors
            assert sentence in demo.errors
            demo.require_nothing_left(family)


def test_a_reader_that_leaves_ends_it(tmp_path):
    """`make demo | head -3`: the demo notices at its next line."""
    result = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$0" -m tools.demo | head -n 1', sys.executable],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.startswith("ForkFlux demo")
    assert list(tmp_path.iterdir()) == []
