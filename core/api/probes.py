"""Is it there, does it work, and what does it offer: probes, schema, documentation pages."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from django.db import DatabaseError, InterfaceError
from django.db.models import F
from django.urls import reverse
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.api.openapi import Answer
from core.api.people import AgentOrPersonAuthentication
from core.api.permissions import DenyByDefault
from core.api.renderers import CompactJSONRenderer
from core.errors import Unavailable
from core.models import Installation
from core.transactions import write_transaction

logger = logging.getLogger(__name__)


class OpenView(APIView):
    """A route that needs no credential and reads none."""

    open_to_all: ClassVar[bool] = True
    authentication_classes = ()


class HealthView(OpenView):
    """The process answers. Nothing else is asked."""

    # A page would have something to show and be a 200; whoever asks compares with 204.
    renderer_classes = (CompactJSONRenderer,)

    @extend_schema(summary="The process answers", auth=[], responses={204: None})
    def get(self, request: Request) -> Response:
        return Response(status=204)


class ReadyAnswer(Answer):
    """Yes or no; why not stands in the server's log."""

    example: ClassVar[Any] = {"ready": True}

    ready: bool


class ReadyView(OpenView):
    """The database can be read and written."""

    @extend_schema(
        summary="The database can be read and written",
        auth=[],
        responses={200: ReadyAnswer, 503: ReadyAnswer},
    )
    def get(self, request: Request) -> Response:
        try:
            ready = _write_and_read()
        except (DatabaseError, InterfaceError, Unavailable) as error:
            logger.warning("not_ready", extra={"error": type(error.__cause__ or error).__name__})
            ready = False
        headers = None if ready else {"Retry-After": "1"}
        return Response({"ready": ready}, status=200 if ready else 503, headers=headers)


@write_transaction
def _write_and_read() -> bool:
    # A change of nothing, but a written one: a full disk or a read-only replica fails here.
    return Installation.objects.filter(pk=1).update(feed_epoch=F("feed_epoch")) == 1


class DescribingView(APIView):
    """A page about the API, for whoever has a credential; its refusals have the API's one error shape."""

    scope: ClassVar[str] = "read"
    authentication_classes = (AgentOrPersonAuthentication,)
    # The library's own default would show everything to everybody.
    permission_classes = (DenyByDefault,)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(response, "exception", False):
            request.accepted_renderer = CompactJSONRenderer()
            request.accepted_media_type = CompactJSONRenderer.media_type
        return super().finalize_response(request, response, *args, **kwargs)


class SchemaView(DescribingView, SpectacularAPIView):
    """The OpenAPI document, as JSON unless YAML is asked for."""

    renderer_classes = [
        OpenApiJsonRenderer2,
        OpenApiJsonRenderer,
        OpenApiYamlRenderer,
        OpenApiYamlRenderer2,
    ]

    def _get_version_parameter(self, request: Request) -> None:
        # There is one version. The library would write whatever the query says into a header.
        return None


class DocsView(DescribingView, SpectacularSwaggerView):
    """The OpenAPI document as pages, served from here."""

    def _get_schema_url(self, request: Request) -> str:
        # With the host, since a page that was opened as http://name:token@host may not fetch a relative
        # address; without the scheme, which a proxy in front may have changed.
        return f"//{request.get_host()}{reverse('schema')}"
