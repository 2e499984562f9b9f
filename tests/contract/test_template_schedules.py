"""Scheduled templates, on both databases, with a test's clock: one session for each run."""

import asyncio
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from parley.events import SessionEvent
from parley.events.values import SessionSettings
from parley.protocol.templates import Parameter, Schedule, Template, TemplateStep
from parley.protocol.tools import ToolPage, ToolSpec
from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection import Projector
from services.plan_store.template_rows import templates
from services.plan_store.template_runner import TemplateRunner
from services.plan_store.templates import TemplateStore
from shared import store_api as api
from shared.bus import BusUnavailable
from shared.domain.session import Session
from shared.log import Indeterminate, LogUnavailable
from shared.templates.checks import fingerprints_of
from shared.testing import InMemoryLog, InMemoryStore, InMemoryTemplateLog, session_ids

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")

MORNING = datetime(2026, 6, 1, 7, tzinfo=UTC)
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
CANCEL = ToolSpec(name="cancel", description="", parameters=SCHEMA, effect="write")
TEMPLATE = Template(
    name="Cancel",
    goal="Cancel {{params.id}}",
    parameters=(Parameter(name="id", json_schema={"type": "string"}),),
    steps=(TemplateStep(id="s1", text="Cancel it", tool="cancel", arguments={"id": "{{params.id}}"}),),
)


class Executor:
    """Answers requests for the list of tools."""

    def __init__(self) -> None:
        self.tools: tuple[ToolSpec, ...] = (CANCEL,)
        self.down = False

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        assert subject == "tools.list"
        if self.down:
            raise BusUnavailable("no executor")
        return ToolPage(tools=self.tools, total=len(self.tools)).model_dump_json().encode()


class There:
    """A plan_store with a manual clock; `other` is a second one on the same log and database."""

    def __init__(self, log: InMemoryLog, library: InMemoryTemplateLog, database: ProjectionDatabase) -> None:
        self.now = MORNING - timedelta(hours=1)
        self.log, self.library, self.database, self.executor = log, library, database, Executor()
        self.templates = TemplateStore(library, database, lambda: self.now)
        self.keeper = self.beside()

    def beside(self) -> TemplateRunner:
        projector = Projector(self.log, self.database)
        return TemplateRunner(self.executor, self.log, self.database, projector, self.templates, now=lambda: self.now)

    async def scheduled(self, schedule: Schedule, template: Template = TEMPLATE) -> None:
        fingerprints = fingerprints_of(template, {"cancel": CANCEL})
        fields = {"user": "ann", "template_id": "t"}
        result = await self.templates.save(api.SaveTemplate(**fields, template=template, fingerprints=fingerprints))
        asked = api.ScheduleTemplate(user="ann", template_id="t", expected=result.version, schedule=schedule)
        await self.templates.schedule(asked)

    async def again(self, schedule: Schedule) -> None:
        expected = (await self.template()).version
        await self.templates.schedule(
            api.ScheduleTemplate(user="ann", template_id="t", expected=expected, schedule=schedule)
        )

    async def at(self, moment: datetime) -> None:
        self.now = moment
        await self.keeper.begin_due()

    async def template(self) -> api.TemplateRecord:
        return await self.templates.get(api.GetTemplate(user="ann", template_id="t"))

    async def sessions(self) -> list[list[SessionEvent]]:
        """The events of all sessions, in the order in which the sessions began."""
        items = [await InMemoryStore(self.log).events(action_id) for action_id in await session_ids(self.log)]
        return sorted(items, key=lambda events: events[0].at)

    async def session(self) -> Session:
        [session_id] = await session_ids(self.log)
        return (await InMemoryStore(self.log).load(session_id)).session


@pytest.fixture
def there(log: InMemoryLog, database: ProjectionDatabase) -> There:
    return There(log, InMemoryTemplateLog(), database)


DAILY = Schedule(daily=time(9), zone="Europe/Berlin", values={"id": "#W1"})


async def test_a_daily_schedule_begins_a_session_of_its_owner_whose_plan_waits(there: There) -> None:
    settings = SessionSettings(world="own")
    await there.scheduled(DAILY.model_copy(update={"settings": settings}))
    await there.at(MORNING - timedelta(seconds=1))
    assert await there.sessions() == []
    await there.at(MORNING + timedelta(seconds=3))
    [[started, edited]] = await there.sessions()
    assert (started.type, started.actor, started.needs) == ("message.received", "keeper", 2)
    fields = started.model_dump()
    assert (fields["owner"], fields["via"], fields["brings_plan"]) == ("ann", "template/t/2026-06-01T07:00:00Z", True)
    assert (edited.type, edited.actor) == ("plan.edited", "keeper")
    session = await there.session()
    assert (session.owner, session.phase, session.workflow) == ("ann", "awaiting_approval", "execution_plan")
    assert session.settings == settings
    assert session.plan
    assert (session.plan.goal, session.plan.steps[0].arguments, session.plan.steps[0].effect) == (
        "Cancel #W1",
        {"id": "#W1"},
        "write",
    )
    saved = await there.template()
    assert saved.last_run
    assert (saved.last_run.due, saved.last_run.session_id, saved.last_run.problem) == (MORNING, session.id, "")
    assert saved.next_run == MORNING + timedelta(days=1)
    await there.at(MORNING + timedelta(days=1))
    assert len(await there.sessions()) == 2


async def test_a_single_run_begins_one_session(there: There) -> None:
    await there.scheduled(Schedule(once=MORNING, values={"id": "#W1"}))
    for late in range(3):
        await there.at(MORNING + timedelta(minutes=late))
    assert len(await there.sessions()) == 1
    assert (await there.template()).next_run is None


async def test_two_keepers_begin_one_session(there: There) -> None:
    await there.scheduled(DAILY)
    there.now = MORNING
    await asyncio.gather(*(there.beside().begin_due() for _ in range(4)))
    assert [[event.version for event in events] for events in await there.sessions()] == [[1, 2]]


@pytest.mark.parametrize("appended", [0, 1, 2])
async def test_a_keeper_that_crashes_midway_is_recovered(there: There, appended: int) -> None:
    """It has appended this many events, and their results are unknown."""
    await there.scheduled(DAILY)
    there.now = MORNING
    before = await there.template()
    if appended == 2:
        await there.keeper.begin_due()
        async with there.database.begin() as tx:
            await tx.execute(update(templates).values(next_run=before.next_run))
    else:
        real, number = there.log.append, 0

        async def ends(event: SessionEvent, **how: Any) -> int:
            nonlocal number
            number += 1
            if number > appended:
                raise LogUnavailable("ended")
            return await real(event, **how)

        there.log.append = ends  # type: ignore[method-assign]
        with pytest.raises(LogUnavailable):
            await there.keeper.begin_due()
        there.log.append = real  # type: ignore[method-assign]
        assert len(there.log.messages) == appended
    there.keeper = there.beside()
    await there.at(MORNING + timedelta(minutes=1))
    assert [[event.type for event in events] for events in await there.sessions()] == [
        ["message.received", "plan.edited"]
    ]
    assert (await there.session()).phase == "awaiting_approval"


async def test_an_append_with_unknown_result_is_looked_up(there: There) -> None:
    await there.scheduled(DAILY)
    there.log.faults = [Indeterminate("stored"), Indeterminate("stored")]
    await there.at(MORNING)
    assert [[event.version for event in events] for events in await there.sessions()] == [[1, 2]]


async def test_rebuilt_rows_begin_no_run_again(there: There) -> None:
    """As after the loss of the database: the sessions' log shows which runs have begun."""
    await there.scheduled(DAILY)
    await there.at(MORNING)
    async with there.database.begin() as tx:
        await tx.exec_driver_sql("DELETE FROM templates")
    await there.at(MORNING + timedelta(hours=1))
    assert len(await there.sessions()) == 1
    assert (await there.template()).next_run == MORNING + timedelta(days=1)


async def test_a_missed_run_begins_once_and_not_after_a_day(there: There) -> None:
    await there.scheduled(DAILY)
    await there.at(MORNING + timedelta(days=3, hours=5))
    assert len(await there.sessions()) == 1
    saved = await there.template()
    assert saved.last_run
    assert (saved.last_run.due, saved.next_run) == (MORNING + timedelta(days=3), MORNING + timedelta(days=4))
    there.now = MORNING + timedelta(days=3, hours=6)
    await there.again(Schedule(once=MORNING + timedelta(days=4), values={"id": "#W1"}))
    await there.at(MORNING + timedelta(days=5, seconds=1))
    saved = await there.template()
    assert saved.last_run
    assert (saved.last_run.session_id, saved.last_run.problem) == (
        "",
        "Parley was not running then, nor for a day after.",
    )
    assert len(await there.sessions()) == 1


@pytest.mark.parametrize(
    ("tools", "values", "why"),
    [
        ((), {"id": "#W1"}, "there is no tool “cancel” here"),
        ((CANCEL.model_copy(update={"effect": "irreversible"}),), {"id": "#W1"}, "cancel has changed"),
        ((CANCEL,), {}, "id is missing"),
        ((CANCEL,), {"id": "{{steps.s1.output}}"}, "cannot contain a reference"),
    ],
)
async def test_a_template_that_gives_no_plan_is_reported_and_begins_nothing(
    there: There, tools: tuple[ToolSpec, ...], values: dict[str, Any], why: str
) -> None:
    await there.scheduled(DAILY.model_copy(update={"values": values}))
    there.executor.tools = tools
    await there.at(MORNING)
    assert await there.sessions() == []
    saved = await there.template()
    assert saved.last_run
    assert why in saved.last_run.problem
    assert saved.next_run == MORNING + timedelta(days=1)


async def test_a_run_waits_until_an_executor_answers(there: There) -> None:
    await there.scheduled(DAILY)
    there.executor.down = True
    with pytest.raises(BusUnavailable):
        await there.at(MORNING)
    there.executor.down = False
    await there.at(MORNING + timedelta(minutes=2))
    assert len(await there.sessions()) == 1


async def test_a_deleted_template_does_not_run(there: There) -> None:
    await there.scheduled(DAILY)
    await there.templates.delete(api.DeleteTemplate(user="ann", template_id="t"))
    await there.at(MORNING)
    assert await there.sessions() == []
