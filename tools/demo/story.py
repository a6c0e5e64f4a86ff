"""What happens in the demo, part by part; whatever does not happen as told raises StepFailed.

Every line that is printed is made of answers that came over HTTP, or of what a command printed.
"""

from __future__ import annotations

from typing import Any

from tools.demo import jobs
from tools.demo.cast import Cast, expect, seconds_between
from tools.demo.narrator import Narrator
from tools.demo.stage import Stage, StepFailed

ROLES = ("developer", "reviewer")
AGENTS = {"planner": ("reviewer",), "builder-1": ("developer",), "builder-2": ("developer",)}
VISITOR = "visitor"
# Short enough to watch it run out, long enough for a heartbeat to be in time on a machine that is busy.
LEASE_SECONDS = 3
BACK_WITHIN_SECONDS = LEASE_SECONDS + 10


class Story:
    """The parts in order. `part` names the one under way."""

    def __init__(self, stage: Stage, narrator: Narrator) -> None:
        self._stage = stage
        self._tell = narrator
        self._cast = Cast(stage, narrator)
        self.part = ""

    def play(self) -> None:
        """Everything, from roles to verdict."""
        self._set_up()
        self._hand_over()
        survivor = self._die_at_work()
        self._ask_and_give_up()
        self._read_the_trail(survivor)
        self._verify()

    @property
    def visitor_token(self) -> str:
        """The token of an agent that plays no part: it is for whoever watches."""
        return self._cast.tokens[VISITOR]

    def _set_up(self) -> None:
        self._begin("Two roles, three agents, and one for you")
        for role in ROLES:
            self._stage.command("role", "add", role)
            self._tell.did("operator", f"forkflux role add {role}")
        for label, roles in {**AGENTS, VISITOR: ROLES}.items():
            options = [part for role in roles for part in ("--role", role)]
            made = self._stage.command_json("agent", "add", label, *options)
            self._cast.tokens[made["name"]] = made["api_token"]
            self._tell.did("operator", f"forkflux agent add {made['name']} {' '.join(options)}")
            if label in AGENTS:
                self._cast.enter(label)
                self._tell.did(label, f"starts as process {self._cast[label].pid}")

    def _hand_over(self) -> None:
        self._begin("1. Work is handed over")
        self._cast.publish("planner", jobs.CHANGELOG)
        urgent = self._cast.publish("planner", jobs.LOGIN)
        done = self._cast.work(
            "builder-1",
            role="developer",
            lease_seconds=LEASE_SECONDS,
            notes=["Reproduced", "Found: next= is lost", "Mended", "Tests pass"],
            result_summary="The redirect keeps next= and refuses foreign hosts",
            result={"commits": ["4f1c2a9"], "tests": 12},
        )
        expect(done["id"] == urgent, f"the urgent job {urgent} goes first, but job {done['id']} went")
        held = seconds_between(done["started_at"], done["completed_at"])
        expect(held > LEASE_SECONDS, f"the work outlasts its lease, but took {held} s")
        self._tell.aside(f"held for {held:.1f} s on a lease of {LEASE_SECONDS} s: heartbeats kept it alive")
        review = self._cast.publish("builder-1", jobs.review_of(done))
        self._cast.claim("planner", "reviewer", expected=review)
        self._cast.change(
            "planner", review, "completed", result_summary="Approved", result={"approved": True}
        )

    def _die_at_work(self) -> int:
        self._begin("2. A worker dies, and its job does not")
        job_id, old_generation = self._kill_at_work("builder-2")
        self._wait_until_back(job_id)

        taken = self._cast.claim("builder-1", "developer", expected=job_id)
        earlier = taken["previous_attempts"]
        expect(len(earlier) == 1, f"the claim tells of one earlier attempt, but tells of {len(earlier)}")
        progress = earlier[0]["last_progress"]
        self._tell.aside(
            f"the claim tells of an earlier attempt: {earlier[0]['agent']}, {earlier[0]['outcome']}, "
            f"last heard of at {progress['percent']} %, {progress['note']}"
        )

        self._cast.enter("builder-2")
        self._tell.did(
            "builder-2",
            f"starts again as process {self._cast['builder-2'].pid} and thinks the job is its own",
        )
        fact = self._cast["builder-2"].last_fact(
            "change_status",
            job_id=job_id,
            status="completed",
            lease_generation=old_generation,
            result_summary="Delivered too late",
        )
        [refusal] = fact.require(409)["detail"]
        expect(refusal["ctx"]["code"] == "lease_lost", f"the refusal is lease_lost, but is {refusal['ctx']}")
        self._tell.did(
            "builder-2",
            f"completes job {job_id} with generation {old_generation} and is refused: "
            f"{fact.status} {refusal['ctx']['code']}",
        )
        self._tell.aside(f"{refusal['msg']!r}")
        self._cast.change(
            "builder-1",
            job_id,
            "completed",
            lease_generation=taken["lease"]["generation"],
            result_summary="41 commits in 29 lines",
            result={"file": "CHANGELOG.md"},
        )
        return job_id

    def _kill_at_work(self, who: str) -> tuple[int, int]:
        """SIGKILL an agent in the middle of a job; the job's id and the generation that it was held with."""
        claimed: dict[str, Any] | None = None
        notes = ["Read 14 of 41 commits", "Read 27 of 41 commits"]
        heard = 0
        for fact in self._cast[who].facts(
            "work",
            role="developer",
            lease_seconds=LEASE_SECONDS,
            notes=notes,
            result_summary="41 commits read",
            result=None,
            last_seconds=BACK_WITHIN_SECONDS,
        ):
            if claimed is None:
                claimed = self._cast.claimed(fact)
                continue
            self._cast.beaten(fact, claimed["id"])
            heard += 1
            if heard == len(notes):
                break
        if claimed is None:
            raise StepFailed(f"{who} takes a job, but took none")
        pid = self._cast[who].pid
        status = self._cast[who].kill()
        expect(status < 0, f"{who} is killed, but ended by itself with exit {status}")
        self._tell.did("demo", f"kill -{-status} {pid}: {who} is gone, and holds job {claimed['id']}")
        return claimed["id"], claimed["lease"]["generation"]

    def _wait_until_back(self, job_id: int) -> None:
        fact = self._cast["planner"].last_fact(
            "wait_until", job_id=job_id, status="published", seconds=BACK_WITHIN_SECONDS
        )
        status = fact.require(200)["status"]
        expect(
            status == "published",
            f"job {job_id} of the killed worker is back on the board within {BACK_WITHIN_SECONDS} s, "
            f"but is still {status}",
        )
        event = self._cast.trail(job_id)[-1]
        kind, payload = event["event_type"], event["payload_json"]
        expect(kind == "task_lease_expired", f"the trail says task_lease_expired, but says {kind}")
        late = seconds_between(payload["lease_expired_at"], event["created_at"])
        self._tell.did(
            event["actor"]["name"],
            f"takes job {job_id} back from {payload['holder']}, {late:.1f} s after the end of its lease: "
            f"{event['current_status']}",
        )

    def _ask_and_give_up(self) -> None:
        self._begin("3. A question, an answer, and a failure that says why")
        job_id = self._cast.publish("planner", jobs.SESSIONS)
        lease = self._cast.claim("builder-1", "developer", expected=job_id)["lease"]
        fence = {"lease_generation": lease["generation"]}
        change = self._cast.change
        change("builder-1", job_id, "blocked", blocked_reason="Does anything still read it?", **fence)
        change("planner", job_id, "unblocked", unblock_reason="Nothing, since the move in May")
        change("builder-1", job_id, "in_progress", **fence)
        change("builder-1", job_id, "failed", failure_reason="No backup exists: nothing was dropped", **fence)
        self._cast.publish("planner", jobs.FOR_YOU)

    def _read_the_trail(self, job_id: int) -> None:
        self._begin(f"The trail of job {job_id}, GET /api/v1/mcp/jobs/{job_id}/events")
        events = self._cast.trail(job_id)
        for event in events:
            seconds = seconds_between(events[0]["created_at"], event["created_at"])
            self._tell.row(
                f"{event['sequence']:>3}  {seconds:5.1f} s  {event['actor']['name']:<10} "
                f"{event['event_type']:<19} {event['current_status']:<12} {_gist(event['payload_json'])}"
            )
        told = [event["event_type"] for event in events if event["event_type"] != "task_progress"]
        wanted = ["task_published", "task_claimed", "task_lease_expired", "task_claimed", "task_completed"]
        expect(told == wanted, f"the trail holds {', '.join(wanted)}, but holds {', '.join(told)}")

    def _verify(self) -> None:
        self._begin("forkflux audit verify")
        for line in self._stage.command("audit", "verify").splitlines():
            self._tell.row(line)

    def _begin(self, title: str) -> None:
        self.part = title
        self._tell.part(title)


def _gist(payload: dict[str, Any]) -> str:
    """What an event's payload tells that its other columns do not."""
    if "progress_percent" in payload:
        return f"{payload['progress_percent']} %, {payload['note']}"
    told = []
    if "lease_generation" in payload:
        told.append(f"generation {payload['lease_generation']}")
    if "holder" in payload:
        told.append(f"taken from {payload['holder']}")
    if payload.get("result_summary"):
        told.append(repr(payload["result_summary"]))
    return ", ".join(told)
