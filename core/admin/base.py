"""A model's pages in the admin: they show, and dispatch to the services; nothing is written by the ORM here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from core.actors import Actor, person
from core.admin.forms import RefusableForm
from core.errors import DomainError, PermissionMissing

TOLD_REFUSALS = 10
_ID = re.compile(r"[0-9]{1,18}")
admin.site.site_header = admin.site.site_title = "ForkFlux"
admin.site.index_title = "Overview"
admin.site.site_url = None
# The lists need the width; the way back is in the breadcrumbs.
admin.site.enable_nav_sidebar = False
if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


def acting_person(request: HttpRequest) -> Actor:
    """The signed-in person, as services take it."""
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied(PermissionMissing(permission="to sign in").message)
    return person(user_id=user.pk, name=user.get_username())


class BusAdmin(_ModelAdmin):
    """Lists by Django's means; every page about one row, and every change, by ours.

    A subclass gives `page` (what is shown of a row) and, in `deeds`, the addresses of what can be done.
    """

    list_per_page = 50
    show_full_result_count = False
    actions_on_bottom = False
    page_template: ClassVar[str]

    # --- who may ------------------------------------------------------------------------------------
    def require(self, request: HttpRequest, *deeds: str) -> None:
        """403, with the name of what is missing, unless the person has a permission of each of these kinds."""
        for deed in deeds:
            needed = f"{self.opts.app_label}.{deed}_{self.opts.model_name}"
            if not request.user.has_perm(needed):
                raise PermissionDenied(PermissionMissing(permission=needed).message)

    def may(self, request: HttpRequest, deed: str) -> bool:
        """Whether the person has this kind of permission for the model."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.{deed}_{self.opts.model_name}"))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Rows go by a service, or not at all: Django's own way would pass it by."""
        return False

    # --- pages --------------------------------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        info = f"{self.opts.app_label}_{self.opts.model_name}"
        own = [
            path(route, self.admin_site.admin_view(view), name=f"{info}_{name}")
            for route, view, name in self.deeds()
        ]
        return own + super().get_urls()

    def deeds(self) -> list[tuple[str, Callable[..., HttpResponseBase], str]]:
        """Address below the model's, view, and name of each further page."""
        return []

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        self.require(request, "view")
        if any("\x00" in value for values in request.GET.lists() for value in values[1]):
            # PostgreSQL takes no text with it, and would answer for us: with an error.
            messages.warning(
                request, "The address held a character that no text has, so nothing was filtered."
            )
            return redirect(request.path)
        if request.method == "POST":
            # Django looks the chosen rows up by whatever was sent as their ids.
            chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
            post = request.POST.copy()
            post.setlist(ACTION_CHECKBOX_NAME, [value for value in chosen if _ID.fullmatch(value)])
            request.POST = post  # type: ignore[assignment]
        title = str(self.opts.verbose_name_plural).capitalize()
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of a row. It only shows; what changes something has a page of its own."""
        self.require(request, "view")
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET"])
        return self.render(request, self.page_template, row=row, **self.page(request, row))

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """The page itself shows the trail, which is the only history there is."""
        return redirect(self.address("change", object_id))

    def page(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the template of a row's page shows."""
        raise NotImplementedError

    def render(self, request: HttpRequest, template: str, **context: Any) -> TemplateResponse:
        return TemplateResponse(
            request, template, {**self.admin_site.each_context(request), "opts": self.opts, **context}
        )

    def address(self, name: str, *args: Any) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=args)

    def existing(self, request: HttpRequest, object_id: Any) -> Any:
        """The row of an id in an address; 404."""
        row = self.get_object(request, str(object_id))
        if row is None:
            raise Http404
        return row

    def deed(
        self,
        request: HttpRequest,
        *,
        title: str,
        form: type[forms.Form],
        act: Callable[[dict[str, Any]], str | HttpResponse],
        back: str,
        initial: dict[str, Any] | None = None,
        button: str | None = None,
        warning: str = "",
        harms: bool = False,
        **context: Any,
    ) -> HttpResponseBase:
        """One page that asks, and one POST that does it.

        `act` gets the cleaned fields and gives the sentence to show on the page `back`, or a response of its
        own. A refusal is shown beside the field that it is about, with everything that was typed.
        """
        bound = form(request.POST) if request.method == "POST" else form(initial=initial)
        if request.method == "POST" and bound.is_valid():
            try:
                done = act(bound.cleaned_data)
            except DomainError as error:
                RefusableForm.tell(bound, error)
            else:
                if isinstance(done, HttpResponse):
                    return done
                messages.success(request, done)
                return redirect(back)
        return self.render(
            request,
            "admin/forkflux/deed.html",
            title=title,
            form=bound,
            button=button or title,
            warning=warning,
            harms=harms,
            back=back,
            **context,
        )


def tell_outcome(request: HttpRequest, done: str, count: int, refusals: list[str]) -> None:
    """After an action on many rows: how many worked, and why the others did not."""
    if count:
        messages.success(request, f"{count} {done}.")
    for sentence in refusals[:TOLD_REFUSALS]:
        messages.warning(request, sentence)
    more = len(refusals) - TOLD_REFUSALS
    if more > 0:
        messages.warning(request, f"{more} more were refused.")
