"""How a reference reads on the wire."""

from __future__ import annotations

from typing import Any

from artifacts.models import Artifact
from core.clock import iso


def artifact_payload(artifact: Artifact) -> dict[str, Any]:
    return {
        "type": artifact.artifact_type,
        "uri": artifact.artifact_uri,
        "checksum": artifact.artifact_checksum,
        "metadata_json": artifact.metadata_json,
    }


def artifact_row(artifact: Artifact) -> dict[str, Any]:
    """As persons see it: the reference's long names."""
    return {
        "id": artifact.pk,
        "artifact_type": artifact.artifact_type,
        "artifact_uri": artifact.artifact_uri,
        "artifact_checksum": artifact.artifact_checksum,
        "metadata_json": artifact.metadata_json,
        "created_at": iso(artifact.created_at),
    }
