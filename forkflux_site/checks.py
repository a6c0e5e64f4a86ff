"""System checks of the installation: settings that are each allowed but do not work together."""

import stat
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core import checks

from forkflux_site.secret import path_beside

_LOOPBACK_NAMES = frozenset({"localhost", ".localhost", "127.0.0.1", "[::1]", "::1"})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host` (a name or an address, brackets allowed)."""
    if host.lower() in _LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def hosting_problems(
    *, host: str, allowed_hosts: Sequence[str], trusted_origins: Sequence[str], debug: bool
) -> list[checks.CheckMessage]:
    """What will go wrong when the server listens on `host` with these settings."""
    problems: list[checks.CheckMessage] = []
    names = [name for name in allowed_hosts if not is_loopback(name)]
    if not is_loopback(host) and not names:
        problems.append(
            checks.Warning(
                f"The server listens on {host}, but answers only to loopback names.",
                hint="Set ALLOWED_HOSTS to the names and addresses that clients use, separated by commas, "
                "for example ALLOWED_HOSTS=forkflux.example.org,localhost,127.0.0.1.",
                id="forkflux.W001",
            )
        )
    if names and not trusted_origins:
        problems.append(
            checks.Warning(
                "No origin is trusted; behind a TLS proxy, forms sent from a browser are refused.",
                hint=f"Set CSRF_TRUSTED_ORIGINS, for example CSRF_TRUSTED_ORIGINS=https://{names[0].lstrip('.*')}"
                " (and FORKFLUX_BEHIND_TLS_PROXY=true if the proxy sets X-Forwarded-Proto on every request). "
                "Without a TLS proxy, silence this with an http origin in the list.",
                id="forkflux.W002",
            )
        )
    if debug and (names or not is_loopback(host)):
        problems.append(
            checks.Error(
                "DEBUG is on where others can reach the server: error pages would show them its settings.",
                hint="Unset DEBUG, or listen on 127.0.0.1 with loopback names in ALLOWED_HOSTS.",
                id="forkflux.E001",
            )
        )
    return problems


@checks.register(checks.Tags.security)
def check_hosting(**_: Any) -> list[checks.CheckMessage]:
    """Host, allowed names, trusted origins and DEBUG fit together."""
    return hosting_problems(
        host=settings.FORKFLUX_HOST,
        allowed_hosts=settings.ALLOWED_HOSTS,
        trusted_origins=settings.CSRF_TRUSTED_ORIGINS,
        debug=settings.DEBUG,
    )


@checks.register(checks.Tags.security)
def check_secret_key_file(**_: Any) -> list[checks.CheckMessage]:
    """The key file beside the database is nobody else's to read."""
    if settings.SQLITE_FILE is None:
        return []
    path = path_beside(settings.SQLITE_FILE)
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return []
    if not mode & 0o077:
        return []
    return [
        checks.Warning(
            f"The secret key file {path} can be read by others (mode {mode:04o}).",
            hint=f"Run: chmod 600 {path}",
            id="forkflux.W003",
        )
    ]
