"""REST: plan templates: create, read, change, use and schedule. Each is visible to its owner only."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query
from pydantic import JsonValue
from starlette.responses import Response

from parley.events.values import SessionId, Step
from parley.protocol.execution_plans import ExecutionPlan
from parley.protocol.templates import CandidatePage, Template, TemplatePage, TemplateView
from services.gateway.access.users import User
from services.gateway.api_errors import ApiError
from services.gateway.messages import handlers
from services.gateway.messages.tools import Tools, tools_by_name
from services.gateway.ports import Core, query
from services.gateway.rest.flows import WAITING_RESPONSES
from services.gateway.rest.models import Limit, Offset
from services.gateway.rest.plan_tasks import CallerDep, current_task
from services.gateway.rest.requests import ERROR_RESPONSES, JsonRoute
from services.gateway.rest.sessions import readable_session, whole_journal
from services.gateway.rest.template_requests import (
    ChangedTemplate,
    Document,
    Format,
    FromPlan,
    FromSession,
    NewTemplate,
    Scheduled,
    TaskId,
    TemplateId,
    TemplateSource,
    Use,
    check_changeable,
    first_message,
    get_template,
    save,
    shipped_records,
    template_line,
    template_view,
    tools_or_none,
)
from services.gateway.state import CoreDep, UserDep
from shared import store_api as api
from shared.templates.documents import read_template, write_template
from shared.templates.from_session import steps_from_session
from shared.templates.from_steps import parameter_candidates, template_from_steps

MEDIA = {"json": "application/json", "yaml": "application/yaml"}
router = APIRouter(
    prefix="/api/templates", tags=["templates"], responses=ERROR_RESPONSES | WAITING_RESPONSES, route_class=JsonRoute
)


@router.get("")
async def listed(user: UserDep, core: CoreDep, limit: Limit = 50, offset: Offset = 0) -> TemplatePage:
    """My templates, newest first, and those that come with Parley."""
    request = api.ListTemplates(user=user.id, limit=limit, offset=offset)
    records = await query(core.store, api.TEMPLATE_LIST, request)
    tools = await tools_or_none(core)
    own = tuple(template_line(template_view(record, tools)) for record in records.items)
    shipped = tuple(template_line(template_view(record, tools)) for record in shipped_records().values())
    return TemplatePage(templates=own, total=records.total, shipped=shipped)


@router.post("", status_code=201)
async def create(body: NewTemplate, user: UserDep, core: CoreDep) -> TemplateView:
    """Create a template from values, or from a document in JSON or YAML."""
    return await save(await _read_document(body), handlers.session_id_for(user, body.id, core), user, core)


@router.post("/from-plan", status_code=201)
async def from_plan(body: FromPlan, user: UserDep, core: CoreDep) -> TemplateView:
    """Create a template from an execution plan, with the chosen values as parameters."""
    return await _create_from(await _calls_of_plan(body.task_id, user, core), body, user, core)


@router.get("/from-plan")
async def parameters_of_plan(task_id: TaskId, user: UserDep, core: CoreDep) -> CandidatePage:
    """The values of an execution plan that can become parameters of a template."""
    return _candidates(await _calls_of_plan(task_id, user, core))


@router.post("/from-session", status_code=201)
async def from_session(body: FromSession, user: UserDep, core: CoreDep) -> TemplateView:
    """Create a template from a session's finished calls; values that came from an earlier call become references."""
    chosen = [parameter.value for parameter in body.parameters]
    return await _create_from(await _calls_of_session(body.session_id, user, core, chosen), body, user, core)


@router.get("/from-session")
async def parameters_of_session(
    session_id: Annotated[SessionId, Query()], user: UserDep, core: CoreDep
) -> CandidatePage:
    """The values of a session's calls that can become parameters; values that came from an earlier call cannot."""
    return _candidates(await _calls_of_session(session_id, user, core))


@router.get("/{template_id}", response_model=TemplateView)
async def template(
    template_id: TemplateId, user: UserDep, core: CoreDep, form: Annotated[Format | None, Query(alias="format")] = None
) -> TemplateView | Response:
    """The template with its problems; with a `format`, only its document."""
    view = await get_template(template_id, user, core)
    if form is None:
        return view
    headers = {"Content-Disposition": f'attachment; filename="template.{form}"'}
    return Response(write_template(view.template, form), media_type=f"{MEDIA[form]}; charset=utf-8", headers=headers)


@router.put("/{template_id}")
async def change(template_id: TemplateId, body: ChangedTemplate, user: UserDep, core: CoreDep) -> TemplateView:
    """Save the next version. It is checked against the current tools."""
    template = await _read_document(body)
    return await save(template, check_changeable(template_id), user, core, expected=body.version)


@router.put("/{template_id}/schedule")
async def schedule(template_id: TemplateId, body: Scheduled, user: UserDep, core: CoreDep) -> TemplateView:
    """Run the template daily or once. Each run begins a session whose plan awaits my approval."""
    request = api.ScheduleTemplate(
        user=user.id,
        template_id=check_changeable(template_id),
        expected=body.version,
        schedule=body.schedule,
    )
    if body.schedule is not None:
        first_message(await get_template(template_id, user, core), body.schedule.values, None)
    record = await query(core.store, api.TEMPLATE_SCHEDULE, request)
    return template_view(record, await tools_by_name(core.bus))


@router.delete("/{template_id}")
async def delete(template_id: TemplateId, user: UserDep, core: CoreDep) -> api.TemplateDeletedReply:
    """Delete the template with all its versions. Sessions that used it stay."""
    request = api.DeleteTemplate(user=user.id, template_id=check_changeable(template_id))
    return await query(core.store, api.TEMPLATE_DELETE, request)


@router.post("/{template_id}/use", status_code=201)
async def use(template_id: TemplateId, body: Use, caller: CallerDep) -> ExecutionPlan:
    """Begin a session with the template's plan to approve, or with a request and the template as a hint."""
    template = await get_template(template_id, caller.user, caller.core)
    message = first_message(template, body.values, body.request)
    return await caller.begin(message.model_copy(update={"settings": body.settings}), body)


class Calls(NamedTuple):
    """Calls that can become a template, what they were for, and the tools that are available."""

    goal: str
    steps: Sequence[Step]
    tools: Tools


async def _calls_of_plan(task_id: str, user: User, core: Core) -> Calls:
    """Raises ApiError."""
    plan = (await current_task(task_id, user, core)).plan
    if plan is None:
        raise ApiError("not_now", "There is no version of this plan yet.", "Wait until it is drafted.")
    return Calls(plan.goal, plan.steps, await tools_by_name(core.bus))


async def _calls_of_session(session_id: str, user: User, core: Core, chosen: Sequence[JsonValue] = ()) -> Calls:
    """`chosen` values do not become references. Raises ApiError, Invalid."""
    session = await readable_session(core, session_id, user)
    events, tools = await whole_journal(core, session), await tools_by_name(core.bus)
    steps = await asyncio.to_thread(steps_from_session, events, tools, chosen)
    return Calls(session.title or "Do it again", steps, tools)


async def _create_from(calls: Calls, body: TemplateSource, user: User, core: Core) -> TemplateView:
    """Raises ApiError, Invalid."""
    choices = {"name": body.name, "description": body.description}
    template = template_from_steps(calls.goal[:500], calls.steps, calls.tools, **choices, parameters=body.parameters)
    return await save(template, handlers.session_id_for(user, body.id, core), user, core)


def _candidates(calls: Calls) -> CandidatePage:
    return CandidatePage(name=calls.goal[:200], values=parameter_candidates(calls.steps, calls.tools))


async def _read_document(body: Document) -> Template:
    """Raises ApiError, Invalid."""
    if (body.template is None) == (body.document is None):
        raise ApiError("invalid", "Give either a `template`, or a `document` that holds one.")
    if body.template is not None:
        return body.template
    return await asyncio.to_thread(read_template, body.document or "", body.format)
