"""What comes in: JSON read strictly, checked for poison, and validated by pydantic models that all doors share.

A refusal is an `InvalidInput` whose entries have the wire's form: `type`, `loc`, `msg`, `input`, `ctx`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from core.errors import InvalidInput
from core.examples import Exemplified
from core.fields import compact_json
from core.limits import LIMITS

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_INT64_DIGITS = 20
# What an error echoes of a refused value: enough to recognise it, never a payload.
ECHO_LENGTH = 200
ECHO_ITEMS = 20
# How much of a key a `loc` repeats.
KEY_LENGTH = 64
# How many unknown fields an answer names.
IGNORED_MOST = 50


class _Oversized:
    """Stands in the parsed tree for an integer of more digits than 64 bits have."""


class _NotANumber:
    """Stands in the parsed tree for NaN and infinity, which JSON does not know."""

    def __init__(self, name: str) -> None:
        self.name = name


# What a body's text must hold before anything in it can be poison, besides many brackets. Found in a harmless
# place it only costs the walk through the values, which large bodies of plain data are spared by this.
_SUSPICIOUS = re.compile(r"\\u(?:0000|[dD][89a-fA-F])|[0-9]{19}|[eE]\+?[0-9]{3}|NaN|Infinity")


def parse_json(raw: bytes) -> Any:
    """The JSON in a request body, free of what no database or client could give back.

    Refuses NUL characters, lone surrogates, NaN, infinity, integers beyond 64 bits and nesting beyond
    the bound, each naming the place. InvalidInput with `loc` starting at `body`.
    """
    if not raw.strip():
        raise InvalidInput([entry("missing", ("body",), "Field required", None)])
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        hint = "the body is not UTF-8: send JSON as plain UTF-8 text, not compressed"
        raise _broken(error.start, hint) from error
    suspicious = (
        text.count("[") + text.count("{") > LIMITS.json_max_depth or _SUSPICIOUS.search(text) is not None
    )
    hooks: dict[str, Any] = {"parse_int": _parse_int, "parse_constant": _NotANumber} if suspicious else {}
    try:
        value = json.loads(text, **hooks)
    except json.JSONDecodeError as error:
        raise _broken(error.pos, error.msg) from error
    except RecursionError as error:
        raise InvalidInput([_too_deep(("body",))]) from error
    if suspicious:
        refuse_poison(value, ("body",))
    return value


def refuse_poison(value: Any, loc: tuple[str | int, ...]) -> None:
    """Raise InvalidInput for the first thing in a JSON value that could not be stored or given back."""
    if not isinstance(value, dict | list):
        _refuse_scalar(value, loc)
        return
    # One iterator a level: a body of millions of small values costs no more memory than it has depth.
    path: list[str | int] = []
    stack = [_members(value, loc)]
    while stack:
        for name, member in stack[-1]:
            if isinstance(member, dict | list):
                # A field may nest as deep as the bound; the body around it is one more level.
                if len(path) >= LIMITS.json_max_depth:
                    raise InvalidInput([_too_deep(_place(loc, path[:1]))])
                path.append(name)
                stack.append(_members(member, _place(loc, path)))
                break
            if isinstance(member, str) and member.isascii() and "\x00" not in member:
                continue
            _refuse_scalar(member, _place(loc, [*path, name]))
        else:
            stack.pop()
            if path:
                path.pop()


def _members(
    value: dict[str, Any] | list[Any], place: tuple[str | int, ...]
) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, list):
        return iter(enumerate(value))
    for key in value:
        _refuse_text(key, place)
    return iter(value.items())


def _place(loc: tuple[str | int, ...], path: Iterable[str | int]) -> tuple[str | int, ...]:
    return (*loc, *(part[:KEY_LENGTH] if isinstance(part, str) else part for part in path))


def _refuse_scalar(value: Any, place: tuple[str | int, ...]) -> None:
    if isinstance(value, str):
        _refuse_text(value, place)
    else:
        _refuse_number(value, place)


def _refuse_text(text: str, place: tuple[str | int, ...]) -> None:
    if "\x00" in text:
        msg = "String should not contain the NUL character"
        raise InvalidInput([entry("string_nul", place, msg, None)])
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInput(
            [entry("string_unicode", place, "String should not contain a lone surrogate", None)]
        )


def _refuse_number(number: Any, place: tuple[str | int, ...]) -> None:
    if isinstance(number, _Oversized) or (isinstance(number, int) and not INT64_MIN <= number <= INT64_MAX):
        msg = f"Integer should be between {INT64_MIN} and {INT64_MAX}"
        raise InvalidInput([entry("int_64_bit", place, msg, None, ge=INT64_MIN, le=INT64_MAX)])
    if isinstance(number, _NotANumber) or (isinstance(number, float) and not math.isfinite(number)):
        raise InvalidInput([entry("finite_number", place, "Input should be a finite number", None)])


def _parse_int(text: str) -> int | _Oversized:
    return int(text) if len(text) <= _INT64_DIGITS else _Oversized()


def _broken(position: int, error: str) -> InvalidInput:
    return InvalidInput([entry("json_invalid", ("body", position), "JSON decode error", {}, error=error)])


def _too_deep(place: tuple[str | int, ...]) -> dict[str, Any]:
    most = LIMITS.json_max_depth
    return entry(
        "json_depth", place, f"JSON should be nested at most {most} levels deep", None, max_depth=most
    )


def entry(type_: str, loc: Iterable[str | int], msg: str, value: Any, **ctx: Any) -> dict[str, Any]:
    """One entry of a refusal, in the wire's key order; `ctx` only when there is something to say."""
    found: dict[str, Any] = {"type": type_, "loc": list(loc), "msg": msg, "input": echo(value)}
    if ctx:
        found["ctx"] = ctx
    return found


def echo(value: Any) -> Any:
    """What an error may repeat of the input: short scalars, a few ids, nothing that may be a payload."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str) and len(value) <= ECHO_LENGTH and value.isprintable():
        return value
    if isinstance(value, dict | list) and not value:
        return value
    if isinstance(value, list) and len(value) <= ECHO_ITEMS and all(type(item) is int for item in value):
        return value
    return None


class Input(Exemplified, BaseModel):
    """A request's fields. Unknown ones are ignored, and reported by name in `ignored_fields`."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    # Also what the form of the browsable page starts with.
    example: ClassVar[dict[str, Any] | None] = None

    @classmethod
    def read(cls, data: Any, *, where: str = "body") -> Self:
        """Validate plain data; InvalidInput with every wrong field, each `loc` starting at `where`."""
        if not isinstance(data, Mapping):
            msg = "Input should be a valid dictionary or object to extract fields from"
            raise InvalidInput([entry("model_attributes_type", (where,), msg, data)])
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise InvalidInput(list(_entries(error, where))) from None

    @classmethod
    def checked(cls, values: Mapping[str, Any]) -> Self:
        """As `read`, for values that came another way than through `parse_json`; InvalidInput."""
        data = dict(values)
        refuse_poison(data, ("body",))
        return cls.read(data)

    @classmethod
    def ignored(cls, data: Mapping[str, Any]) -> list[str]:
        """Names in the data that this input does not know; the first of them when there are very many."""
        unknown = sorted(set(data) - set(cls.model_fields))
        named = [name[:KEY_LENGTH] for name in unknown[:IGNORED_MOST]]
        return (
            named if len(unknown) <= IGNORED_MOST else [*named, f"… and {len(unknown) - IGNORED_MOST} more"]
        )

    def as_arguments(self) -> dict[str, Any]:
        """The fields as a service's keyword arguments: plain data, enums and datetimes."""
        return self.model_dump()


def _entries(error: ValidationError, where: str) -> Iterable[dict[str, Any]]:
    for found in error.errors(include_url=False):
        ctx = {
            key: {} if isinstance(value, Exception) else value for key, value in found.get("ctx", {}).items()
        }
        if found["type"] == "value_error":
            # As the reference sends it for a rule about several fields.
            ctx.setdefault("error", {})
        yield entry(found["type"], (where, *found["loc"]), found["msg"], found["input"], **ctx)


def not_blank(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("string_blank", "String should not be blank")
    return text


def _json_within(most: int) -> AfterValidator:
    def check(value: Any) -> Any:
        size = len(compact_json(value).encode())
        if size > most:
            raise PydanticCustomError(
                "json_too_large",
                "JSON should have at most {max_bytes} bytes, not {actual_bytes}: put large data elsewhere "
                "and refer to it",
                {"max_bytes": most, "actual_bytes": size},
            )
        return value

    return AfterValidator(check)


def _in_utc(value: datetime) -> datetime:
    if not _FIRST_YEAR <= value.year <= _LAST_YEAR:
        raise PydanticCustomError(
            "datetime_range",
            "Input should be a time between the years {first} and {last}",
            {"first": _FIRST_YEAR, "last": _LAST_YEAR},
        )
    return value.astimezone(UTC)


_FIRST_YEAR, _LAST_YEAR = 1970, 9000

NonBlank = Annotated[str, Field(min_length=1), AfterValidator(not_blank)]
Name = Annotated[str, Field(min_length=1, max_length=LIMITS.name_max), AfterValidator(not_blank)]
Reason = Annotated[str, Field(max_length=LIMITS.reason_max)]
# Where a person has to give one.
NeededReason = Annotated[str, Field(min_length=1, max_length=LIMITS.reason_max), AfterValidator(not_blank)]
Note = Annotated[str, Field(max_length=LIMITS.note_max)]
Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
Id = Annotated[int, Field(ge=INT64_MIN, le=INT64_MAX)]
ContextPayload = Annotated[dict[str, Any], _json_within(LIMITS.context_max_bytes)]
Metadata = Annotated[dict[str, Any], _json_within(LIMITS.metadata_max_bytes)]
Result = Annotated[Any, _json_within(LIMITS.result_max_bytes)]
