"""Addresses of people's routes about the audit trail, under `/api/v1/ui/`."""

from django.urls import path

from events.api.people import PersonAuditViewSet

urlpatterns = [
    path(
        "audit/verify",
        PersonAuditViewSet.as_view({"get": "verify"}, name="Verify the audit trail"),
        name="ui-audit-verify",
    ),
]
