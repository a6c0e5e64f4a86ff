"""How a reference reads on the wire."""

from __future__ import annotations

from typing import Any

from artifacts.models import Artifact


def artifact_payload(artifact: Artifact) -> dict[str, Any]:
    return {
        "type": artifact.artifact_type,
        "uri": artifact.artifact_uri,
        "checksum": artifact.artifact_checksum,
        "metadata_json": artifact.metadata_json,
    }
