"""A hostile client at the socket of a real server, on both databases: answers or closed connections, never a 5xx."""

import json
import re
from collections.abc import Callable

import pytest

from testing.installation import AgentCredentials, Server
from testing.raw_http import Reply, send, send_and_reset

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

JOB = json.dumps(
    {
        "parent_job_id": None,
        "summary": "Prüfen 😀",
        "context_payload": {},
        "target_role_key": "qa",
        "constraints": [],
        "artifacts": [],
        "priority": 20,
    },
    ensure_ascii=False,
).encode()
GET, POST = b"GET /api/v1/mcp/agents/me HTTP/1.1\r\n", b"POST /api/v1/mcp/jobs HTTP/1.1\r\n"
HEALTH = b"GET /api/v1/health HTTP/1.1\r\n"
CLOSE = b"Connection: close\r\n"
CHUNKED = CLOSE + b"Transfer-Encoding: chunked\r\n\r\n"
MOST = 4 * 1024 * 1024


def sized(body: bytes, *, said: int | None = None) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % (len(body) if said is None else said) + body


def chunk(body: bytes) -> bytes:
    return b"%x\r\n" % len(body) + body + b"\r\n"


LAST = b"0\r\n\r\n"
WEBSOCKET = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
# Behind the request line and the headers that say who calls; the statuses that may come back, none at all included.
Request = tuple[str, bytes, bytes, set[int]]
REQUESTS: list[Request] = [
    ("HTTP/1.0", GET.replace(b"1.1", b"1.0"), b"\r\n", {200}),
    ("HTTP/1.0 that stays", GET.replace(b"1.1", b"1.0"), b"Connection: keep-alive\r\n\r\n", {200}),
    ("HTTP/0.9", b"GET /api/v1/health\r\n", b"\r\n", {400}),
    ("HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"", {400}),
    ("HTTP/3.7", HEALTH.replace(b"1.1", b"3.7"), b"\r\n", {400, 505}),
    ("another host", HEALTH + b"Host: evil.example\r\n", CLOSE + b"\r\n", {400}),
    ("a proxy's form", b"GET http://evil.example/api/v1/health HTTP/1.1\r\n", CLOSE + b"\r\n", {204, 400}),
    ("CONNECT", b"CONNECT evil:443 HTTP/1.1\r\n", b"\r\n", {400, 404, 405}),
    ("OPTIONS *", b"OPTIONS * HTTP/1.1\r\n", CLOSE + b"\r\n", {404}),
    ("an odd method", GET.replace(b"GET", b"BREW"), CLOSE + b"\r\n", {405}),
    ("a long method", GET.replace(b"GET", b"X" * 5_000), CLOSE + b"\r\n", {400}),
    ("a blank in the path", b"GET /api/v1/he alth HTTP/1.1\r\n", CLOSE + b"\r\n", {400}),
    ("bytes in the path", b"GET /api/v1/mcp/jobs/\xe9 HTTP/1.1\r\n", CLOSE + b"\r\n", {400, 422}),
    ("NUL in the path", b"GET /api/v1/mcp/jobs/\x00 HTTP/1.1\r\n", CLOSE + b"\r\n", {400}),
    ("%00 everywhere", b"GET /api/v1/mcp/jobs/%00?limit=%00 HTTP/1.1\r\n", CLOSE + b"\r\n", {422}),
    ("%ff everywhere", b"GET /api/v1/mcp/jobs?label=%ff%00 HTTP/1.1\r\n", CLOSE + b"\r\n", {422}),
    ("a long id", b"GET /api/v1/mcp/jobs/" + b"1" * 7_000 + b" HTTP/1.1\r\n", CLOSE + b"\r\n", {422}),
    ("a longer id", b"GET /api/v1/mcp/jobs/" + b"1" * 20_000 + b" HTTP/1.1\r\n", CLOSE + b"\r\n", {414}),
    ("a request line without end", b"GET /" + b"1" * 100_000, b"", {414}),
    ("a large header", GET, CLOSE + b"X-Large: " + b"x" * 17_000 + b"\r\n\r\n", {431}),
    ("many headers", GET, CLOSE + b"".join(b"X-%d: y\r\n" % n for n in range(120)) + b"\r\n", {431}),
    ("a header with a blank", GET, CLOSE + b"X Y: z\r\n\r\n", {400}),
    ("a header without a colon", GET, CLOSE + b"nonsense\r\n\r\n", {400}),
    ("a header with NUL", GET, CLOSE + b"X-A: a\x00b\r\n\r\n", {400}),
    ("a header in Latin-1", GET, CLOSE + b"X-ForkFlux-Session: \xe9\r\n\r\n", {422}),
    ("a header with an underscore", GET, CLOSE + b"X_ForkFlux_Session: a b\r\n\r\n", {200}),
    ("a folded header", GET, CLOSE + b"X-A: a\r\n b\r\n\r\n", {400}),
    ("two credentials", GET, CLOSE + b"Authorization: Bearer x\r\n\r\n", {401}),
    ("chunks", POST, CHUNKED + chunk(JOB) + LAST, {201}),
    ("a byte a chunk", POST, CHUNKED + b"".join(chunk(b"%c" % byte) for byte in JOB) + LAST, {201}),
    ("chunks with a trailer", POST, CHUNKED + chunk(JOB) + b"0\r\nX-T: 1\r\n\r\n", {201}),
    ("a chunk size that is none", POST, CHUNKED + b"zz\r\n" + JOB, {400}),
    ("a negative chunk size", POST, CHUNKED + b"-1\r\n" + JOB, {400}),
    ("chunks and a length", POST, b"Content-Length: 5\r\n" + CHUNKED + chunk(JOB) + LAST, {400}),
    ("two lengths", POST, b"Content-Length: 5\r\n" + CLOSE + sized(JOB), {400}),
    ("a negative length", POST, CLOSE + b"Content-Length: -1\r\n\r\n" + JOB, {400}),
    ("a length in words", POST, CLOSE + b"Content-Length: many\r\n\r\n" + JOB, {400}),
    ("a length beyond 64 bits", POST, CLOSE + b"Content-Length: " + b"9" * 25 + b"\r\n\r\n" + JOB, {413}),
    ("a body too large", POST, CLOSE + sized(b"x" * (MOST + 1)), {413}),
    ("a broken body too large", POST, CLOSE + sized(b"{" + b"[" * MOST), {413}),
    ("chunks too large", POST, CHUNKED + chunk(b"x" * MOST) + chunk(b"x") + LAST, {413}),
    ("a body as large as it may be", POST, CLOSE + sized(b"x" * MOST), {422}),
    ("Expect and too large", POST, CLOSE + b"Expect: 100-continue\r\n" + sized(b"", said=MOST + 1), {413}),
    ("Expect something else", POST, CLOSE + b"Expect: 200-ok\r\n" + sized(JOB), {201, 417}),
    ("a length too short", POST, CLOSE + sized(JOB, said=10), {422}),
    ("no length", POST, CLOSE + b"\r\n", {422}),
    ("a reading route with a body", GET, CLOSE + sized(b"{}"), {200}),
    ("gzip that is none", POST, CLOSE + b"Content-Encoding: gzip\r\n" + sized(b"\x1f\x8b\x08junk"), {422}),
    ("a websocket", GET, WEBSOCKET, {400, 403, 404}),
    ("HTTP/2 by upgrade", GET, b"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n", {200}),
    ("a file outside", b"GET /static/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n", CLOSE + b"\r\n", {404}),
    ("a file outside, said otherwise", b"GET //etc/passwd HTTP/1.1\r\n", CLOSE + b"\r\n", {404}),
    ("a static NUL", b"GET /static/%00 HTTP/1.1\r\n", CLOSE + b"\r\n", {404}),
]


class Hostile:
    """The server under attack, and the agent whose token the attacker has."""

    def __init__(self, server: Server) -> None:
        self.server = server
        server.cli("role", "add", "qa")
        self.agent: AgentCredentials = server.agent("QA", "qa")
        self.who = f"Authorization: Bearer {self.agent.token}\r\n".encode()
        self.host = f"Host: {server.base_url.removeprefix('http://')}\r\n".encode()

    def send(self, line: bytes, rest: bytes, **options: float | bool) -> Reply:
        named = b"" if b"\r\nHost:" in line else self.host
        return send(self.server.base_url, line + named + self.who + rest, **options)  # type: ignore[arg-type]

    def jobs(self) -> int:
        with self.server.client(self.agent) as client:
            answer = client.get("/mcp/jobs?count=true&limit=1&my_roles_only=false")
            assert answer.status_code == 200
            return int(answer.headers["X-Total-Count"])


@pytest.fixture
def hostile(served: Callable[..., Server]) -> Hostile:
    return Hostile(served(environment={"FORKFLUX_BODY_GRACE_SECONDS": "1"}))


def bodies(content: bytes) -> list[bytes]:
    """What follows each head."""
    return [part.partition(b"\r\n\r\n")[2] for part in re.split(rb"HTTP/1\.[01] \d{3}", content)[1:]]


def test_odd_requests_are_answered_in_the_apis_form_and_make_exactly_the_jobs_they_say(
    hostile: Hostile,
) -> None:
    made = 0
    for name, line, rest, expected in REQUESTS:
        # An answer that leaves the connection open is known to be whole by the silence that follows.
        reply = hostile.send(line, rest, patience=3 if expected == {200} else 15)
        assert len(reply.statuses) == 1, (name, reply)
        assert reply.statuses[0] in expected, (name, reply.content[:500])
        made += reply.statuses[0] == 201
        # Whatever part of the server refuses, it says so in JSON; a closed handshake of a websocket has no body.
        if reply.statuses[0] >= 400 and name != "a websocket":
            detail = json.loads(bodies(reply.content)[-1])["detail"]
            # A sentence or a list of refused fields, never an echo of what was sent.
            assert isinstance(detail, list) or len(detail) > 8, (name, detail)
            assert len(reply.content) < 1_000, name
    assert hostile.jobs() == made
    assert "Traceback" not in re.sub(
        r"(?s)Invalid HTTP_HOST.*?DisallowedHost: [^\n]*", "", hostile.server.log
    )


def test_requests_in_one_breath_are_answered_in_order(hostile: Hostile) -> None:
    read = GET + hostile.host + hostile.who
    write = POST + hostile.host + hostile.who
    reply = send(hostile.server.base_url, (read + b"\r\n") * 5 + read + CLOSE + b"\r\n")
    assert reply.statuses == [200] * 6
    mixed = send(
        hostile.server.base_url,
        write
        + sized(JOB)
        + write
        + sized(b"{")
        + read
        + b"\r\n"
        + write
        + sized(JOB)
        + read
        + CLOSE
        + b"\r\n",
    )
    assert mixed.statuses == [201, 422, 200, 201, 200]
    # A refused body must not be taken for the next request.
    smuggled = write + b"Content-Length: %d\r\n\r\n" % (MOST + 1) + read + b"\r\n"
    assert send(hostile.server.base_url, smuggled, patience=5).statuses == [413]
    assert hostile.jobs() == 2


def test_a_body_that_does_not_come_costs_its_sender_the_answer_and_nobody_else(hostile: Hostile) -> None:
    head = POST + hostile.host + hostile.who
    waits = send(hostile.server.base_url, head + sized(JOB, said=len(JOB) + 1), patience=15)
    assert waits.statuses == [408]
    assert waits.closed
    shut = send(hostile.server.base_url, head + sized(JOB, said=len(JOB) + 1), shut=True)
    assert (shut.statuses, shut.closed) in (([], True), ([400], True), ([408], True))
    endless = send(hostile.server.base_url, head + CHUNKED + b"ffffffffffffffff\r\n" + JOB, patience=15)
    assert endless.statuses in ([408], [413])
    slow = send(hostile.server.base_url, HEALTH[:9], 0.3, HEALTH[9:], 0.3, hostile.host + CLOSE, 0.3, b"\r\n")
    assert slow.statuses == [204]
    asked = send(
        hostile.server.base_url,
        head + CLOSE + b"Expect: 100-continue\r\n" + sized(b"", said=len(JOB)),
        0.3,
        JOB,
    )
    assert (asked.content.startswith(b"HTTP/1.1 100 "), asked.statuses) == (True, [201])
    assert hostile.jobs() == 1


def test_broken_connections_leave_the_server_as_it_was(hostile: Hostile) -> None:
    head = POST + hostile.host + hostile.who
    for cut in range(40):
        send_and_reset(hostile.server.base_url, (head + sized(JOB))[: cut * 7])
    for _ in range(20):
        send_and_reset(hostile.server.base_url, head + sized(JOB))
    send_and_reset(hostile.server.base_url, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(50))
    # What was whole may have been published: the client that broke off cannot know, the board does.
    assert hostile.jobs() <= 20
    assert hostile.send(GET, CLOSE + b"\r\n").statuses == [200]
    assert "Traceback" not in hostile.server.log
