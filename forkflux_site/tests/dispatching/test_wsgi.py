"""Good clients get what WSGI promises, whatever form their request has."""

from __future__ import annotations

import base64
import json

import httpx
import pytest

from forkflux_site.tests.dispatching.small_client import SmallServer, environ_seen, read_all
from forkflux_site.tests.dispatching.small_server import BODY_MAX_BYTES, THREADS
from forkflux_site.wsgi_call import environ_of

pytestmark = pytest.mark.sqlite_only  # no database takes part; once is enough


def test_the_environment_is_what_wsgi_wants(server: SmallServer) -> None:
    seen = environ_seen(
        server.client.post(
            "/a%20b/%C3%A9/%FF?x=%201&y",
            content=b"{}",
            headers=[
                (b"X-Tag", b"one"),
                (b"x-tag", b"two"),
                (b"Cookie", b"a=1"),
                (b"X_Real_Ip", b"10.9.9.9"),
                (b"X-Forwarded-For", b"10.9.9.9"),
                (b"X-Forwarded-Proto", b"https"),
                (b"Content-Type", b"application/json"),
                (b"X-Latin", b"\xe9"),
            ],
        )
    )
    assert seen["PATH_INFO"].encode("latin-1") == "/a b/é/".encode() + b"\xff"
    assert seen["QUERY_STRING"] == "x=%201&y"
    assert seen["HTTP_X_TAG"] == "one,two"
    assert seen["HTTP_X_LATIN"] == "\xe9"
    assert seen["CONTENT_TYPE"] == "application/json"
    assert seen["CONTENT_LENGTH"] == "2"
    assert seen["REMOTE_ADDR"] == "127.0.0.1"
    assert seen["wsgi.url_scheme"] == "http"
    assert seen["HTTP_X_FORWARDED_PROTO"] == "https"
    assert "HTTP_X_REAL_IP" not in seen
    assert seen["SERVER_PORT"] == str(server.port)


def test_names_with_underscores_do_not_slip_past_a_proxy_whatever_the_server_lets_through() -> None:
    scope = {
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "http_version": "1.1",
        "headers": [(b"x_real_ip", b"10.9.9.9"), (b"cookie", b"a=1"), (b"cookie", b"b=2")],
    }
    environ = environ_of(scope, None)
    assert "HTTP_X_REAL_IP" not in environ
    assert environ["HTTP_COOKIE"] == "a=1; b=2"
    assert environ["CONTENT_LENGTH"] == "0"
    assert environ["wsgi.input"].read() == b""


def test_a_mounted_site_has_its_prefix_apart_from_the_path() -> None:
    scope = {
        "method": "GET", "path": "/bus/jobs", "raw_path": b"/bus/jobs", "root_path": "/bus",
        "query_string": b"", "http_version": "1.1", "headers": [], "client": ("192.0.2.1", 5),
    }  # fmt: skip
    environ = environ_of(scope, None)
    assert (environ["SCRIPT_NAME"], environ["PATH_INFO"]) == ("/bus", "/jobs")
    assert environ["REMOTE_ADDR"] == "192.0.2.1"


def test_a_request_line_with_scheme_and_host_has_the_path_all_the_same(server: SmallServer) -> None:
    connection = server.send("GET http://localhost/proxied?q=1 HTTP/1.1", "Connection: close")
    seen = json.loads(read_all(connection).partition(b"\r\n\r\n")[2])["environ"]
    assert (seen["PATH_INFO"], seen["QUERY_STRING"]) == ("/proxied", "q=1")


@pytest.mark.parametrize("size", [0, 10, 200_000, 300_000, BODY_MAX_BYTES])
@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
def test_a_body_arrives_whole_in_memory_or_on_disk(server: SmallServer, size: int, chunked: bool) -> None:
    sent = bytes(number % 251 for number in range(size))
    pieces = (sent[at : at + 10_000] for at in range(0, size, 10_000))
    response = server.client.post("/echo", content=pieces if chunked else sent)
    assert base64.b64decode(response.json()["body"]) == sent
    assert environ_seen(response)["CONTENT_LENGTH"] == str(size)
    assert "HTTP_TRANSFER_ENCODING" not in environ_seen(response)


def test_head_has_the_headers_and_no_body(server: SmallServer) -> None:
    connection = server.send("HEAD /echo HTTP/1.1", "Connection: close")
    head, _, body = read_all(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"content-length: " in head.lower()
    assert body == b""
    assert "no-body response" not in server.log.read_text()


def test_the_parts_of_a_stream_come_when_they_are_made(server: SmallServer) -> None:
    with server.client.stream("GET", "/parts") as response:
        parts = response.iter_raw()
        assert next(parts) == b"first,"
        httpx.get(f"{server.url}/control/open", trust_env=False)
        assert b"".join(parts) == b"second"


def test_a_stream_that_breaks_off_does_not_look_whole(server: SmallServer) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
        server.client.get("/broken")


def test_an_error_in_the_application_is_a_500_in_the_apis_shape_and_the_thread_lives(
    server: SmallServer,
) -> None:
    for path in ["/boom", "/exit"] * THREADS:
        response = server.client.get(path)
        assert response.status_code == 500
        assert response.json() == {"detail": "Internal Server Error"}
    assert "planted" in server.log.read_text()
    for _ in range(20):
        assert server.client.get("/fine").status_code == 200
    assert server.control()["threads"] <= THREADS


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        (f"GET /{'a' * 9000} HTTP/1.1", [], 414),
        ("GET / HTTP/1.1", [f"X-Long: {'a' * 20_000}"], 431),
        ("GET / HTTP/1.1", [f"X-{number}: 1" for number in range(150)], 431),
        ("GET / HTTP/1.1", ["Content-Length: 1", "Content-Length: 2"], 400),
        ("POST / HTTP/1.1", ["Content-Length: many"], 400),
        ("POST / HTTP/1.1", ["Content-Length: 3", "Transfer-Encoding: chunked"], 400),
        ("GET /\x00 HTTP/1.1", [], 400),
        ("NONSENSE", [], 400),
    ],
    ids=["address", "header", "headers", "two-lengths", "no-length", "two-framings", "nul", "nonsense"],
)
def test_a_head_that_the_server_refuses_has_the_apis_error_shape(
    server: SmallServer, request_line: str, headers: list[str], status: int
) -> None:
    head, _, body = read_all(server.send(request_line, *headers)).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"application/json" in head
    assert isinstance(json.loads(body)["detail"], str)
