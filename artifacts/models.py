"""What a job points to."""

from __future__ import annotations

from django.db import models

from core.fields import JSONTextField
from jobs.models import Job


class Artifact(models.Model):
    """A reference from a job to something outside the bus. The checksum is the publisher's claim, unverified."""

    artifact_type = models.CharField(max_length=255)
    artifact_uri = models.CharField(max_length=2000)
    artifact_checksum = models.CharField(max_length=255, null=True)  # noqa: DJ001 - the wire says null
    metadata_json = JSONTextField(default=dict)

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="artifacts")

    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.artifact_uri
