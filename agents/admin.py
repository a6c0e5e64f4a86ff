"""Agents in the admin: who there is, what each holds, its roles and its tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.safestring import SafeString

from agents.inputs import (
    ROTATION_KEEPS_SECONDS,
    AgentEditInput,
    RegisterInput,
    RotateInput,
    TokenInput,
)
from agents.models import Agent, AgentToken
from agents.presence import presence
from agents.scopes import DEFAULT_SCOPES, GRANTED_SCOPES, Scope
from agents.selectors import token_state, tokens_of
from agents.services import (
    IssuedToken,
    activate_agent,
    edit_agent,
    issue_token,
    register_agent,
    revoke_token,
    rotate_token,
)
from core.admin.base import BusAdmin, acting_person
from core.admin.forms import ConfirmForm, OptionalReasonForm, ReasonForm, RefusableForm
from core.admin.showing import mark, shown, text
from core.clock import database_moment
from core.errors import PermissionMissing
from jobs.selectors import held_jobs
from jobs.services.removing import deactivate_agent
from roles.models import Role

_TOKEN_STATES = {
    "active": ("done", "●", "Active"),
    "expired": ("cancelled", "○", "Expired"),
    "revoked": ("cancelled", "✕", "Revoked"),
    "agent_inactive": ("blocked", "‖", "Agent deactivated"),
}


class AgentForm(RefusableForm):
    """What an agent is called, and which roles it holds."""

    agent_label = forms.CharField(
        label="Label", help_text="What it is called. Its address is made of this once."
    )
    tool_family = forms.CharField(
        required=False, label="Tool", help_text="Which tool it is: codex, claude, …"
    )
    roles = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, help_text="Which work it may claim."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        keys = (
            Role.objects.filter(is_deleted=False).order_by("role_key").values_list("role_key", "role_label")
        )
        field: Any = self.fields["roles"]
        field.choices = [(key, key if key == label else f"{key} ({label})") for key, label in keys]


class TokenForm(RefusableForm):
    """What a token opens, and until when."""

    scopes = forms.MultipleChoiceField(
        choices=[(str(scope), str(scope)) for scope in DEFAULT_SCOPES],
        initial=[str(scope) for scope in DEFAULT_SCOPES],
        widget=forms.CheckboxSelectMultiple,
        help_text="What its holder may do.",
    )
    granted = forms.MultipleChoiceField(
        choices=[
            (str(Scope.ACT_FOR), "act_for: act in the name of any other agent"),
            (str(Scope.REGISTER), "register: make new agents"),
        ],
        required=False,
        label="Only for an orchestrator",
        widget=forms.CheckboxSelectMultiple,
        help_text="Whoever holds such a token can do what other agents may. Leave both off unless you mean it.",
    )
    expires_at = forms.DateTimeField(
        required=False,
        label="Valid until",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}),
        help_text="In UTC. Empty: until it is revoked.",
    )


class RotateForm(RefusableForm):
    keep_seconds = forms.IntegerField(
        initial=ROTATION_KEEPS_SECONDS,
        label="Keep the old one for",
        help_text="Seconds, up to 30 days; so long both work. 0: the old one ends at once.",
    )


class AgentList(ChangeList):
    """The rows of a page, with the time of the look and what each holds."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        now, held = database_moment().now, held_jobs()
        agents = list(self.result_list)
        for agent in agents:
            agent.seen_now = now
            agent.holds = held.get(agent.pk, [])
        self.result_list = agents


@admin.register(Agent)
class AgentAdmin(BusAdmin):
    page_template = "admin/agents/agent/page.html"
    list_display = ("name", "label", "state", "roles_shown", "holds", "last_seen", "tool_family")
    list_filter = ("is_active", "tool_family")
    search_fields = ("name", "agent_label")
    ordering = ("name",)
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        return Agent.objects.prefetch_related("roles")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return AgentList

    @admin.display(description="Label", ordering="agent_label")
    def label(self, agent: Agent) -> str:
        return text(agent.agent_label)

    @admin.display(description="State", ordering="last_seen_at")
    def state(self, agent: Any) -> SafeString:
        return _state(agent, agent.seen_now)

    @admin.display(description="Roles")
    def roles_shown(self, agent: Agent) -> str:
        return (
            ", ".join(sorted(text(role.role_key) for role in agent.roles.all() if not role.is_deleted)) or "–"
        )

    @admin.display(description="Holds")
    def holds(self, agent: Any) -> str:
        return ", ".join(f"#{job_id}" for job_id in agent.holds) or "–"

    @admin.display(description="Last seen", ordering="last_seen_at")
    def last_seen(self, agent: Agent) -> str:
        return shown(agent.last_seen_at)

    def page(self, request: HttpRequest, row: Agent) -> dict[str, Any]:
        now = database_moment().now
        acts = self.may(request, "change")
        state = [("Deactivate", "deactivate")] if row.is_active else [("Activate", "activate")]
        buttons = [("Edit", "edit"), *state] if acts else []
        sees_tokens = request.user.has_perm("agents.view_agenttoken")
        if request.user.has_perm("agents.add_agenttoken") and row.is_active:
            buttons.append(("Issue a token", "issue"))
        return {
            "title": f"Agent {row.name}",
            "state": _state(row, now),
            "facts": [
                ("Label", text(row.agent_label)),
                ("Tool", text(row.tool_family)),
                (
                    "Roles",
                    ", ".join(sorted(role.role_key for role in row.roles.all() if not role.is_deleted))
                    or "–",
                ),
                ("It says", text(row.status_line)),
                ("Last seen", shown(row.last_seen_at)),
                ("Made", shown(row.created_at)),
            ],
            "holds": held_jobs().get(row.pk, []),
            "tokens": [self._token(request, token, now) for token in tokens_of(row.name)]
            if sees_tokens
            else None,
            "buttons": [{"label": label, "url": self.address(name, row.pk)} for label, name in buttons],
        }

    def _token(self, request: HttpRequest, token: AgentToken, now: Any) -> dict[str, Any]:
        state = token_state(token, now)
        tone, sign, word = _TOKEN_STATES[state]
        is_live = state == "active"
        return {
            "number": token.pk,
            "prefix": f"{token.prefix}…",
            "state": mark(tone, sign, word),
            "scopes": ", ".join(token.scopes),
            "is_granted": bool(set(token.scopes) & set(GRANTED_SCOPES)),
            "created": shown(token.created_at),
            "expires": shown(token.expires_at),
            "used": shown(token.last_used_at),
            "revoke": self.address("revoke", token.pk)
            if is_live and request.user.has_perm("agents.delete_agenttoken")
            else None,
            "rotate": self.address("rotate", token.pk)
            if is_live and request.user.has_perm("agents.add_agenttoken")
            else None,
        }

    # --- what can be done ---------------------------------------------------------------------------
    def deeds(self) -> list[tuple[str, Callable[..., HttpResponseBase], str]]:
        return [
            ("<int:agent_id>/edit/", self.edit_view, "edit"),
            ("<int:agent_id>/deactivate/", self.deactivate_view, "deactivate"),
            ("<int:agent_id>/activate/", self.activate_view, "activate"),
            ("<int:agent_id>/tokens/issue/", self.issue_view, "issue"),
            ("tokens/<int:token_id>/revoke/", self.revoke_view, "revoke"),
            ("tokens/<int:token_id>/rotate/", self.rotate_view, "rotate"),
        ]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        self.require(request, "add")

        def act(data: dict[str, Any]) -> HttpResponse:
            fields = RegisterInput.checked(data | {"tool_family": data["tool_family"] or None})
            agent, issued = register_agent(
                actor=acting_person(request),
                agent_label=fields.agent_label,
                role_keys=fields.roles,
                tool_family=fields.tool_family,
            )
            return self._shown_once(request, f"The agent {agent.name} was made", agent, issued)

        return self.deed(  # type: ignore[return-value]
            request, title="Add an agent", button="Add and show its token", form=AgentForm, act=act,
            back=self.address("changelist"),
        )  # fmt: skip

    def edit_view(self, request: HttpRequest, agent_id: int) -> HttpResponseBase:
        self.require(request, "change")
        agent = self._agent(request, agent_id)

        def act(data: dict[str, Any]) -> str:
            fields = AgentEditInput.checked(data | {"tool_family": data["tool_family"] or None})
            edit_agent(actor=acting_person(request), agent_name=agent.name, **fields.as_changes())
            return f"The agent {agent.name} was changed."

        return self.deed(
            request,
            title=f"Edit the agent {agent.name}",
            button="Save",
            form=AgentForm,
            initial={
                "agent_label": agent.agent_label,
                "tool_family": agent.tool_family or "",
                "roles": [role.role_key for role in agent.roles.all() if not role.is_deleted],
            },
            act=act,
            back=self.address("change", agent_id),
        )

    def deactivate_view(self, request: HttpRequest, agent_id: int) -> HttpResponseBase:
        self.require(request, "change")
        agent = self._agent(request, agent_id)
        held = held_jobs().get(agent.pk, [])

        def act(data: dict[str, Any]) -> str:
            _, returned = deactivate_agent(
                actor=acting_person(request), agent_name=agent.name, reason=data["reason"]
            )
            jobs = ", ".join(f"#{job_id}" for job_id in returned)
            return f"{agent.name} is deactivated." + (f" Back on the board: {jobs}." if jobs else "")

        goes_back = ", ".join(f"#{job_id}" for job_id in held)
        return self.deed(
            request,
            title=f"Deactivate the agent {agent.name}",
            button="Deactivate",
            form=ReasonForm,
            act=act,
            back=self.address("change", agent_id),
            warning="Its next call is refused, with every token it has. "
            + (f"The jobs that it holds go back to the board: {goes_back}." if held else "It holds no job."),
            harms=True,
        )

    def activate_view(self, request: HttpRequest, agent_id: int) -> HttpResponseBase:
        self.require(request, "change")
        agent = self._agent(request, agent_id)

        def act(data: dict[str, Any]) -> str:
            activate_agent(actor=acting_person(request), agent_name=agent.name, reason=data["reason"])
            return f"{agent.name} is let in again."

        return self.deed(
            request, title=f"Activate the agent {agent.name}", button="Activate", form=OptionalReasonForm, act=act,
            back=self.address("change", agent_id), warning="The tokens that it has work again.",
        )  # fmt: skip

    def issue_view(self, request: HttpRequest, agent_id: int) -> HttpResponseBase:
        self._require_of_tokens(request, "add")
        agent = self._agent(request, agent_id)

        def act(data: dict[str, Any]) -> HttpResponse:
            scopes = [*data["scopes"], *data["granted"]]
            fields = TokenInput.checked({"scopes": scopes, "expires_at": data["expires_at"]})
            issued = issue_token(
                actor=acting_person(request),
                agent_name=agent.name,
                scopes=fields.scopes or [],
                expires_at=fields.expires_at,
            )
            return self._shown_once(request, f"A token for {agent.name}", agent, issued)

        return self.deed(
            request, title=f"Issue a token to {agent.name}", button="Issue and show it", form=TokenForm, act=act,
            back=self.address("change", agent_id),
        )  # fmt: skip

    def revoke_view(self, request: HttpRequest, token_id: int) -> HttpResponseBase:
        self._require_of_tokens(request, "delete")
        token = self._live_token(token_id)

        def act(_: dict[str, Any]) -> str:
            revoke_token(actor=acting_person(request), token_id=token_id)
            return f"Token {token_id} of {token.agent.name} is revoked: its next call is refused."

        return self.deed(
            request, title=f"Revoke token {token.prefix}… of {token.agent.name}", button="Revoke", form=ConfirmForm,
            act=act, back=self.address("change", token.agent_id), harms=True,
            warning="Its next call is refused. This cannot be taken back; a new token can be issued.",
        )  # fmt: skip

    def rotate_view(self, request: HttpRequest, token_id: int) -> HttpResponseBase:
        self._require_of_tokens(request, "add")
        token = self._live_token(token_id)

        def act(data: dict[str, Any]) -> HttpResponse:
            fields = RotateInput.checked(data)
            issued = rotate_token(actor=acting_person(request), token_id=token_id, **fields.as_arguments())
            return self._shown_once(request, f"A new token for {token.agent.name}", token.agent, issued)

        return self.deed(
            request, title=f"Rotate token {token.prefix}… of {token.agent.name}", button="Rotate and show the new one",
            form=RotateForm, act=act, back=self.address("change", token.agent_id),
        )  # fmt: skip

    def _shown_once(
        self, request: HttpRequest, title: str, agent: Agent, issued: IssuedToken
    ) -> HttpResponse:
        """The answer to the POST itself shows the token: no session, message or address ever holds it."""
        response = self.render(
            request,
            "admin/agents/agent/token.html",
            title=title,
            agent=agent,
            secret=issued.secret,
            scopes=", ".join(issued.token.scopes),
            expires=shown(issued.token.expires_at),
            back=self.address("change", agent.pk),
        )
        response["Cache-Control"] = "no-store"
        return response

    def _require_of_tokens(self, request: HttpRequest, deed: str) -> None:
        needed = f"agents.{deed}_agenttoken"
        if not request.user.has_perm(needed):
            raise PermissionDenied(PermissionMissing(permission=needed).message)

    def _live_token(self, token_id: int) -> AgentToken:
        token = AgentToken.objects.select_related("agent").filter(pk=token_id).first()
        if token is None:
            raise Http404
        return token

    def _agent(self, request: HttpRequest, agent_id: int) -> Agent:
        agent: Agent = self.existing(request, agent_id)
        return agent


def _state(agent: Agent, now: Any) -> SafeString:
    if not agent.is_active:
        return mark("cancelled", "‖", "Deactivated")
    there = presence(agent.last_seen_at, now)
    return mark(there, {"online": "●", "idle": "◐", "offline": "○"}[there], there.title())
