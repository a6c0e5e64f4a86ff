"""Both forms of an API address answer directly: a redirect would turn a client's POST into a GET."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

PREFIX = "/api/"


class TrailingSlashMiddleware:
    """Routes of the API are written without a slash at the end; one that was sent is passed over."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        if path.startswith(PREFIX) and path.endswith("/"):
            request.path_info = path[:-1]
            request.path = request.path[:-1]
        return self.get_response(request)
