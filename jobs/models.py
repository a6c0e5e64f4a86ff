"""The unit of work."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import F, Q

from agents.models import Agent
from core.fields import JSONTextField
from jobs.lifecycle import HELD, LEASED, OPEN, Priority, Status
from roles.models import Role

_STATUS_LENGTH = 16


def _only_in(status: Status, *columns: str) -> Q:
    """These columns say something only while the job is in this state."""
    empty = Q()
    for column in columns:
        empty &= Q(**{f"{column}__isnull": True})
    return Q(status=status) | empty


class Job(models.Model):
    """A piece of work for a role. Its `status` is assigned in `jobs.transitions` and nowhere else."""

    summary = models.CharField(max_length=1000)
    context_payload = JSONTextField()
    constraints = JSONTextField()
    labels = JSONTextField(default=list)
    routing_rules = JSONTextField(null=True)
    priority = models.PositiveSmallIntegerField(default=Priority.NORMAL)
    artifact_count = models.PositiveIntegerField(default=0)
    version = models.PositiveIntegerField(default=1)  # of the content that `update` changes

    # Without an index of its own: `job_list_by_role` begins with it.
    target_role = models.ForeignKey(Role, on_delete=models.PROTECT, related_name="jobs", db_index=False)
    source_agent = models.ForeignKey(
        Agent, null=True, on_delete=models.PROTECT, related_name="published_jobs"
    )
    source_name = models.CharField(max_length=255)  # who published, also when it was a person
    assignee_agent = models.ForeignKey(Agent, null=True, on_delete=models.PROTECT, related_name="held_jobs")
    # Who held it last. Tells a worker that comes back late from one that never had the job.
    last_holder = models.ForeignKey(
        Agent, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    parent_job = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="children")

    status = models.CharField(max_length=_STATUS_LENGTH)
    status_changed_at = models.DateTimeField()
    on_hold = models.BooleanField(default=False)
    not_before = models.DateTimeField(null=True)
    # True from publication until `not_before` has passed and somebody looked: keeps such jobs out of the
    # index that claims walk, whose predicate cannot ask what time it is.
    is_deferred = models.BooleanField(default=False)
    expires_at = models.DateTimeField(null=True)

    max_retries = models.PositiveSmallIntegerField(default=3)
    retry_count = models.PositiveSmallIntegerField(default=0)
    lease_expiry_count = models.PositiveIntegerField(default=0)

    lease_generation = models.PositiveIntegerField(default=0)
    lease_seconds = models.PositiveIntegerField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    lease_heartbeat_at = models.DateTimeField(null=True)  # last explicit one; bounds implicit renewal
    lease_session = models.CharField(max_length=64, null=True)  # noqa: DJ001 - null: the holder named none
    # The session that lost this job without its doing: a process asks what it lost by naming itself.
    lost_session = models.CharField(max_length=64, null=True)  # noqa: DJ001 - null: nobody to tell
    progress_percent = models.PositiveSmallIntegerField(null=True)
    progress_note = models.TextField(null=True)  # noqa: DJ001 - null: none given
    progress_at = models.DateTimeField(null=True)

    result_summary = models.TextField(null=True)  # noqa: DJ001 - the wire says null
    result = JSONTextField(null=True)
    failure_reason = models.TextField(null=True)  # noqa: DJ001
    blocked_reason = models.TextField(null=True)  # noqa: DJ001
    unblock_reason = models.TextField(null=True)  # noqa: DJ001
    cancel_reason = models.TextField(null=True)  # noqa: DJ001

    published_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    blocked_at = models.DateTimeField(null=True)
    unblocked_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    # The head of this job's stream of events, kept where the lock already is.
    event_sequence = models.PositiveBigIntegerField(default=0)
    event_hash = models.CharField(max_length=64, default="")
    event_feed_tx = models.BigIntegerField(default=0)

    # Filled by the statement that locked the row: the database's clock and transaction.
    db_now: datetime
    db_transaction: int
    # Filled by the writer: where the job was before its last change.
    previous_status: str

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=[str(status) for status in Status]), name="job_status_is_known"
            ),
            models.CheckConstraint(
                condition=Q(priority__in=[int(priority) for priority in Priority]),
                name="job_priority_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=sorted(OPEN)) | Q(assignee_agent__isnull=True),
                name="job_waiting_has_no_assignee",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=sorted(HELD | {Status.COMPLETED})) | Q(assignee_agent__isnull=False),
                name="job_held_or_completed_has_an_assignee",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=sorted(LEASED),
                    lease_expires_at__isnull=False,
                    lease_seconds__isnull=False,
                    lease_heartbeat_at__isnull=False,
                )
                | (~Q(status__in=sorted(LEASED)) & Q(lease_expires_at__isnull=True)),
                name="job_lease_runs_exactly_while_leased",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=sorted(HELD)) | Q(lease_generation__gt=0),
                name="job_held_has_a_generation",
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.PUBLISHED) | Q(published_at__isnull=False),
                name="job_published_has_its_time",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=sorted(HELD)) | Q(started_at__isnull=False),
                name="job_held_has_its_start",
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.COMPLETED) | Q(completed_at__isnull=False),
                name="job_completed_has_its_time",
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.FAILED) | Q(failed_at__isnull=False),
                name="job_failed_has_its_time",
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.BLOCKED) | Q(blocked_at__isnull=False),
                name="job_blocked_has_its_time",
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.UNBLOCKED) | Q(unblocked_at__isnull=False),
                name="job_unblocked_has_its_time",
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.CANCELLED) | Q(cancelled_at__isnull=False),
                name="job_cancelled_has_its_time",
            ),
            models.CheckConstraint(
                condition=_only_in(Status.FAILED, "failed_at", "failure_reason"),
                name="job_failure_is_told_only_while_failed",
            ),
            models.CheckConstraint(
                condition=_only_in(Status.BLOCKED, "blocked_at", "blocked_reason"),
                name="job_block_is_told_only_while_blocked",
            ),
            models.CheckConstraint(
                condition=_only_in(Status.UNBLOCKED, "unblocked_at", "unblock_reason"),
                name="job_unblock_is_told_only_while_unblocked",
            ),
            models.CheckConstraint(
                condition=_only_in(Status.CANCELLED, "cancelled_at", "cancel_reason"),
                name="job_cancellation_is_told_only_while_cancelled",
            ),
            models.CheckConstraint(
                condition=Q(is_deferred=False) | Q(not_before__isnull=False),
                name="job_deferred_says_until_when",
            ),
            models.CheckConstraint(
                condition=Q(retry_count__lte=F("max_retries")), name="job_retries_within_budget"
            ),
        ]
        indexes = [
            # Exactly the claim's order; a claim reads its first live entry.
            models.Index(
                F("target_role"),
                F("priority").desc(),
                F("created_at"),
                F("id"),
                condition=Q(status=Status.PUBLISHED, on_hold=False, is_deferred=False),
                name="job_claim_order",
            ),
            models.Index(
                fields=["not_before"],
                condition=Q(status=Status.PUBLISHED, is_deferred=True),
                name="job_deferred_until",
            ),
            models.Index(
                fields=["lease_expires_at"], condition=Q(lease_expires_at__isnull=False), name="job_lease_end"
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False, status__in=sorted(OPEN)),
                name="job_lapse_due",
            ),
            models.Index(
                fields=["assignee_agent", "target_role"],
                condition=Q(status__in=sorted(HELD)),
                name="job_held_by_agent",
            ),
            models.Index(
                fields=["lease_session"], condition=Q(lease_session__isnull=False), name="job_held_by_session"
            ),
            models.Index(
                fields=["lost_session"], condition=Q(lost_session__isnull=False), name="job_lost_by_session"
            ),
            models.Index(fields=["created_at", "id"], name="job_list_order"),
            models.Index(fields=["target_role", "status", "created_at", "id"], name="job_list_by_role"),
        ]

    def __str__(self) -> str:
        return f"job {self.pk}"

    @property
    def stream(self) -> str:
        return f"job:{self.pk}"

    @property
    def state(self) -> Status:
        return Status(self.status)


class JobLabel(models.Model):
    """The index of `Job.labels`, one row a label, written together with them."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="label_rows")
    label = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["label", "job"], name="job_has_a_label_once")]

    def __str__(self) -> str:
        return self.label
