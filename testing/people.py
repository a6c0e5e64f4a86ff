"""People at the door: members of staff with the rights of a group, and callers that speak HTTP as one of them."""

from __future__ import annotations

from django.contrib.auth.models import Group, User

from core.actors import Actor, person
from core.api.passwords import VERIFIED
from testing.secrets_watch import remember
from testing.wire import ROOT, Caller, basic_headers

PASSWORD = remember("a-password-of-the-tests")
UI = f"{ROOT}/ui"


def member(name: str, *groups: str, is_staff: bool = True) -> User:
    """A user in these groups (`operators`, `viewers`)."""
    user = User.objects.create(username=name, is_staff=is_staff)
    user.groups.set(Group.objects.filter(name__in=groups))
    return user


def signed_in(user: User) -> Caller:
    """The user by HTTP Basic. The password counts as checked: hashing it takes 0.2 s by design."""
    VERIFIED.remember(user.username, PASSWORD, user)
    return Caller(basic_headers(user.username, PASSWORD), user.username)


def operator(name: str = "anna") -> Caller:
    """Somebody who may do everything."""
    return signed_in(member(name, "operators"))


def viewer(name: str = "vera") -> Caller:
    """Somebody who may look."""
    return signed_in(member(name, "viewers"))


def actor_of(caller: Caller) -> Actor:
    """The caller as services and events know it."""
    return person(user_id=User.objects.get(username=caller.name).pk, name=caller.name)
