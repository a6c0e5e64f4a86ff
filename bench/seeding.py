"""Makes the roles, agents and first jobs that are measured with; run as a process, it speaks JSON.

`python -m bench.seeding` in the environment of an installation. Standard input: ``{"agents": int}``;
standard output: `Seeded` as JSON.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from typing import Any

CLAIMED_ROLES = ("bench-a", "bench-b", "bench-c")
"""Their jobs are claimed over HTTP, and they are all that a claimer holds."""
PUBLISHED_ROLE = "bench-inbox"
"""Receives what is published, so that claims and publications do not feed each other."""
STATEMENT_ROLE = "bench-statement"
"""Its jobs are claimed by the bare statement."""

CONTEXT = {
    "repository": "acme/shop",
    "branch": "feature/login",
    "files": ["shop/views/login.py", "shop/tests/test_login.py"],
    "notes": "The session cookie is renewed on each request. Check that a stolen one ends with the log-out.",
}
PUBLICATION = {
    "parent_job_id": None,
    "summary": "Review the login form",
    "context_payload": CONTEXT,
    "constraints": ["Keep the public interface as it is", "Tests must pass"],
    "artifacts": [],
    "priority": 20,
}
"""What is published, without the role: about 500 bytes, as agents' hand-overs often are."""


@dataclasses.dataclass(frozen=True)
class Seeded:
    """Ids of roles and of one published job on hold in each, by role key; a token for each agent.

    `claimers` hold the claimed roles. `others` publish and read; they hold no job, whatever is claimed.
    """

    roles: dict[str, int]
    jobs: dict[str, int]
    claimer_ids: list[int]
    claimers: list[str]
    others: list[str]


def seed(*, agents: int) -> Seeded:
    """Write them with the same services that the doors use. Needs Django, and the tables."""
    from agents.services import register_agent
    from core.actors import operator
    from jobs.services.publishing import publish
    from roles.services import create_role

    person = operator("bench")
    keys = [*CLAIMED_ROLES, PUBLISHED_ROLE, STATEMENT_ROLE]
    roles = {key: create_role(actor=person, role_key=key, role_label=key.title()).pk for key in keys}
    claimers = [
        register_agent(actor=person, agent_label=f"claimer {number}", role_keys=CLAIMED_ROLES)
        for number in range(agents)
    ]
    others = [
        register_agent(actor=person, agent_label=f"other {number}", role_keys=CLAIMED_ROLES)
        for number in range(agents)
    ]
    publication: dict[str, Any] = {**PUBLICATION}
    jobs = {key: publish(actor=person, target_role_key=key, on_hold=True, **publication).pk for key in keys}
    return Seeded(
        roles=roles,
        jobs=jobs,
        claimer_ids=[agent.pk for agent, _ in claimers],
        claimers=[token.secret for _, token in claimers],
        others=[token.secret for _, token in others],
    )


def main() -> None:
    """Seed as standard input asks."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forkflux_site.settings")
    import django

    django.setup()
    asked = json.load(sys.stdin)
    json.dump(dataclasses.asdict(seed(agents=asked["agents"])), sys.stdout)


if __name__ == "__main__":
    main()
