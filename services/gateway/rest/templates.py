"""REST: templates of plans: made, read, changed, used, and run by schedule. Each is its owner's alone."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from parley.events.values import SessionId
from parley.protocol.execution_plans import ExecutionPlan
from parley.protocol.templates import CandidatePage, Template, TemplatePage, TemplateView
from services.gateway import handlers, templates
from services.gateway.access.users import User
from services.gateway.ports import Core, query
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.execution_plan_caller import Calling
from services.gateway.rest.execution_plan_tasks import task
from services.gateway.rest.flow_requests import REFUSALS as WAITING
from services.gateway.rest.parameters import Limit, Offset
from services.gateway.rest.refusals import REFUSALS
from services.gateway.rest.sessions import readable
from services.gateway.rest.template_models import (
    ChangedTemplate,
    Document,
    Format,
    FromPlan,
    FromSession,
    NewTemplate,
    Scheduled,
    TaskId,
    TemplateId,
    Use,
)
from services.gateway.state import Behind, Me
from services.gateway.tools import tools_by_name
from services.gateway.trouble import Trouble
from shared import store_api as api
from shared.domain.session import Session
from shared.domain.state import Plan
from shared.templates.documents import read_template, written
from shared.templates.learning import learned, learned_steps
from shared.templates.making import Wanted, candidates, made_from
from shared.templates.shipped import shipped

MEDIA = {"json": "application/json", "yaml": "application/yaml"}
router = APIRouter(prefix="/api/templates", tags=["templates"], responses=REFUSALS | WAITING, route_class=JsonRoute)


@router.get("")
async def listed(user: Me, core: Behind, limit: Limit = 50, offset: Offset = 0) -> TemplatePage:
    """My templates, newest first, and those that come with Parley."""
    wanted = api.ListTemplates(user=user.id, limit=limit, offset=offset)
    records = await query(core.store, api.TEMPLATE_LIST, wanted)
    tools = await templates.tools_or_none(core)
    mine = tuple(templates.line(templates.view(one, tools)) for one in records.items)
    theirs = (templates.shipped_view(name, one, tools) for name, one in shipped().items())
    return TemplatePage(templates=mine, total=records.total, shipped=tuple(map(templates.line, theirs)))


@router.post("", status_code=201)
async def create(new: NewTemplate, user: Me, core: Behind) -> TemplateView:
    """A template of my own, as values or as a document in JSON or YAML."""
    return await templates.save(await _read(new), handlers.session_id_for(user, new.id, core), user, core)


@router.post("/from-plan", status_code=201)
async def from_plan(asked: FromPlan, user: Me, core: Behind) -> TemplateView:
    """An execution plan as a template, with the values that I choose as its parameters."""
    plan = await _plan(asked.task_id, user, core)
    wanted = Wanted(asked.name, asked.description, asked.parameters)
    made = made_from(plan.goal[:500], plan.steps, wanted, await tools_by_name(core.bus))
    return await templates.save(made, handlers.session_id_for(user, asked.id, core), user, core)


@router.get("/from-plan")
async def parameters_of_plan(task_id: TaskId, user: Me, core: Behind) -> CandidatePage:
    """The values of an execution plan that can become parameters of a template."""
    plan = await _plan(task_id, user, core)
    return CandidatePage(name=plan.goal[:200], values=candidates(plan.steps, await tools_by_name(core.bus)))


@router.post("/from-session", status_code=201)
async def from_session(asked: FromSession, user: Me, core: Behind) -> TemplateView:
    """A plan learned from what a session did: its finished calls; what came from an earlier one refers to it."""
    session = await readable(core, asked.session_id, user)
    wanted = Wanted(asked.name, asked.description, asked.parameters)
    events, tools = await templates.journal(session.id, core), await tools_by_name(core.bus)
    made = await asyncio.to_thread(learned, events, _title(session), wanted, tools)
    return await templates.save(made, handlers.session_id_for(user, asked.id, core), user, core)


@router.get("/from-session")
async def parameters_of_session(session_id: Annotated[SessionId, Query()], user: Me, core: Behind) -> CandidatePage:
    """The values of what a session did that can become parameters; what came from an earlier call is none."""
    session = await readable(core, session_id, user)
    events, tools = await templates.journal(session.id, core), await tools_by_name(core.bus)
    steps = await asyncio.to_thread(learned_steps, events, tools)
    return CandidatePage(name=_title(session)[:200], values=candidates(steps, tools))


@router.get("/{template_id}", response_model=TemplateView)
async def template(
    template_id: TemplateId, user: Me, core: Behind, form: Annotated[Format | None, Query(alias="format")] = None
) -> TemplateView | Response:
    """The template with what is wrong with it; with a `format` the document alone, for others and for later."""
    found = await templates.found(template_id, user, core)
    if form is None:
        return found
    headers = {"Content-Disposition": f'attachment; filename="template.{form}"'}
    return Response(written(found.template, form), media_type=f"{MEDIA[form]}; charset=utf-8", headers=headers)


@router.put("/{template_id}")
async def change(template_id: TemplateId, new: ChangedTemplate, user: Me, core: Behind) -> TemplateView:
    """The next version. Saved again, it is held against the tools as they are now."""
    made = await _read(new)
    return await templates.save(made, templates.own(template_id), user, core, expected=new.version)


@router.put("/{template_id}/schedule")
async def schedule(template_id: TemplateId, asked: Scheduled, user: Me, core: Behind) -> TemplateView:
    """Run it each day, or once; each run begins a session whose plan waits for my approval."""
    wanted = api.ScheduleTemplate(
        user=user.id, template_id=templates.own(template_id), expected=asked.version, schedule=asked.schedule
    )
    if asked.schedule is not None:
        templates.begins(await templates.found(template_id, user, core), asked.schedule.values, None)
    record = await query(core.store, api.TEMPLATE_SCHEDULE, wanted)
    return templates.view(record, await tools_by_name(core.bus))


@router.delete("/{template_id}")
async def delete(template_id: TemplateId, user: Me, core: Behind) -> api.TemplateGone:
    """Delete it with all its versions; the sessions that were begun with it stay."""
    wanted = api.DeleteTemplate(user=user.id, template_id=templates.own(template_id))
    return await query(core.store, api.TEMPLATE_DELETE, wanted)


@router.post("/{template_id}/use", status_code=201)
async def use(template_id: TemplateId, asked: Use, me: Calling) -> ExecutionPlan:
    """Begin a session with its plan, filled in, for me to approve; or with a request, and the template as a hint."""
    found = await templates.found(template_id, me.user, me.core)
    message = templates.begins(found, asked.values, asked.request)
    return await me.does(message.model_copy(update={"settings": asked.settings}), me.new(asked), asked)


def _title(session: Session) -> str:
    return session.title or "Do it again"


async def _plan(task_id: str, user: User, core: Core) -> Plan:
    """Raises Trouble."""
    plan = (await task(task_id, user, core)).plan
    if plan is None:
        raise Trouble("not_now", "There is no version of this plan yet.", "Wait until it is drafted.")
    return plan


async def _read(new: Document) -> Template:
    """Raises Trouble, Invalid."""
    if (new.template is None) == (new.document is None):
        raise Trouble("invalid", "Give either a `template`, or a `document` that holds one.")
    if new.template is not None:
        return new.template
    return await asyncio.to_thread(read_template, new.document or "", new.format)
