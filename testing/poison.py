"""What broken and hostile clients send: JSON values, whole bodies, ids, query values and headers, all of them named."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from typing import Any

_MIB = 1024 * 1024


def _nested(levels: int, open_: str, close: str, inside: str = "1") -> str:
    return open_ * levels + inside + close * levels


# JSON as it is written, because much of this cannot be made by a JSON library.
VALUES: Mapping[str, str] = {
    "null": "null",
    "true": "true",
    "false": "false",
    "empty string": '""',
    "blank": '" \\t\\n"',
    "zero-width space": '"\\u200b"',
    "empty list": "[]",
    "empty object": "{}",
    "list of null": "[null]",
    "list of empty objects": "[{}]",
    "list of lists": "[[[]]]",
    "zero": "0",
    "minus one": "-1",
    "one": "1",
    "two and a half": "2.5",
    "twenty as text": '"20"',
    "twenty as float": "20.0",
    "twenty with an exponent": "2e1",
    "number with blanks as text": '" 20 "',
    "number in another script": '"\\u0663"',
    "minus zero": "-0.0",
    "largest float": "1.7976931348623157e308",
    "smallest float": "5e-324",
    "many digits": "0." + "123456789" * 20,
    "largest integer": "9223372036854775807",
    "one more than the largest": "9223372036854775808",
    "smallest integer": "-9223372036854775808",
    "one less than the smallest": "-9223372036854775809",
    "2^63 as float": "9.223372036854775808e18",
    "2^64": "18446744073709551616",
    "400 digits": "9" * 400,
    "5,000 digits": "-" + "9" * 5_000,
    "digits as text": f'"{"9" * 400}"',
    "too large a float": "1e999",
    "too small a float": "-1e999",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "minus infinity": "-Infinity",
    "NaN as text": '"NaN"',
    "NaN inside": '{"a": [1, NaN]}',
    "NUL": '"\\u0000"',
    "NUL inside": '"before\\u0000after"',
    "NUL in a list": '["\\u0000"]',
    "NUL in a key": '{"\\u0000": 1}',
    "NUL deep down": '{"a": [{"b": "\\u0000"}]}',
    "high surrogate": '"\\ud800"',
    "low surrogate": '"x\\udc00y"',
    "surrogates the wrong way round": '"\\udc00\\ud800"',
    "surrogate in a key": '{"\\udfff": 1}',
    "surrogate pair": '"\\ud83d\\ude00"',
    "control characters": '"\\u0001\\u001b[31m\\u007f"',
    "line separators": '"\\u2028\\u2029\\r\\n"',
    "right-to-left override": '"\\u202eevil\\u202c"',
    "byte order mark": '"\\ufeffx"',
    "noncharacter": '"\\uffff\\ufdd0"',
    "emoji": '"👩‍👩‍👧‍👦🏳️‍🌈"',
    "combining marks": '"' + "Z" + "\u0300" * 100 + '"',
    "markup": '"<script>alert(1)</script>&lt;%s{{7*7}}"',
    "SQL": '"\'; DROP TABLE jobs_job; --"',
    "format string": '"%s%n{0}{x.__class__}"',
    "path": '"../../etc/passwd"',
    "duplicate keys": '{"a": 1, "a": 2, "a": {"a": 3, "a": 4}}',
    "odd keys": '{"": 1, " ": 2, "a.b": 3, "__proto__": {"x": 1}, "ключ": 4, "\\n": 5}',
    "64 lists": _nested(64, "[", "]"),
    "65 lists": _nested(65, "[", "]"),
    "64 objects": _nested(64, '{"a":', "}"),
    "65 objects": _nested(65, '{"a":', "}"),
    "900 lists": _nested(900, "[", "]"),
    "100,000 lists": _nested(100_000, "[", "]"),
    "100,000 objects": _nested(100_000, '{"a":', "}"),
    "256 characters": f'"{"x" * 256}"',
    "2,001 characters": f'"{"é" * 2_001}"',
    "20,001 characters": f'"{"😀" * 20_001}"',
    "a mebibyte as JSON": f'"{"x" * (_MIB - 2)}"',
    "a mebibyte and one": f'"{"x" * (_MIB - 1)}"',
    "an object of a mebibyte": json.dumps({"a": "x" * (_MIB - 8)}, separators=(",", ":")),
    "an object of a mebibyte and one": json.dumps({"a": "x" * (_MIB - 7)}, separators=(",", ":")),
    "a wide list": "[" + "1," * 50_000 + "1]",
    "a wide object": json.dumps({f"k{number}": number for number in range(20_000)}),
}

# What has no place in any field, known or not, as a value or as a key.
NEVER = frozenset(
    name
    for name in VALUES
    if name.startswith(
        ("NUL", "65", "900", "100,000", "one more", "one less", "400", "5,000", "2^64", "too large")
    )
    or name in ("NaN", "NaN inside", "Infinity", "minus infinity", "too small a float", "surrogate in a key")
    or name in ("high surrogate", "low surrogate", "surrogates the wrong way round")
)

# Values that cost much to send; a quick run leaves them out.
HEAVY = frozenset(name for name, text in VALUES.items() if len(text) > 100_000)


def bodies(good: bytes) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Whole bodies around a good one: name, bytes, and headers that go with them."""
    yield "empty", b"", {}
    yield "blanks", b" \r\n\t", {}
    yield "NUL bytes", b"\x00" * 10, {}
    yield "byte order mark", b"\xef\xbb\xbf" + good, {}
    yield "latin-1", '{"summary":"é"}'.encode("latin-1"), {}
    yield "UTF-16", good.decode().encode("utf-16"), {}
    yield "UTF-32", good.decode().encode("utf-32-le"), {}
    yield "overlong UTF-8", b'{"a":"\xc0\x80"}', {}
    yield "a surrogate in UTF-8", b'{"a":"\xed\xa0\x80"}', {}
    yield "beyond Unicode", b'{"a":"\xf4\x90\x80\x80"}', {}
    yield "a raw NUL in a text", b'{"a":"\x00"}', {}
    yield "a raw line break in a text", b'{"a":"\n"}', {}
    yield "gzip, and says so", gzip.compress(good), {"Content_Encoding": "gzip"}
    yield "gzip", gzip.compress(good), {}
    yield "says gzip and is not", good, {"Content_Encoding": "gzip"}
    yield "form", b"summary=a&priority=20", {"Content_Type": "application/x-www-form-urlencoded"}
    multipart = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
    yield "multipart", multipart, {"Content_Type": "multipart/form-data; boundary=x"}
    yield "two documents", good + good, {}
    yield "rubbish behind", good + b"}", {}
    yield "a comment", b"/* hello */" + good, {}
    yield "single quotes", good.replace(b'"', b"'"), {}
    yield "a trailing comma", good.rstrip()[:-1] + b",}", {}
    yield "a list of it", b"[" + good + b"]", {}
    yield "a text of it", json.dumps(good.decode()).encode(), {}
    for text in (
        "null",
        "true",
        "1",
        '"x"',
        "[]",
        "NaN",
        "-",
        "1e",
        '"\\x"',
        '"\\u12"',
        "[1,",
        '{"a"',
        "{1:2}",
    ):
        yield f"only {text}", text.encode(), {}
    for cut in sorted({1, 2, len(good) // 3, len(good) // 2, len(good) - 1}):
        yield f"cut after {cut} bytes", good[:cut], {}


IDS = (
    *(
        "",
        "+5",
        "05",
        "%D9%A3",
        "1e3",
        "-1",
        "0",
        "1.0",
        "abc",
        "%00",
        "%ff",
        "%20",
        "1%00",
        "1;1",
        "1%0d%0a",
    ),
    *("9" * 19, "9" * 20, "-" + "9" * 30, "9" * 400, "0" * 400 + "1", "x" * 2_000, "..", "%2e%2e", "%252e"),
    *(
        "1%2F2",
        "null",
        "[1]",
        "{}",
        "'",
        '"',
        "%f0%9f%98%80",
        "%ed%a0%80",
        "claim-next%00",
        "1?",
        "1%3f",
        "1#",
    ),
)

QUERY_VALUES = (
    *(
        "",
        "%20",
        "%00",
        "a%00b",
        "%ff%fe",
        "%ed%a0%80",
        "%D9%A3",
        "0",
        "-1",
        "1",
        "+1",
        "1.0",
        "1.5",
        "1e3",
        "1_0",
    ),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "9" * 400, "NaN", "inf", "null"),
    *("true", "True", "yes", "on", "[]", "{}", "published", "PUBLISHED", "created_at_asc", "qa", "nobody"),
    *("%F0%9F%98%80", "%E2%80%AE", "x" * 3_000, "%", "%zz", "%u0041", "a;b", "a,b", "%0d%0aX-Y:1", "';--"),
    # Cursors: of no order, of another, with wrong kinds of values, and of values that no column has.
    *("W10", "bnVsbA", "W1tdLFtdXQ", "WyJhIiwiYiJd", "====", "W1siY3JlYXRlZF9hdCIsImlkIl0sWyIyMDI2IiwxXV0"),
    "W1siY3JlYXRlZF9hdCIsImlkIl0sWyI5OTk5LTEyLTMxVDIzOjU5OjU5KzIzOjU5Iiw5MjIzMzcyMDM2ODU0Nzc1ODA4XV0",
    "W1siY3JlYXRlZF9hdCIsImlkIl0sWyIxOTcwLTAxLTAxVDAwOjAwOjAwWiIsTmFOXV0",
)

HEADERS: Mapping[str, tuple[str, ...]] = {
    "Authorization": (
        *("", "Bearer", "Bearer ", "Bearer é", "Bearer \x01", "Basic", "Basic !", "Basic YQ", "Basic YTpi"),
        *("Basic é", "Basic =", "Basic AAAA", "Basic /////w==", "Digest x", "Bearer " + "x" * 9_000, "\x7f"),
    ),
    "Idempotency-Key": ("", " ", "k", "x" * 255, "x" * 256, "é", "a b", "a\x01b", "a\tb", "\x7f", "'", "😀"),
    "X-ForkFlux-Session": ("", " ", "s", "x" * 64, "x" * 65, "a b", "é", "\x01", "😀", "'", '"', ","),
    "Accept": (
        "",
        "é",
        "text/html;q=é",
        ";" * 1_000,
        "*",
        "a/b/c",
        "application/json;indent=99999999999",
        "\x01",
    ),
    "Content-Type": ("", "é", "application/json;charset=x", "multipart/form-data", "x" * 1_000, "a/b;" * 200),
    "Accept-Language": ("", "é", "xx-" * 1_000, "%00"),
    "Cookie": (
        "",
        "é=é",
        "forkflux_session=x",
        "forkflux_session=" + "x" * 5_000,
        ";;;=;",
        "\x01",
        "a=b;" * 500,
    ),
    "Origin": ("null", "é", "http://[", "//", "x" * 5_000),
    "Referer": ("é", "http://[::", "x" * 5_000),
    "If-None-Match": ('"x"', "*", "é"),
    "If-Modified-Since": ("yesterday", "Thu, 99 Foo 9999 99:99:99 GMT", "é"),
    "Range": ("bytes=0-", "bytes=9-1", "x"),
    "X-HTTP-Method-Override": ("DELETE", "é"),
    "X-Forwarded-For": ("é", "1.2.3.4, " * 300),
    "X-Requested-With": ("XMLHttpRequest", "é"),
}


def with_value(good: Mapping[str, Any], place: tuple[str | int, ...], text: str) -> bytes:
    """A good body whose value at `place` is this JSON text instead."""
    mark = "\x01the value goes here\x01"
    body = json.loads(json.dumps(good))
    holder = body
    for part in place[:-1]:
        holder = holder[part]
    holder[place[-1]] = mark
    return json.dumps(body).replace(json.dumps(mark), text).encode()


def with_key(good: Mapping[str, Any], place: tuple[str | int, ...], key: str) -> bytes:
    """A good body whose object at `place` has one more key, written as this JSON text."""
    mark = "\x01the key goes here\x01"
    body = json.loads(json.dumps(good))
    holder = body
    for part in place:
        holder = holder[part]
    holder[mark] = 1
    return json.dumps(body).replace(json.dumps(mark), key).encode()
