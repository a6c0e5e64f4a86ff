"""What people's job routes share: where a conflict points, and how a page answers."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from core.api.paging import next_link
from core.api.people import PersonViewSet
from jobs.api.base import STATUS, UPDATE
from jobs.inputs import PageInput
from jobs.selectors import JobPage

_TYPES = {"partial_update": UPDATE, "destroy": "handoff_job_delete.invalid"}
_Place = tuple[str, list[str], Any]


class PersonJobViewSet(PersonViewSet):
    """A route about jobs, for people."""

    def conflict_place(self) -> _Place:
        """The reference's `type`, `loc` and `input` for a refusal by the current action."""
        job_id = self.kwargs.get("job_id")
        number = None if job_id is None else self.path_id(job_id)
        return _TYPES.get(self.action or "", STATUS), ["path", "job_id"], number


def page_answer(request: Request, items: list[dict[str, Any]], page: JobPage, query: PageInput) -> Response:
    """A page as an object, as the reference answers people; the `Link` header says the same as `next_cursor`."""
    response = Response(
        {
            "items": items,
            "total": page.total,
            "limit": query.limit,
            "offset": query.offset or 0,
            "next_cursor": page.next_cursor,
        }
    )
    if page.next_cursor is not None:
        response["Link"] = next_link(request, page.next_cursor)
    return response
