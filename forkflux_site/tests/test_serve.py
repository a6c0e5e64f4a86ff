"""`forkflux serve` from start to end, as processes on both databases."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest

from testing.installation import CommandFailed, Installation, Server

# Each starts servers; where the kind of database matters, the test asks for it itself.
pytestmark = [pytest.mark.slow, pytest.mark.both_databases]

STATIC = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css"


@pytest.fixture
def bare(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    """An installation on an empty database of each kind in turn; `serve` makes its tables."""
    folder = tmp_path / "work"
    folder.mkdir()
    with Installation(database_url=database_url, folder=folder) as made:
        yield made


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Installation]:
    with Installation(database_url="", folder=tmp_path) as made:
        yield made


def get(server: Server, path: str) -> httpx.Response:
    return httpx.get(f"{server.base_url}{path}", trust_env=False, timeout=20)


def refused(installation: Installation, *arguments: str) -> str:
    """The one line that `serve` writes when it refuses to start."""
    result = installation.run("serve", *arguments, "--port", "0", expect=1)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_serve_makes_the_tables_says_where_it_listens_and_ends_in_order(bare: Installation) -> None:
    server = bare.serve()
    assert re.fullmatch(r"ForkFlux listens on http://127\.0\.0\.1:\d+\n", server.log)
    assert get(server, "/nowhere").status_code == 404
    assert "jobs" in bare.run("showmigrations", "--plan").stdout
    assert bare.cli("init")["migrations_applied"] == 0
    assert server.stop() == 0
    assert server.log.count("\n") == 1, server.log


def test_ctrl_c_ends_it_in_order_too(on_sqlite: Installation) -> None:
    server = on_sqlite.serve()
    server._running.send_signal(signal.SIGINT)
    assert server._running.wait(15) == 0


def test_static_files_need_no_step_before(on_sqlite: Installation) -> None:
    assert get(on_sqlite.serve(), STATIC).headers["content-type"].startswith("text/css")


def test_static_files_that_were_collected_have_names_for_good(on_sqlite: Installation) -> None:
    collected = {"FORKFLUX_STATIC_ROOT": str(on_sqlite.folder / "static")}
    on_sqlite.run("collectstatic", "--no-input", environment=collected)
    server = on_sqlite.serve(environment=collected)
    name = next((on_sqlite.folder / "static").glob("drf_spectacular_sidecar/**/swagger-ui.*.css"))
    hashed = f"/static/{name.relative_to(on_sqlite.folder / 'static')}"
    assert "immutable" in get(server, hashed).headers["cache-control"]
    assert get(server, STATIC).status_code == 200


def test_modules_of_the_working_folder_are_not_mistaken_for_ours(on_sqlite: Installation) -> None:
    for name in ("core", "jobs", "gunicorn", "django"):
        (on_sqlite.folder / name).mkdir()
        (on_sqlite.folder / name / "__init__.py").write_text("raise SystemExit('imported from the folder')\n")
    assert get(on_sqlite.serve(), "/nowhere").status_code == 404


def test_a_second_server_of_a_file_is_refused_with_the_pid_of_the_first(on_sqlite: Installation) -> None:
    first = on_sqlite.serve()
    assert f"is already served by process {first.pid}." in refused(on_sqlite)
    assert get(first, "/nowhere").status_code == 404


def test_a_server_that_was_killed_is_in_nobodys_way(
    on_sqlite: Installation, rounds: Callable[..., int]
) -> None:
    port = "0"
    for _ in range(rounds(3, 20)):
        # Without the tests' leash, which would end the workers: that they end by themselves is the point.
        server = subprocess.Popen(
            [on_sqlite.command, "serve", "--port", port],
            cwd=on_sqlite.folder, env=on_sqlite.environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert server.stdout is not None
            address = re.search(r"listens on (http://\S+:(\d+))", server.stdout.readline())
            assert address is not None
            assert httpx.get(f"{address[1]}/nowhere", trust_env=False).status_code == 404
            port = address[2]
        finally:
            server.kill()
            server.communicate()


def test_two_files_may_be_served_at_once(on_sqlite: Installation) -> None:
    on_sqlite.serve()
    other = {"DATABASE_URL": f"sqlite:///{on_sqlite.folder}/other.db"}
    assert get(on_sqlite.serve(environment=other), "/nowhere").status_code == 404


def test_sqlite_has_one_worker_and_asking_for_more_is_wrong_usage(on_sqlite: Installation) -> None:
    result = on_sqlite.run("serve", "--workers", 2, "--port", 0, expect=2)
    assert "--workers is 2; with SQLite it is always 1" in result.stderr
    assert "use PostgreSQL" in result.stderr
    assert not (on_sqlite.folder / ".forkflux").exists()
    assert len(children(on_sqlite.serve("--workers", 1).pid)) == 1


@pytest.mark.parametrize(("asked", "workers"), [([], 2), (["--workers", "3"], 3)], ids=["default", "3"])
def test_postgresql_has_two_workers_or_as_many_as_asked(
    fresh_database: Callable[[str], str], tmp_path: Path, asked: list[str], workers: int
) -> None:
    with Installation(database_url=fresh_database("postgresql"), folder=tmp_path) as installation:
        server = installation.serve(*asked)
        deadline = time.monotonic() + 20
        while len(children(server.pid)) < workers:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for _ in range(20):
            assert get(server, "/nowhere").status_code == 404
        assert len(children(server.pid)) == workers
        assert server.log.count("listens on") == 1


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_several_servers_may_start_at_once_on_an_empty_postgresql(
    fresh_database: Callable[[str], str], tmp_path: Path
) -> None:
    with Installation(database_url=fresh_database("postgresql"), folder=tmp_path) as installation:
        serves = [
            subprocess.Popen(
                [installation.command, "serve", "--port", "0", "--workers", "1"],
                cwd=tmp_path, env=installation.environment, stdout=subprocess.PIPE, text=True,
            )
            for _ in range(3)
        ]  # fmt: skip
        try:
            for serve in serves:
                assert serve.stdout is not None
                assert serve.stdout.readline().startswith("ForkFlux listens on ")
        finally:
            for serve in serves:
                serve.terminate()
            for serve in serves:
                serve.communicate(timeout=30)
        assert [serve.returncode for serve in serves] == [0, 0, 0]


def test_each_thread_keeps_its_connection_and_the_end_closes_them(
    fresh_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = fresh_database("postgresql")
    threads, sweep = 3, 1
    with Installation(database_url=url, folder=tmp_path) as installation:
        server = installation.serve("--workers", "1", environment={"FORKFLUX_THREADS": str(threads)})
        with ThreadPoolExecutor(12) as pool:
            assert set(pool.map(lambda _: get(server, "/api/v1/ready").status_code, range(60))) == {200}
        sessions = sessions_of(url)
        assert len(sessions) <= threads + sweep
        assert get(server, "/api/v1/ready").status_code == 200
        assert sessions_of(url) == sessions, "a request made a connection of its own"
        # The database throws everybody out, as a restart of it does: nobody sees an error of ours.
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [list(sessions)]
            )
        answers = {get(server, "/api/v1/ready").status_code for _ in range(4 * threads)}
        assert answers <= {200, 503}
        assert get(server, "/api/v1/ready").status_code == 200
        assert server.stop() == 0
        assert sessions_of(url) == set()


def sessions_of(url: str) -> set[int]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'forkflux'"
        ).fetchall()
    return {pid for (pid,) in rows}


def test_without_migrating_it_refuses_a_database_that_lacks_some(bare: Installation) -> None:
    assert "migrations are not applied yet; run: forkflux init" in refused(bare, "--no-migrate")
    bare.init()
    assert get(bare.serve("--no-migrate"), "/nowhere").status_code == 404


def test_a_port_in_use_is_one_clear_line(on_sqlite: Installation) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = on_sqlite.run("serve", "--port", port, expect=1)
    assert result.stderr == (
        f"Error: Port {port} on 127.0.0.1 is in use. Stop what uses it, or choose another with --port (0: any).\n"
    )


@pytest.mark.parametrize("host", ["nowhere.invalid", "192.0.2.1"])
def test_a_host_that_is_not_here_is_one_clear_line(on_sqlite: Installation, host: str) -> None:
    assert host in refused(on_sqlite, "--host", host)


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_out_of_range_is_wrong_usage(on_sqlite: Installation, port: str) -> None:
    assert "allowed is 0 to 65535" in on_sqlite.run("serve", f"--port={port}", expect=2).stderr


def test_what_will_not_work_on_an_open_address_is_said_at_the_start(on_sqlite: Installation) -> None:
    server = on_sqlite.serve("--host", "0.0.0.0")  # noqa: S104 - the warning is about it
    assert "forkflux.W001" in server.log
    assert "ALLOWED_HOSTS" in server.log
    with pytest.raises(CommandFailed, match=r"forkflux\.E001"):
        on_sqlite.serve(
            "--host", "0.0.0.0",  # noqa: S104 - as above
            environment={"DEBUG": "true", "DATABASE_URL": f"sqlite:///{on_sqlite.folder}/other.db"},
        )  # fmt: skip


def test_ipv6_has_brackets_in_its_address(on_sqlite: Installation) -> None:
    server = on_sqlite.serve("--host", "::1", port=free_port())
    address = re.search(r"listens on (http://\[::1\]:\d+)\n", server.log)
    assert address is not None
    assert httpx.get(f"{address[1]}/nowhere", trust_env=False).status_code == 404


def free_port() -> int:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as free:
        port: int = free.getsockname()[1]
    return port


def test_a_websocket_that_leads_nowhere_is_closed_without_an_error(on_sqlite: Installation) -> None:
    server = on_sqlite.serve()
    response = httpx.get(
        f"{server.base_url}/ws/nowhere/",
        trust_env=False,
        headers={
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        },
    )
    assert response.status_code == 403
    assert server.log.count("\n") == 1, server.log


def test_daphne_serves_where_gunicorn_is_not(bare: Installation) -> None:
    server = bare.serve(environment={"FORKFLUX_SERVER": "daphne"})
    assert get(server, "/nowhere").status_code == 404
    assert get(server, STATIC).status_code == 200
    assert server.stop() == 0
    assert server.log.count("\n") == 1, server.log


def test_logs_are_json_when_asked_for_and_hold_no_query(on_sqlite: Installation) -> None:
    server = on_sqlite.serve(environment={"FORKFLUX_LOG_LEVEL": "INFO", "FORKFLUX_LOG_FORMAT": "json"})
    get(server, "/nowhere?token=s3cret-s3cret")
    assert server.stop() == 0
    lines = [line for line in server.log.splitlines() if not line.startswith("ForkFlux")]
    assert lines
    assert all(line.startswith("{") and line.endswith("}") for line in lines), server.log
    assert "s3cret" not in server.log


def test_a_newcomer_at_a_terminal_is_told_how_to_get_into_the_admin(on_sqlite: Installation) -> None:
    def first_lines() -> str:
        terminal, ours = pty.openpty()
        server = subprocess.Popen(
            [on_sqlite.command, "serve", "--port", "0"],
            cwd=on_sqlite.folder, env=on_sqlite.environment, stdin=subprocess.DEVNULL, stdout=ours, stderr=ours,
        )  # fmt: skip
        os.close(ours)
        said = ""
        try:
            while "ForkFlux listens on" not in said:
                said += os.read(terminal, 4_096).decode()
        finally:
            server.terminate()
            server.wait(timeout=30)
            os.close(terminal)
        return said

    assert "forkflux createsuperuser" in first_lines()
    on_sqlite.run(
        *("createsuperuser", "--noinput", "--username", "anna", "--email", "anna@example.org"),
        environment={"DJANGO_SUPERUSER_PASSWORD": "a-password-for-anna"},
    )
    assert "createsuperuser" not in first_lines()
