"""How a list says where its next page is."""

from __future__ import annotations

from urllib.parse import urlencode

from rest_framework.request import Request


def next_link(request: Request, cursor: str, *, name: str = "cursor") -> str:
    """The value of the `Link` header: the same query, continued behind the last row of this page."""
    query = [
        (key, value)
        for key, values in request.query_params.lists()
        if key not in (name, "offset")
        for value in values
    ]
    query.append((name, cursor))
    return f'<{request.build_absolute_uri(request.path)}?{urlencode(query)}>; rel="next"'
