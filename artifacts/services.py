"""Attaching references to a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from artifacts.models import Artifact


def attach(*, job_id: int, artifacts: Sequence[Mapping[str, Any]], created_at: datetime) -> None:
    """Store the references of a job, in the order given. The job's own row counts them."""
    if artifacts:
        Artifact.objects.bulk_create(
            [
                Artifact(
                    job_id=job_id,
                    artifact_type=artifact["type"],
                    artifact_uri=artifact["uri"],
                    artifact_checksum=artifact.get("checksum"),
                    metadata_json=artifact.get("metadata_json") or {},
                    created_at=created_at,
                )
                for artifact in artifacts
            ]
        )
