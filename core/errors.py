"""What may be refused: one class per refusal, whose docstring is the sentence that the caller reads.

A docstring's first line is a format string over the keyword arguments: what is so, then what to do next.
Each door maps these classes once (REST shape, MCP tool error, admin message, `CommandError`).
"""

from __future__ import annotations

from typing import Any, ClassVar


class DomainError(Exception):
    """The request was refused."""

    code: ClassVar[str] = "refused"
    http_status: ClassVar[int] = 409
    # Where in the request the refusal points when the door knows no better place.
    loc: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **data: Any) -> None:
        template = (type(self).__doc__ or "").strip().split("\n", 1)[0]
        self.data = data
        self.message = template.format(**data)
        super().__init__(self.message)


class InvalidInput(DomainError):
    """The input is invalid.

    `entries` is the list that the wire calls `detail`: dicts with `type`, `loc`, `msg`, `input` and
    sometimes `ctx`. `loc` is relative to the body or query that was read.
    """

    code = "invalid"
    http_status = 422

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        super().__init__()
        self.entries = entries
        self.message = "; ".join(
            f"{'.'.join(str(part) for part in entry['loc'])}: {entry['msg']}"
            if entry["loc"]
            else entry["msg"]
            for entry in entries
        )
        self.args = (self.message,)


def invalid(type_: str, loc: tuple[str | int, ...], msg: str, value: Any, **ctx: Any) -> InvalidInput:
    """One refusal of one field by a rule of the domain, with the reference's five keys in its order.

    `loc` is relative to the body or query: the door knows which it read. `value` is echoed as `input`;
    keep payloads out of it.
    """
    return InvalidInput([{"loc": list(loc), "msg": msg, "type": type_, "input": value, "ctx": ctx}])


class Unauthenticated(DomainError):
    """Not authenticated: send the header `Authorization: Bearer <agent token>`."""

    code = "not_authenticated"
    http_status = 401


class NotSignedIn(Unauthenticated):
    """Not signed in: sign in at /admin/, or send HTTP Basic with your user name and password."""

    code = "not_signed_in"


class Forbidden(DomainError):
    """You may not do this."""

    code = "forbidden"
    http_status = 403


class ScopeMissing(Forbidden):
    """This token lacks the scope `{scope}`: ask an operator for a token that has it."""

    code = "scope_missing"


class CrossOrigin(Forbidden):
    """This page of another site may not write here: send a bearer token instead of Basic credentials."""

    code = "cross_origin"


class PeopleOnly(Forbidden):
    """This route is for people, not for an agent's token: use it under /api/v1/mcp, or sign in as a member of staff."""

    code = "people_only"


class NotStaff(Forbidden):
    """{name} is no member of staff here: ask an operator to make you one."""

    code = "not_staff"


class PermissionMissing(Forbidden):
    """You lack the permission {permission}: ask an operator to put you into a group that has it."""

    code = "permission_missing"


class CsrfFailed(Forbidden):
    """The CSRF token is missing or wrong: load the page again and repeat, or use HTTP Basic."""

    code = "csrf_failed"


class TooManyRefused(DomainError):
    """Too many credentials were refused: try again in {retry_after_seconds} s."""

    code = "too_many_refused"
    http_status = 429


class RateLimited(DomainError):
    """This token made more requests than it may: go on in {retry_after_seconds} s."""

    code = "rate_limited"
    http_status = 429


class NotFound(DomainError):
    """Not found."""

    code = "not_found"
    http_status = 404


class Conflict(DomainError):
    """The request does not fit the current state."""

    code = "conflict"
    http_status = 409


class ProfileExists(Conflict):
    """Profile already exists: somebody said before that this installation is set up. There is nothing to do."""

    code = "profile_exists"


class Unavailable(DomainError):
    """The bus is busy: nothing was changed. Try again in {retry_after_seconds} s, with the same Idempotency-Key if you sent one."""  # noqa: E501

    code = "unavailable"
    http_status = 503


class DatabaseAway(Unavailable):
    """The database does not answer: try again in {retry_after_seconds} s. A write may have taken effect all the same: repeat it with the same Idempotency-Key, or look before you repeat it."""  # noqa: E501

    code = "database_away"


class InFlight(Conflict):
    """The first call with this Idempotency-Key is still running: repeat it in a moment to read its answer."""

    code = "in_flight"


class KeyReused(InvalidInput):
    """This Idempotency-Key was used with another body: send a new key for a new request."""

    def __init__(self) -> None:
        super().__init__(
            [
                {
                    "type": "idempotency_key.reused",
                    "loc": ["header", "Idempotency-Key"],
                    "msg": "This Idempotency-Key was used with another body: send a new key for a new request.",
                    "input": None,
                    "ctx": {},
                }
            ]
        )
