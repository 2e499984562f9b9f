"""Templates as a gateway tells of them: held against the tools there are, made from plans and sessions."""

from collections.abc import Mapping

from parley.events import SessionEvent
from parley.events.values import Knowledge
from parley.protocol import client as m
from parley.protocol.templates import Template, TemplateLine, TemplateStatus, TemplateView
from services.gateway.access.users import User
from services.gateway.ports import Core, query
from services.gateway.tools import Tools, tools_by_name
from services.gateway.trouble import Trouble
from shared import store_api as api
from shared.domain.errors import Invalid
from shared.templates.checks import fingerprints_of, form_problems, template_problems, values_schema
from shared.templates.documents import written
from shared.templates.filling import filled
from shared.templates.shipped import shipped

WORKFLOW = "execution_plan"
HINT = 50_000  # characters of knowledge


async def save(template: Template, template_id: str, user: User, core: Core, *, expected: int = 0) -> TemplateView:
    """Store the template; one whose tools are gone is a draft. Raises Trouble, Invalid."""
    if wrong := form_problems(template):
        raise Invalid(" ".join(wrong))
    tools = await tools_by_name(core.bus)
    wanted = api.SaveTemplate(
        user=user.id,
        template_id=template_id,
        expected=expected,
        template=template,
        fingerprints=fingerprints_of(template, tools),
    )
    return view(await query(core.store, api.TEMPLATE_SAVE, wanted), tools)


async def found(template_id: str, user: User, core: Core) -> TemplateView:
    """One of the user's, or one that comes with Parley. Raises Trouble."""
    if (template := shipped().get(template_id)) is not None:
        return shipped_view(template_id, template, await tools_or_none(core))
    record = await query(core.store, api.TEMPLATE_GET, api.GetTemplate(user=user.id, template_id=template_id))
    return view(record, await tools_or_none(core))


def own(template_id: str) -> str:
    """Raises Trouble for one that nobody can change."""
    if template_id in shipped():
        raise Trouble(
            "not_now", "This template comes with Parley and stays as it is.", "Make a copy: post it as yours."
        )
    return template_id


async def tools_or_none(core: Core) -> Tools | None:
    """To read a template needs no executor."""
    try:
        return await tools_by_name(core.bus)
    except Trouble as trouble:
        if trouble.code != "unavailable":
            raise
        return None


def _status(problems: tuple[str, ...], tools: Tools | None) -> TemplateStatus:
    return "unchecked" if tools is None else "draft" if problems else "ready"


def view(record: api.TemplateRecord, tools: Tools | None) -> TemplateView:
    problems = () if tools is None else template_problems(record.template, tools, record.fingerprints)
    return TemplateView(
        id=record.id,
        version=record.version,
        template=record.template,
        form=values_schema(record.template),
        status=_status(problems, tools),
        problems=problems,
        schedule=record.schedule,
        next_run=record.next_run,
        last_run=record.last_run,
        updated_at=record.at,
    )


def shipped_view(template_id: str, template: Template, tools: Tools | None) -> TemplateView:
    problems = () if tools is None else template_problems(template, tools)
    status = _status(problems, tools)
    return TemplateView(
        id=template_id,
        version=1,
        template=template,
        form=values_schema(template),
        status=status,
        problems=problems,
        shipped=True,
    )


def line(found: TemplateView) -> TemplateLine:
    template = found.template
    return TemplateLine(
        id=found.id,
        version=found.version,
        name=template.name,
        description=template.description,
        steps=len(template.steps),
        parameters=tuple(one.name for one in template.parameters),
        status=found.status,
        shipped=found.shipped,
        next_run=found.next_run,
        updated_at=found.updated_at,
    )


def begins(template: TemplateView, values: Mapping[str, object], request: str | None) -> m.UserMessage:
    """The message that begins a session with it: with its plan, or for a planner who is told of it. Raises Invalid."""
    if request is not None:
        known = Knowledge(
            name=f"Template: {template.template.name}"[:500], text=written(template.template, "yaml")[:HINT]
        )
        return m.UserMessage(type="user_message", content=request, workflow=WORKFLOW, knowledge=(known,))
    if template.status == "unchecked":
        raise Trouble(
            "unavailable", "The executor, which has the tools, does not answer.", "Try again in a few seconds."
        )
    if template.problems:
        raise Invalid(f"The template is a draft: {' '.join(template.problems)}")
    plan = filled(template.template, values)  # type: ignore[arg-type]
    return m.UserMessage(type="user_message", content=plan.goal or "", workflow=WORKFLOW, plan=plan)


async def journal(session_id: str, core: Core) -> list[SessionEvent]:
    """All events of the session, in order."""
    events: list[SessionEvent] = []
    while True:
        after = events[-1].version if events else 0
        page = await query(
            core.store, api.JOURNAL_READ, api.ReadJournal(session_id=session_id, after=after, limit=1000)
        )
        events += page.events
        if not page.events or events[-1].version >= page.version:
            return events
