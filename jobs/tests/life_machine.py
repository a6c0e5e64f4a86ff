"""Steps in the life of a board: every verb, by four agents and a person, in any order, in time and out of it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, multiple, rule

from jobs.lifecycle import Status
from jobs.models import Job
from jobs.selectors import get_job
from jobs.services.changing import change_status
from jobs.services.claiming import claim, claim_next
from jobs.services.leasing import agent_heartbeat, heartbeat, sign_of_life
from jobs.services.sweeping import sweep_once
from jobs.services.updating import update
from jobs.tests.board import PERSON, age
from jobs.tests.life_board import (
    DUE_IN,
    EXPIRES_IN,
    HELD_ROLES,
    LONG_TERM,
    PAT,
    ROLES,
    STEPS_OF_TIME,
    PlayedBoard,
    generation_of,
)
from jobs.tests.life_verbs import REAL, fitting, ideal, verb_to
from jobs.tests.model_table import ModelJob
from roles.models import Role
from roles.services import pause_role, resume_role

# The step that takes the lease away instead of using a verb.
RUN_OUT = 11
WAY = ("claim", "block", "unblock", "resume", "fail", "restart", "release", "requeue", "complete")

# Many calls are made by whoever may make them: what is refused at once leads nowhere.
callers = st.one_of(
    st.just("whoever may"),
    st.sampled_from(["the holder", "the last holder", "the source"]),
    st.sampled_from([*HELD_ROLES, PAT]),
)
agents = st.sampled_from(list(HELD_ROLES))
sessions = st.sampled_from(["the claim's", "the claim's", None, "s1", "s2"])
own_sessions = st.sampled_from([None, "s1", "s2"])
fences = st.sampled_from([None, None, "current", "current", "older", "newer"])
reasons = st.sampled_from([None, "because", "wegen der Prüfung ✓"])
terms = st.sampled_from([None, LONG_TERM])
label_sets = st.frozensets(st.sampled_from(["ui", "night"]), max_size=1)
picks = st.integers(0, RUN_OUT)
# Most verbs fit the state that the job is in.
fits = st.sampled_from([True, True, True, False])
retries = st.sampled_from([0, 1, 3])
dues = st.sampled_from([None, None, None, DUE_IN, -DUE_IN])
ends = st.sampled_from([None, None, *EXPIRES_IN])
ways = st.lists(picks, min_size=1, max_size=5)


class Life(PlayedBoard):
    """Each rule is one step, and after each both boards agree."""

    jobs = Bundle("jobs")

    @initialize(
        target=jobs,
        lives=st.lists(
            st.tuples(st.sampled_from(list(ROLES)), st.sampled_from([10, 20]), retries, dues, ends, ways),
            min_size=2,
            max_size=4,
        ),
    )
    def set_up(self, lives: list[tuple[str, int, int, int | None, int | None, list[int]]]) -> Any:
        """Three roles, four agents, and a few jobs that have gone some way already."""
        self.prepare()
        sources = ("dan", "ada", PAT, "dan")
        for (role, priority, max_retries, due_in, expires_in, way), source in zip(
            lives, sources, strict=False
        ):
            self.enter(
                self.caller(source),
                role,
                priority=priority,
                max_retries=max_retries,
                due_in=due_in,
                expires_in=expires_in,
            )
            self.go(self.model.jobs[-1], way)
        return multiple(*self.model.jobs)

    # --- entering and being handed out ---

    @rule(
        target=jobs,
        who=st.sampled_from(["ada", "dan", "dan", PAT]),
        role=st.sampled_from(["r1", "r1", "r2", "r3", "no role"]),
        priority=st.sampled_from([10, 20, 30, 40]),
        max_retries=retries,
        labels=label_sets,
        on_hold=st.sampled_from([False, False, False, True]),
        due_in=dues,
        expires_in=st.one_of(ends, st.just(-DUE_IN)),
    )
    def publish(self, who: str, role: str, **fields: Any) -> Any:
        before = len(self.model.jobs)
        self.enter(self.caller(who), role, **fields)
        return multiple(*self.model.jobs[before:])

    @rule(job=jobs, who=callers, session=sessions, term=terms)
    def claim(self, job: ModelJob, who: str, session: str | None, term: int | None) -> None:
        caller = self.caller(who, job, session, verb="claim")
        self.both.play(
            lambda: claim(job_id=self.id_of(job), actor=self.actor(caller), lease_seconds=term),
            lambda: self.model.claim(caller, job, term),
        )

    @rule(
        who=agents,
        session=own_sessions,
        roles=st.lists(st.sampled_from([*ROLES, *ROLES, "no role"]), min_size=1, max_size=3, unique=True),
        labels=st.one_of(st.just(frozenset[str]()), label_sets),
        term=terms,
    )
    def claim_next(
        self, *, who: str, session: str | None, roles: list[str], labels: frozenset[str], term: int | None
    ) -> None:
        caller = self.caller(who, session=session)
        self.both.play(
            lambda: claim_next(
                actor=self.actor(caller),
                role_keys=[self.key(role) for role in roles],
                labels=sorted(labels),
                lease_seconds=term,
            ),
            lambda: self.model.claim_next(caller, roles, labels, term),
        )

    @rule(who=agents, session=own_sessions, backwards=st.booleans())
    def take_any(self, who: str, session: str | None, backwards: bool) -> None:
        """What a worker does all day: the next job of any of its roles."""
        roles = list(ROLES)[:: -1 if backwards else 1]
        self.claim_next(who=who, session=session, roles=roles, labels=frozenset(), term=None)

    # --- work in hand ---

    @rule(job=jobs, way=ways)
    def go(self, job: ModelJob, way: list[int]) -> None:
        """Some steps along the life table, each by whoever may: without these few examples would leave the board."""
        for pick in way:
            verb = fitting(WAY, job, pick)
            if pick == RUN_OUT and job.lease_until is not None:
                self.run_out(job)
            elif verb == "claim":
                self.claim(job, "whoever may", (None, "s1", "s2")[pick % 3], (None, LONG_TERM)[pick % 2])
            else:
                self.use(
                    (verb,),
                    pick=0,
                    fit=True,
                    job=job,
                    who="whoever may",
                    session="the claim's",
                    fence="current" if pick % 2 else None,
                    reason="so",
                )

    @rule(
        job=jobs,
        who=callers,
        session=sessions,
        fence=fences,
        percent=st.sampled_from([None, 0, 50]),
        note=reasons,
    )
    def heartbeat(
        self,
        *,
        job: ModelJob,
        who: str,
        session: str | None,
        fence: str | None,
        percent: int | None,
        note: str | None,
    ) -> None:
        caller, generation = self.caller(who, job, session, verb="heartbeat"), generation_of(job, fence)
        self.both.play(
            lambda: heartbeat(
                job_id=self.id_of(job),
                actor=self.actor(caller),
                lease_generation=generation,
                progress_percent=percent,
                note=note,
            ),
            lambda: self.model.heartbeat(caller, job, generation, percent, note),
        )

    @rule(pick=picks, fit=fits, job=jobs, who=callers, session=sessions, fence=fences, reason=reasons)
    def finish(self, **given: Any) -> None:
        self.use(("complete", "fail", "release", "cancel"), **given)

    @rule(pick=picks, fit=fits, job=jobs, who=callers, session=sessions, fence=fences, reason=reasons)
    def wait_or_go_on(self, **given: Any) -> None:
        self.use(("block", "unblock", "resume"), **given)

    @rule(pick=picks, fit=fits, job=jobs, who=callers, session=sessions, reason=reasons)
    def put_back(self, **given: Any) -> None:
        self.use(("restart", "requeue", "hold", "unhold"), fence=None, **given)

    def use(
        self,
        verbs: tuple[str, ...],
        *,
        pick: int,
        fit: bool,
        job: ModelJob,
        who: str,
        session: str | None,
        fence: str | None,
        reason: str | None,
    ) -> None:
        verb = fitting(verbs, job, pick) if fit else verbs[pick % len(verbs)]
        caller, generation = self.caller(who, job, session, verb=verb), generation_of(job, fence)
        reason = reason or "answered" if verb == "unblock" else reason
        self.both.play(
            lambda: REAL[verb](self.id_of(job), self.actor(caller), generation, reason),
            lambda: ideal(self.model, verb, caller, job, generation=generation, reason=reason),
        )

    @rule(
        status=st.sampled_from([str(status) for status in Status]),
        job=jobs,
        who=callers,
        session=sessions,
        fence=fences,
    )
    def name_a_status(
        self, *, status: str, job: ModelJob, who: str, session: str | None, fence: str | None
    ) -> None:
        """The route that names the state it wants, which means one verb or another."""
        verb = verb_to(status, job)
        caller, generation = self.caller(who, job, session, verb=verb), generation_of(job, fence)
        reason_fields = ("failure_reason", "blocked_reason", "unblock_reason", "reason", "result_summary")
        self.both.play(
            lambda: change_status(
                job_id=self.id_of(job),
                actor=self.actor(caller),
                status=Status(status),
                lease_generation=generation,
                **dict.fromkeys(reason_fields, "because"),
            ),
            lambda: ideal(
                self.model,
                verb,
                caller,
                job,
                generation=generation,
                reason="because",
            ),
        )

    @rule(
        job=jobs,
        who=callers,
        session=sessions,
        fence=fences,
        context=st.sampled_from([None, "", "changed"]),
        constraints=st.sampled_from([None, None, (), ("must work",)]),
        version=st.sampled_from([None, None, "current", "older"]),
    )
    def update(
        self,
        *,
        job: ModelJob,
        who: str,
        session: str | None,
        fence: str | None,
        context: str | None,
        constraints: tuple[str, ...] | None,
        version: str | None,
    ) -> None:
        caller, generation = self.caller(who, job, session, verb="update"), generation_of(job, fence)
        expected = None if version is None else job.version - (version == "older")
        self.both.play(
            lambda: update(
                job_id=self.id_of(job),
                actor=self.actor(caller),
                context_payload=None if context is None else {"text": context},
                constraints=None if constraints is None else list(constraints),
                lease_generation=generation,
                expected_version=expected,
            ),
            lambda: self.model.update(
                caller, job, generation, context=context, constraints=constraints, expected_version=expected
            ),
        )

    # --- time and the system ---

    @rule(job=jobs, who=callers, session=sessions, after=st.sampled_from([0, *STEPS_OF_TIME]))
    def read(self, job: ModelJob, who: str, session: str | None, after: int) -> None:
        """An accepted call that names the job is a sign of life, if it is the holder's."""
        self.wait_with(job, after)
        caller = self.caller(who, job, session, verb="heartbeat")
        self.both.play(
            lambda: sign_of_life(actor=self.actor(caller), job_id=get_job(self.id_of(job)).pk),
            lambda: self.model.sign_of_life(caller, job),
        )

    @rule(who=agents, session=own_sessions)
    def agent_heartbeat(self, who: str, session: str | None) -> None:
        caller = self.caller(who, session=session)
        held: list[ModelJob] = []
        found = self.both.play(
            lambda: agent_heartbeat(actor=self.actor(caller)),
            lambda: held.extend(self.model.agent_heartbeat(caller)),
        )
        assert found is not None
        numbers = {job_id: number for number, job_id in enumerate(self.both.ids)}
        assert [numbers[job.pk] for job in found.leases] == [job.number for job in held]
        lost = {numbers[job_id] for job_id in found.lost}
        assert self.model.lost(caller, also_claimed_since=False) <= lost
        assert lost <= self.model.lost(caller, also_claimed_since=True)

    @rule(seconds=st.sampled_from(STEPS_OF_TIME), swept=st.booleans())
    def let_time_pass(self, seconds: int, swept: bool) -> None:
        age(Job.objects.filter(target_role__in=list(self.roles.values())), seconds)
        self.model.clock += seconds
        if swept:
            self.sweep()

    def run_out(self, job: ModelJob) -> None:
        self.wait_with(job, STEPS_OF_TIME[-1])
        self.sweep()

    def wait_with(self, job: ModelJob, seconds: int) -> None:
        """Time passes for this job only."""
        age(Job.objects.filter(pk=self.id_of(job)), seconds)
        job.age(seconds)

    def sweep(self) -> None:
        wanted: list[list[int]] = []
        report = self.both.play(
            sweep_once, lambda: wanted.extend([job.number for job in jobs] for jobs in self.model.sweep())
        )
        assert report is not None
        assert not report.errors
        for found, numbers in zip((report.expired, report.lapsed), wanted, strict=True):
            ours = [job_id for job_id in found if job_id in self.both.ids]
            # In which order is nobody's business: each is decided for itself.
            assert sorted(ours) == sorted(self.both.ids[number] for number in numbers)

    @rule(role=st.sampled_from(list(ROLES)), paused=st.booleans(), limit=st.sampled_from([None, 1, 2]))
    def change_role(self, role: str, paused: bool, limit: int | None) -> None:
        if paused:
            pause_role(actor=PERSON, role_key=self.key(role), reason="too much to do")
        else:
            resume_role(actor=PERSON, role_key=self.key(role))
        Role.objects.filter(pk=self.roles[role].pk).update(max_held_per_agent=limit)
        self.model.roles[role].paused, self.model.roles[role].limit = paused, limit
