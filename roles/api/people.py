"""Roles, as people make, change, pause and delete them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.openapi import IDEMPOTENCY_KEY, REFUSALS, WRITE_REFUSALS, query_parameters
from core.api.people import PersonViewSet
from core.inputs import Input
from jobs.services.removing import delete_role
from roles.api.answers import RoleRows, RoleWritten
from roles.inputs import PauseInput, RemoveRoleInput, ResumeInput, RoleEditInput, RoleInput
from roles.models import Role
from roles.payloads import role_row
from roles.selectors import active_role, active_roles, role_by_id
from roles.services import create_role, edit_role, pause_role, resume_role

F = TypeVar("F", bound=Callable[..., Any])

# In a class with a method `list` that name means the method.
_Place = tuple[str, list[str], Any]
_Names = list[str]
_PLACE = ("path", "role_id")
_TAKEN = "target_role.conflict"
_IN_USE = "target_role.in_use"


def _writes(fields: type[Input], status: int = 200) -> Callable[[F], F]:
    return extend_schema(
        request=fields, parameters=[IDEMPOTENCY_KEY], responses={status: RoleWritten, **WRITE_REFUSALS}
    )


class PersonRoleViewSet(PersonViewSet):
    """What work can be addressed to."""

    permissions = {
        "list": "roles.view_role",
        "create": "roles.add_role",
        "partial_update": "roles.change_role",
        "destroy": "roles.delete_role",
        "pause": "roles.change_role",
        "resume": "roles.change_role",
    }
    inputs = {
        "create": RoleInput,
        "partial_update": RoleEditInput,
        "pause": PauseInput,
        "resume": ResumeInput,
    }

    def conflict_place(self) -> _Place:
        """The reference's place of a key that is taken; for a role with jobs, what would help."""
        if self.action == "destroy":
            return _IN_USE, ["query", "move_to"], self.request.query_params.get("move_to")
        parsed = getattr(self, "parsed", None)
        return _TAKEN, ["body", "role_key"], parsed.get("role_key") if isinstance(parsed, dict) else None

    @extend_schema(summary="All active roles", responses={200: RoleRows, **REFUSALS})
    def list(self, request: Request) -> Response:
        return Response([role_row(role) for role in active_roles()])

    @_writes(RoleInput, 201)
    @extend_schema(summary="Make a role")
    def create(self, request: Request) -> Response:
        fields = self.body(RoleInput)
        return self._written(
            lambda: create_role(actor=self.actor, **fields.as_arguments()),
            ignored=RoleInput.ignored(self.parsed),
            status=201,
        )

    @_writes(RoleEditInput)
    @extend_schema(summary="Change a role")
    def partial_update(self, request: Request, role_id: str) -> Response:
        number = self.path_id(role_id, "role_id")
        fields = self.body(RoleEditInput)
        return self._written(
            lambda: edit_role(actor=self.actor, role_key=_key_of(number), **fields.as_changes()),
            ignored=RoleEditInput.ignored(self.parsed),
        )

    @extend_schema(
        summary="Delete a role; its unfinished jobs move to another one",
        parameters=[IDEMPOTENCY_KEY, *query_parameters(RemoveRoleInput)],
        responses={204: None, **WRITE_REFUSALS},
    )
    def destroy(self, request: Request, role_id: str) -> Response:
        number = self.path_id(role_id, "role_id")
        query = self.query(RemoveRoleInput)
        self.parsed = query.as_arguments()
        done = self.once(
            lambda: self._delete(number, query.move_to), identify=lambda _: {}, again=lambda _: None
        )
        return self.nothing(replayed=done.replayed)

    @_writes(PauseInput)
    @extend_schema(summary="Hand out nothing of a role")
    def pause(self, request: Request, role_id: str) -> Response:
        number = self.path_id(role_id, "role_id")
        fields = self.body(PauseInput)
        return self._written(
            lambda: pause_role(actor=self.actor, role_key=_key_of(number), reason=fields.reason),
            ignored=PauseInput.ignored(self.parsed),
        )

    @_writes(ResumeInput)
    @extend_schema(summary="Hand out a role's work again")
    def resume(self, request: Request, role_id: str) -> Response:
        number = self.path_id(role_id, "role_id")
        fields = self.body(ResumeInput, optional=True)
        return self._written(
            lambda: resume_role(actor=self.actor, role_key=_key_of(number), reason=fields.reason),
            ignored=ResumeInput.ignored(self.parsed),
        )

    def _written(self, run: Callable[[], Role], *, ignored: _Names, status: int = 200) -> Response:
        done = self.once(
            run,
            identify=lambda role: {"role_id": role.pk},
            again=lambda result: Role.objects.get(pk=result["role_id"]),
        )
        return self.answer(role_row(done.value), status=status, replayed=done.replayed, ignored=ignored)

    def _delete(self, role_id: int, move_to: str | None) -> None:
        key = _key_of(role_id)
        if move_to is not None:
            active_role(move_to, loc=("query", "move_to"))
        delete_role(actor=self.actor, role_key=key, move_to=move_to)


def _key_of(role_id: int) -> str:
    return role_by_id(role_id, loc=_PLACE).role_key
