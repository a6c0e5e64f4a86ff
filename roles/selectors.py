"""Reading roles."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection
from django.db.models import QuerySet

from core.errors import invalid
from core.rows import RowReader
from roles.models import Role

# The reference's words.
NOT_FOUND = "target_role.not_found"
NOT_FOUND_SENTENCE = "One or more target roles were not found: Target role not found."

_ROLE = RowReader(Role, "r")
_KEPT = (
    f"SELECT {_ROLE.select} FROM {Role._meta.db_table} r "  # noqa: S608 - names of our own columns
    "WHERE r.role_key = %s AND NOT r.is_deleted FOR KEY SHARE"
)


def active_roles() -> QuerySet[Role]:
    return Role.objects.filter(is_deleted=False).order_by("role_key")


def active_role(role_key: str, *, loc: tuple[str | int, ...], keep: bool = False) -> Role:
    """The active role of this key; InvalidInput at `loc`, which lists the active ones, when there is none.

    `keep` locks it against deletion until the transaction ends: what is about to reference it must not find
    itself in a role that was deleted after the look.
    """
    if keep and connection.vendor == "postgresql":
        role = _kept(role_key)
    else:
        role = Role.objects.filter(role_key=role_key, is_deleted=False).first()
    if role is None:
        raise _unknown(role_key, loc, listed=list(active_roles().values_list("role_key", flat=True)))
    return role


def _kept(role_key: str) -> Role | None:
    # The lock that the foreign key takes anyway, only before the look; Django has no word for it.
    with connection.cursor() as cursor:
        cursor.execute(_KEPT, [role_key])
        row = cursor.fetchone()
    return None if row is None else _ROLE.read(row)


def role_by_id(role_id: int, *, loc: tuple[str | int, ...]) -> Role:
    """The active role of this id; InvalidInput at `loc`."""
    role = active_roles().filter(pk=role_id).first()
    if role is None:
        raise invalid(NOT_FOUND, loc, NOT_FOUND_SENTENCE, role_id)
    return role


def active_roles_by_id(role_ids: Sequence[int], *, loc: tuple[str | int, ...]) -> list[Role]:
    """The active roles of these ids, each once, in the order given; InvalidInput at `loc` if one is missing."""
    found = active_roles().in_bulk(list(set(role_ids)))
    roles = [found.get(role_id) for role_id in dict.fromkeys(role_ids)]
    if None in roles:
        listed = ", ".join(f"{role.pk} ({role.role_key})" for role in active_roles()) or "none"
        raise invalid(NOT_FOUND, loc, f"{NOT_FOUND_SENTENCE} Available roles: {listed}.", list(role_ids))
    return [role for role in roles if role is not None]


def require_known(
    role_keys: Sequence[str], *, listed: Sequence[str], loc: tuple[str | int, ...] = ("target_role_key",)
) -> list[str]:
    """The keys that are not among `listed`, all of them active roles; InvalidInput for the first that is no role."""
    known = set(
        Role.objects.filter(role_key__in=role_keys, is_deleted=False).values_list("role_key", flat=True)
    )
    for key in role_keys:
        if key not in known:
            raise _unknown(key, loc, listed=listed)
    return [key for key in role_keys if key not in listed]


def _unknown(role_key: str, loc: tuple[str | int, ...], *, listed: Sequence[str]) -> Exception:
    return invalid(
        "target_role.invalid",
        loc,
        f"Target role is invalid: Available roles: {', '.join(listed) or 'none'}.",
        role_key,
    )
