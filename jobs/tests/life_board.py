"""A real board and its model side by side: the roles, agents and jobs of one example, and who is meant by whom."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from core.actors import Actor
from core.clock import database_moment
from jobs.services.publishing import publish
from jobs.tests.board import PERSON, as_now, new_agent, new_role
from jobs.tests.life_agreement import Agreement
from jobs.tests.model import Board
from jobs.tests.model_table import TABLE, ModelJob, ModelRole, Who

# Time passes in thousands, and no deadline that these numbers make lies within 100 s of a full thousand: the
# real seconds that an example takes never decide who is right.
TERM, LONG_TERM = 1300, 2700
STEPS_OF_TIME = (1000, 2000, 5000)
DUE_IN = 1500
EXPIRES_IN = (2500, 3500)

ROLES = {
    "r1": ModelRole(lease=TERM, max_expiries=2),
    "r2": ModelRole(lease=LONG_TERM, max_expiries=5),
    "r3": ModelRole(lease=TERM, max_expiries=1, limit=1),
}
HELD_ROLES = {"ada": ("r1", "r2"), "bob": ("r1", "r3"), "cyd": ("r1", "r2", "r3"), "dan": ()}
PAT = PERSON.name


class PlayedBoard(RuleBasedStateMachine):
    """Three roles and four agents of its own, told apart by them from every other example in the database."""

    def prepare(self) -> None:
        self.model = Board({key: dataclasses.replace(role) for key, role in ROLES.items()})
        self.roles = {
            key: new_role(
                lease_seconds=role.lease,
                max_lease_expiries=role.max_expiries,
                max_held_per_agent=role.limit,
            )
            for key, role in ROLES.items()
        }
        made = {
            nick: new_agent(*(self.roles[key] for key in keys), label=nick)
            for nick, keys in HELD_ROLES.items()
        }
        self.names = {nick: agent.name for nick, agent in made.items()}
        self.both = Agreement(
            self.model,
            [role.pk for role in self.roles.values()],
            {agent.agent_id: nick for nick, agent in made.items() if agent.agent_id},
        )

    def enter(
        self,
        who: Who,
        role: str,
        *,
        due_in: int | None = None,
        expires_in: int | None = None,
        labels: frozenset[str] = frozenset(),
        **fields: Any,
    ) -> None:
        now = database_moment().now
        self.both.play(
            lambda: publish(
                actor=self.actor(who),
                summary="work",
                context_payload={"text": ""},
                target_role_key=self.key(role),
                labels=sorted(labels),
                not_before=_later(now, due_in),
                expires_at=_later(now, expires_in),
                **fields,
            ),
            lambda: self.model.publish(
                who,
                role,
                labels=labels,
                not_before=None if due_in is None else self.model.clock + due_in,
                expires_at=None if expires_in is None else self.model.clock + expires_in,
                **fields,
            ),
        )

    def caller(
        self, who: str, job: ModelJob | None = None, session: str | None = None, *, verb: str | None = None
    ) -> Who:
        """The named one, or whoever stands in that relation to the job, else ada."""
        if job is not None:
            who = self._meant(who, job, verb) or "ada"
            session = job.session if session == "the claim's" else session
        if who == PAT:
            return Who(PAT, is_person=True)
        return Who(who, frozenset(HELD_ROLES[who]), session)

    def _meant(self, who: str, job: ModelJob, verb: str | None) -> str | None:
        if who == "whoever may":
            may = TABLE[verb].get(job.status, frozenset()) if verb else frozenset()
            fit = [nick for nick, roles in HELD_ROLES.items() if job.role in roles]
            able = {
                "role holder": fit[len(self.model.jobs) % len(fit)],
                "holder": job.assignee,
                "last holder": job.assignee,
                "source": job.source,
                "person": PAT,
            }
            return next((able[capacity] for capacity in able if capacity in may and able[capacity]), None)
        related = {"the holder": job.assignee, "the last holder": job.last_holder, "the source": job.source}
        return related.get(who, who)

    def actor(self, who: Who) -> Actor:
        return PERSON if who.is_person else as_now(self.names[who.name], session=who.session)

    def key(self, role: str) -> str:
        return self.roles[role].role_key if role in self.roles else role

    def id_of(self, job: ModelJob) -> int:
        return self.both.ids[job.number]


def generation_of(job: ModelJob, fence: str | None) -> int | None:
    by = {"current": 0, "older": -1, "newer": 1}
    return None if fence is None else max(0, job.generation + by[fence])


def _later(now: datetime, seconds: int | None) -> datetime | None:
    return None if seconds is None else now + timedelta(seconds=seconds)
