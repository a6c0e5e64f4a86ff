"""The bounds of the installation: how large, how deep, how long; each one a FORKFLUX_… variable.

Above a bound a caller gets a 4xx that names the field and the bound; nothing is ever cut silently.
"""

from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

from core import env

_KIB = 1024
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes in characters unless a name ends in `_bytes`; durations in the unit that ends the name."""

    summary_max: int
    context_max_bytes: int
    json_max_depth: int
    constraints_max: int
    constraint_max_length: int
    artifacts_max: int
    blockers_max: int
    reason_max: int
    result_summary_max: int
    result_max_bytes: int
    labels_max: int
    label_max_length: int
    note_max: int
    uri_max: int
    metadata_max_bytes: int
    name_max: int
    routing_rules_max: int
    max_retries_max: int
    body_max_bytes: int
    lease_seconds_min: int
    lease_seconds_max: int
    sweep_seconds: float
    idempotency_hours: int
    presence_write_seconds: float
    request_deadline_seconds: float


def _bound(field: str, default: int, *, low: int = 1, high: int) -> int:
    return env.integer(f"FORKFLUX_{field.upper()}", default, low=low, high=high)


def _duration(field: str, default: float, *, low: float, high: float) -> float:
    return env.seconds(f"FORKFLUX_{field.upper()}", default, low=low, high=high)


def limits_from_environment() -> Limits:
    """Read every bound; raises ImproperlyConfigured for one that is out of its range.

    The upper ends of the ranges that name a column's width (255, 500 and 2000 characters) are the
    widths of the columns: a larger bound would pass the check and then fail in the database.
    """
    limits = Limits(
        summary_max=_bound("summary_max", 500, high=500),
        context_max_bytes=_bound("context_max_bytes", _MIB, high=16 * _MIB),
        json_max_depth=_bound("json_max_depth", 64, high=200),
        constraints_max=_bound("constraints_max", 100, high=10_000),
        constraint_max_length=_bound("constraint_max_length", 4_000, high=100_000),
        artifacts_max=_bound("artifacts_max", 50, high=1_000),
        blockers_max=_bound("blockers_max", 100, high=1_000),
        reason_max=_bound("reason_max", 20_000, high=200_000),
        result_summary_max=_bound("result_summary_max", 20_000, high=200_000),
        result_max_bytes=_bound("result_max_bytes", _MIB, high=16 * _MIB),
        labels_max=_bound("labels_max", 20, high=100),
        label_max_length=_bound("label_max_length", 64, high=64),
        note_max=_bound("note_max", 2_000, high=2_000),
        uri_max=_bound("uri_max", 2_000, high=2_000),
        metadata_max_bytes=_bound("metadata_max_bytes", 64 * _KIB, high=_MIB),
        name_max=_bound("name_max", 255, high=255),
        routing_rules_max=_bound("routing_rules_max", 10, high=100),
        max_retries_max=_bound("max_retries_max", 20, low=0, high=1_000),
        body_max_bytes=_bound("body_max_bytes", 4 * _MIB, low=_KIB, high=1024 * _MIB),
        lease_seconds_min=_bound("lease_seconds_min", 30, high=86_400),
        lease_seconds_max=_bound("lease_seconds_max", 86_400, high=604_800),
        sweep_seconds=_duration("sweep_seconds", 5.0, low=0.05, high=3_600),
        idempotency_hours=_bound("idempotency_hours", 24, high=720),
        presence_write_seconds=_duration("presence_write_seconds", 60.0, low=0, high=3_600),
        request_deadline_seconds=_duration("request_deadline_seconds", 30.0, low=0.05, high=600),
    )
    if limits.lease_seconds_min > limits.lease_seconds_max:
        raise ImproperlyConfigured(
            f"FORKFLUX_LEASE_SECONDS_MIN is {limits.lease_seconds_min}, above FORKFLUX_LEASE_SECONDS_MAX "
            f"({limits.lease_seconds_max}); raise the one or lower the other."
        )
    return limits


LIMITS = limits_from_environment()
