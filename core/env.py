"""Typed reading of environment variables: a bad value stops the start with its name and what is allowed.

Every function treats an empty variable as unset, as compose files and service managers write it.
All of them raise `django.core.exceptions.ImproperlyConfigured` for a value that they do not accept.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """The variable's value without surrounding blanks, or `default`."""
    return os.environ.get(name, "").strip() or default


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    """One of `allowed`, compared without regard to case and given back as `allowed` spells it."""
    value = text(name, default)
    for candidate in allowed:
        if candidate.lower() == value.lower():
            return candidate
    raise ImproperlyConfigured(f"{name} is {value!r}; allowed is one of: {', '.join(allowed)}.")


def integer(name: str, default: int, *, low: int, high: int) -> int:
    """A whole number from `low` to `high`, both included."""
    value = text(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        number = None
    if number is None or not low <= number <= high:
        raise ImproperlyConfigured(f"{name} is {value!r}; allowed is a whole number from {low} to {high}.")
    return number


def seconds(name: str, default: float, *, low: float, high: float) -> float:
    """A duration in seconds from `low` to `high`; fractions are allowed."""
    value = text(name)
    if not value:
        return default
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    # NaN fails every comparison, so it takes the same way out as a number out of bounds.
    if not low <= number <= high:
        raise ImproperlyConfigured(
            f"{name} is {value!r}; allowed is a number of seconds from {low:g} to {high:g}."
        )
    return number


def boolean(name: str, *, default: bool) -> bool:
    """True for 1, true, yes, on; False for 0, false, no, off; case does not matter."""
    value = text(name).lower()
    if not value:
        return default
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}; allowed is true or false (also 1/0, yes/no, on/off).")


def items(name: str, default: Sequence[str] = ()) -> list[str]:
    """A list written with commas; blanks around an item and empty items do not count."""
    value = text(name)
    if not value:
        return list(default)
    return [item for item in (part.strip() for part in value.split(",")) if item]


def secret(name: str) -> str | None:
    """The secret in NAME, else the content of the file that NAME_FILE names, else None.

    Both at once are refused: which of them is meant would be a guess.
    """
    value = text(name)
    path = text(f"{name}_FILE")
    if value and path:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one of them.")
    if value or not path:
        return value or None
    try:
        content = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{name}_FILE is {path!r}, which cannot be read: {error}.") from error
    if not content:
        raise ImproperlyConfigured(f"{name}_FILE is {path!r}, which is empty; write the secret into it.")
    return content
