"""Templates: request models; saved, checked against the available tools, and used to start sessions."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from parley.events.values import Knowledge, SessionId, Text
from parley.protocol import client as m
from parley.protocol.bounds import Arguments, Settings
from parley.protocol.execution_plans import TASK_ID
from parley.protocol.templates import (
    TEMPLATE_ID,
    ChosenValue,
    SentSchedule,
    SentTemplate,
    Template,
    TemplateLine,
    TemplateView,
)
from services.gateway.access.users import User
from services.gateway.api_errors import ApiError
from services.gateway.messages.tools import Tools, tools_by_name
from services.gateway.ports import Core, query
from services.gateway.rest.plan_tasks import TaskRequest, Version
from shared import store_api as api
from shared.domain.kernel.errors import Invalid
from shared.templates.checks import (
    fill_template,
    fingerprints_of,
    template_form_problems,
    template_problems,
    values_schema,
)
from shared.templates.documents import write_template
from shared.templates.shipped import shipped_templates

TemplateId = Annotated[str, Path(pattern=TEMPLATE_ID)]
Format = Literal["json", "yaml"]
TaskId = Annotated[str, Field(pattern=TASK_ID)]
WORKFLOW = "execution_plan"
MAX_KNOWLEDGE_CHARS = 50_000  # of a template given to the planner


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Document(_Body):
    """Either a `template`, or a `document` in `format` that contains one."""

    template: SentTemplate | None = None
    document: Annotated[str, Field(max_length=250_000)] | None = None
    format: Format = "yaml"


class NewTemplate(Document):
    """`id` is your own id of this request: sent twice, it is carried out once."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None


class ChangedTemplate(Document):
    """`version`: the one that the change is based on."""

    version: Version


class TemplateSource(_Body):
    """`parameters`: values of the plan that become parameters, wherever they occur. `name` defaults to the goal."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    name: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=2_000)] = ""
    parameters: Annotated[tuple[ChosenValue, ...], Field(max_length=50)] = ()


class FromPlan(TemplateSource):
    """A template from the newest version of an execution plan, drafted or executed."""

    task_id: TaskId


class FromSession(TemplateSource):
    """A template from a session's finished calls, in order."""

    session_id: SessionId


class Scheduled(_Body):
    """Without a `schedule` the template does not run by itself."""

    version: Version
    schedule: SentSchedule | None = None


class Use(TaskRequest):
    """`values` of the parameters. With a `request`, the planner makes the plan, with the template as a hint."""

    values: Arguments = Field(default_factory=dict)
    settings: Settings | None = None
    request: Text | None = None


async def save(template: Template, template_id: str, user: User, core: Core, *, expected: int = 0) -> TemplateView:
    """Store the template. It is a draft if its tools no longer exist. Raises ApiError, Invalid."""
    if problems := template_form_problems(template):
        raise Invalid(" ".join(problems))
    tools = await tools_by_name(core.bus)
    request = api.SaveTemplate(
        user=user.id,
        template_id=template_id,
        expected=expected,
        template=template,
        fingerprints=fingerprints_of(template, tools),
    )
    return template_view(await query(core.store, api.TEMPLATE_SAVE, request), tools)


@cache
def shipped_records() -> dict[str, api.TemplateRecord]:
    """The templates that come with Parley, by id."""
    return {name: api.TemplateRecord(id=name, version=1, template=item) for name, item in shipped_templates().items()}


async def get_template(template_id: str, user: User, core: Core) -> TemplateView:
    """A template of the user, or one that comes with Parley. Raises ApiError."""
    record = shipped_records().get(template_id) or await query(
        core.store, api.TEMPLATE_GET, api.TemplateRequest(user=user.id, template_id=template_id)
    )
    return template_view(record, await tools_or_none(core))


def check_changeable(template_id: str) -> str:
    """The id. Raises ApiError for a template that comes with Parley, which cannot be changed."""
    if template_id in shipped_records():
        raise ApiError(
            "not_now", "This template comes with Parley and stays as it is.", "Make a copy: post it as yours."
        )
    return template_id


async def tools_or_none(core: Core) -> Tools | None:
    """All tools; None while no executor answers, as reading a template does not need one."""
    try:
        return await tools_by_name(core.bus)
    except ApiError as error:
        if error.code != "unavailable":
            raise
        return None


def template_view(record: api.TemplateRecord, tools: Tools | None) -> TemplateView:
    problems = () if tools is None else template_problems(record.template, tools, record.fingerprints)
    return TemplateView(
        id=record.id,
        version=record.version,
        template=record.template,
        form=values_schema(record.template),
        status="unchecked" if tools is None else "draft" if problems else "ready",
        problems=problems,
        schedule=record.schedule,
        next_run=record.next_run,
        last_run=record.last_run,
        shipped=record.id in shipped_records(),
        updated_at=record.at,
    )


def template_line(view: TemplateView) -> TemplateLine:
    template = view.template
    return TemplateLine(
        **{name: value for name, value in view if name in TemplateLine.model_fields},
        name=template.name,
        description=template.description,
        steps=len(template.steps),
        parameters=tuple(parameter.name for parameter in template.parameters),
    )


def first_message(template: TemplateView, values: Mapping[str, object], request: str | None) -> m.UserMessage:
    """The first message of a session: with the template's plan, or a request with the template as knowledge.

    Raises ApiError, Invalid.
    """
    if request is not None:
        knowledge = Knowledge(
            name=f"Template: {template.template.name}"[:500],
            text=write_template(template.template, "yaml")[:MAX_KNOWLEDGE_CHARS],
        )
        return m.UserMessage(type="user_message", content=request, workflow=WORKFLOW, knowledge=(knowledge,))
    if template.status == "unchecked":
        raise ApiError(
            "unavailable", "The executor, which has the tools, does not answer.", "Try again in a few seconds."
        )
    if template.problems:
        raise Invalid(f"The template is a draft: {' '.join(template.problems)}")
    plan = fill_template(template.template, values)  # type: ignore[arg-type]
    return m.UserMessage(type="user_message", content=plan.goal or "", workflow=WORKFLOW, plan=plan)
