"""Addresses of the job routes, under `/api/v1/mcp/`."""

from django.urls import path

from jobs.api.board import BoardViewSet
from jobs.api.claiming import ClaimViewSet
from jobs.api.working import WorkViewSet

urlpatterns = [
    path("jobs", BoardViewSet.as_view({"get": "list", "post": "create"}, name="Jobs"), name="jobs"),
    path(
        "jobs/claim-next",
        ClaimViewSet.as_view({"post": "claim_next"}, name="Claim the next job"),
        name="claim-next",
    ),
    path(
        "jobs/<str:job_id>",
        BoardViewSet.as_view({"get": "retrieve", "patch": "partial_update"}, name="Job"),
        name="job",
    ),
    path(
        "jobs/<str:job_id>/events",
        BoardViewSet.as_view({"get": "events"}, name="Trail of a job"),
        name="job-events",
    ),
    path(
        "jobs/<str:job_id>/artifacts",
        BoardViewSet.as_view({"get": "artifacts"}, name="Artifacts of a job"),
        name="job-artifacts",
    ),
    path(
        "jobs/<str:job_id>/claim", ClaimViewSet.as_view({"post": "claim"}, name="Claim a job"), name="claim"
    ),
    path(
        "jobs/<str:job_id>/status",
        WorkViewSet.as_view({"post": "change_status"}, name="Change a job's status"),
        name="status",
    ),
    path(
        "jobs/<str:job_id>/heartbeat",
        WorkViewSet.as_view({"post": "heartbeat"}, name="Heartbeat of a job"),
        name="heartbeat",
    ),
    path(
        "jobs/<str:job_id>/release",
        WorkViewSet.as_view({"post": "release"}, name="Release a job"),
        name="release",
    ),
    path(
        "jobs/<str:job_id>/requeue",
        WorkViewSet.as_view({"post": "requeue"}, name="Requeue a job"),
        name="requeue",
    ),
    path("jobs/<str:job_id>/hold", WorkViewSet.as_view({"post": "hold"}, name="Hold a job"), name="hold"),
    path(
        "jobs/<str:job_id>/unhold",
        WorkViewSet.as_view({"post": "unhold"}, name="Unhold a job"),
        name="unhold",
    ),
]
