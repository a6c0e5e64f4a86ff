"""The least that a claim can cost: pgbench runs it as one bare statement, without any application.

It takes the next job, gives it a lease and writes an event row of the usual size, in one transaction on the
same tables with the same indexes and checks. It finds nobody by a token, computes no hash and answers nobody.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bench.load import Outcome

EXTRA_SECONDS = 60.0

SCRIPT = """\
WITH claimed AS (
    UPDATE jobs_job SET
        status = 'in_progress', assignee_agent_id = :agent, last_holder_id = :agent,
        lease_generation = lease_generation + 1, lease_seconds = 1800,
        lease_expires_at = clock_timestamp() + interval '1800 seconds',
        lease_heartbeat_at = clock_timestamp(), started_at = clock_timestamp(), updated_at = clock_timestamp(),
        event_sequence = event_sequence + 1, event_hash = repeat('0', 64),
        event_feed_tx = pg_current_xact_id()::text::bigint
    WHERE id = (
        SELECT id FROM jobs_job
        WHERE target_role_id = :role AND status = 'published' AND NOT on_hold AND NOT is_deferred
        ORDER BY priority DESC, created_at, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    )
    RETURNING id, summary, context_payload, constraints, event_sequence, event_feed_tx
), told AS (
    INSERT INTO events_event (
        stream, sequence, event_type, canonical, previous_hash, hash, actor_kind, actor_name, actor_agent_id,
        job_id, previous_status, current_status, epoch, feed_tx, created_at
    )
    SELECT 'job:' || id, event_sequence, 'task_claimed', repeat('x', 500), repeat('0', 64), repeat('0', 64),
        'agent', 'claimer-1', :agent, id, 'published', 'in_progress', 1, event_feed_tx, clock_timestamp()
    FROM claimed
)
SELECT id, summary, context_payload, constraints FROM claimed;
"""


class PgbenchFailed(RuntimeError):
    """pgbench is not there, or could not do its work."""


def pgbench_program(binaries: Path | None) -> Path | None:
    """The program that came with the server, or None."""
    program = None if binaries is None else binaries / "pgbench"
    return program if program is not None and program.exists() else None


def run_pgbench(
    program: Path, database_url: str, *, role_id: int, agent_id: int, clients: int, seconds: float
) -> Outcome:
    """Claim with so many sessions for so long (pgbench knows whole seconds only); PgbenchFailed."""
    parts = urlsplit(database_url)
    whole_seconds = max(1, round(seconds))
    with tempfile.TemporaryDirectory(prefix="forkflux-pgbench-") as name:
        folder = Path(name)
        script = folder / "claim.sql"
        script.write_text(SCRIPT, encoding="utf-8")
        result = subprocess.run(
            [
                program,
                "--no-vacuum",
                "--protocol=prepared",
                f"--file={script}",
                f"--client={clients}",
                "--jobs=1",
                f"--time={whole_seconds}",
                "--log",
                f"--log-prefix={folder}/log",
                f"--define=role={role_id}",
                f"--define=agent={agent_id}",
                f"--host={parts.hostname}",
                f"--port={parts.port}",
                f"--username={parts.username}",
                parts.path.removeprefix("/"),
            ],
            env={"PATH": os.environ.get("PATH", ""), "PGPASSWORD": unquote(parts.password or "")},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=whole_seconds + EXTRA_SECONDS,
            check=False,
        )
        if result.returncode != 0:
            raise PgbenchFailed(f"pgbench ended with {result.returncode}: {result.stderr.strip()[-1000:]}")
        lines = [
            line for log in folder.glob("log.*") for line in log.read_text(encoding="utf-8").splitlines()
        ]
    return outcome_of_log(lines)


def outcome_of_log(lines: Iterable[str]) -> Outcome:
    """What pgbench's log tells. The window is from the first begin to the last end; PgbenchFailed for no line.

    A line is: client, number, microseconds that it took, script, and when it ended as seconds and microseconds.
    pgbench's own clock begins earlier, when it begins to open its sessions.
    """
    latencies, begins, ends = [], [], []
    for line in lines:
        _, _, took, _, second, microsecond = line.split()[:6]
        latencies.append(int(took) / 1_000_000)
        ends.append(int(second) + int(microsecond) / 1_000_000)
        begins.append(ends[-1] - latencies[-1])
    if not latencies:
        raise PgbenchFailed("pgbench finished no transaction within its time")
    return Outcome(seconds=max(ends) - min(begins), in_window=len(latencies), latencies=latencies)
