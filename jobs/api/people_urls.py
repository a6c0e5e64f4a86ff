"""Addresses of people's job routes, under `/api/v1/ui/`."""

from django.urls import path

from jobs.api.people_board import PersonBoardViewSet
from jobs.api.people_stats import PersonStatsViewSet
from jobs.api.people_verbs import PersonVerbViewSet
from jobs.services.by_persons import BY_PERSONS

urlpatterns = [
    path("jobs", PersonBoardViewSet.as_view({"get": "list", "post": "create"}, name="Jobs"), name="ui-jobs"),
    path(
        "jobs/counts",
        PersonStatsViewSet.as_view({"get": "counts"}, name="Counts of jobs"),
        name="ui-job-counts",
    ),
    path(
        "jobs/<str:job_id>",
        PersonBoardViewSet.as_view(
            {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}, name="Job"
        ),
        name="ui-job",
    ),
    path(
        "jobs/<str:job_id>/events",
        PersonBoardViewSet.as_view({"get": "events"}, name="Trail of a job"),
        name="ui-job-events",
    ),
    *(
        path(
            f"jobs/<str:job_id>/{verb}",
            PersonVerbViewSet.as_view({"post": str(verb)}, name=f"{entry.label} a job"),
            name=f"ui-job-{verb}",
        )
        for verb, entry in BY_PERSONS.items()
    ),
    path("stats", PersonStatsViewSet.as_view({"get": "stats"}, name="Figures"), name="ui-stats"),
    path("stuck", PersonStatsViewSet.as_view({"get": "stuck"}, name="Stuck jobs"), name="ui-stuck"),
]
