"""Templates that are run by schedule, on both databases, with the clock of a test: one session a time."""

import asyncio
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from parley.events import SessionEvent
from parley.events.values import SessionSettings
from parley.protocol.templates import Parameter, Schedule, Template, TemplateStep
from parley.protocol.tools import ToolPage, ToolSpec
from services.plan_store.database import Database
from services.plan_store.projection import Projector
from services.plan_store.schedules import Schedules
from services.plan_store.template_rows import templates
from services.plan_store.templates import Templates
from shared import store_api as api
from shared.bus import BusDown
from shared.domain.session import Session
from shared.log import Indeterminate, LogDown
from shared.templates.checks import fingerprints_of
from shared.testing import InMemoryLibrary, InMemoryLog, InMemoryStore, session_ids

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
    """Answers which tools there are."""

    def __init__(self) -> None:
        self.tools: tuple[ToolSpec, ...] = (CANCEL,)
        self.down = False

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        assert subject == "tools.list"
        if self.down:
            raise BusDown("no executor")
        return ToolPage(tools=self.tools, total=len(self.tools)).model_dump_json().encode()


class There:
    """A plan_store whose clock is turned by hand; `other` is one beside it, on the same log and database."""

    def __init__(self, log: InMemoryLog, library: InMemoryLibrary, database: Database) -> None:
        self.now = MORNING - timedelta(hours=1)
        self.log, self.library, self.database, self.executor = log, library, database, Executor()
        self.templates = Templates(library, database, lambda: self.now)
        self.keeper = self.beside()

    def beside(self) -> Schedules:
        projector = Projector(self.log, self.database)
        return Schedules(self.executor, self.log, self.database, projector, self.templates, now=lambda: self.now)

    async def scheduled(self, schedule: Schedule, template: Template = TEMPLATE) -> None:
        fingerprints = fingerprints_of(template, {"cancel": CANCEL})
        told = {"user": "ann", "template_id": "t"}
        made = await self.templates.save(api.SaveTemplate(**told, template=template, fingerprints=fingerprints))
        asked = api.ScheduleTemplate(user="ann", template_id="t", expected=made.version, schedule=schedule)
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
        """Their events, in the order in which they were begun."""
        found = [await InMemoryStore(self.log).events(one) for one in await session_ids(self.log)]
        return sorted(found, key=lambda events: events[0].at)

    async def session(self) -> Session:
        [session_id] = await session_ids(self.log)
        return (await InMemoryStore(self.log).load(session_id)).session


@pytest.fixture
def there(log: InMemoryLog, database: Database) -> There:
    return There(log, InMemoryLibrary(), database)


DAILY = Schedule(daily=time(9), zone="Europe/Berlin", values={"id": "#W1"})


async def test_a_daily_one_begins_a_session_of_its_owner_whose_plan_waits(there: There) -> None:
    settings = SessionSettings(world="own")
    await there.scheduled(DAILY.model_copy(update={"settings": settings}))
    await there.at(MORNING - timedelta(seconds=1))
    assert await there.sessions() == []
    await there.at(MORNING + timedelta(seconds=3))
    [[begun, edited]] = await there.sessions()
    assert (begun.type, begun.actor, begun.needs) == ("message.received", "keeper", 2)
    told = begun.model_dump()
    assert (told["owner"], told["via"], told["brings_plan"]) == ("ann", "template/t/2026-06-01T07:00:00Z", True)
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
    kept = await there.template()
    assert kept.last_run
    assert (kept.last_run.due, kept.last_run.session_id, kept.last_run.problem) == (MORNING, session.id, "")
    assert kept.next_run == MORNING + timedelta(days=1)
    await there.at(MORNING + timedelta(days=1))
    assert len(await there.sessions()) == 2


async def test_once_is_once(there: There) -> None:
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
async def test_a_keeper_that_ends_in_between_is_made_up_for(there: There, appended: int) -> None:
    """It has appended so many events, and told nobody that it has."""
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
                raise LogDown("ended")
            return await real(event, **how)

        there.log.append = ends  # type: ignore[method-assign]
        with pytest.raises(LogDown):
            await there.keeper.begin_due()
        there.log.append = real  # type: ignore[method-assign]
        assert len(there.log.messages) == appended
    there.keeper = there.beside()
    await there.at(MORNING + timedelta(minutes=1))
    assert [[event.type for event in events] for events in await there.sessions()] == [
        ["message.received", "plan.edited"]
    ]
    assert (await there.session()).phase == "awaiting_approval"


async def test_an_append_of_which_nobody_knows_is_looked_up(there: There) -> None:
    await there.scheduled(DAILY)
    there.log.faults = [Indeterminate("stored"), Indeterminate("stored")]
    await there.at(MORNING)
    assert [[event.version for event in events] for events in await there.sessions()] == [[1, 2]]


async def test_rows_that_are_made_again_begin_nothing_again(there: There) -> None:
    """As after the loss of the database: which times were begun is in the sessions' log."""
    await there.scheduled(DAILY)
    await there.at(MORNING)
    async with there.database.begin() as tx:
        await tx.exec_driver_sql("DELETE FROM templates")
    await there.at(MORNING + timedelta(hours=1))
    assert len(await there.sessions()) == 1
    assert (await there.template()).next_run == MORNING + timedelta(days=1)


async def test_what_was_missed_is_begun_once_and_not_after_a_day(there: There) -> None:
    await there.scheduled(DAILY)
    await there.at(MORNING + timedelta(days=3, hours=5))
    assert len(await there.sessions()) == 1
    kept = await there.template()
    assert kept.last_run
    assert (kept.last_run.due, kept.next_run) == (MORNING + timedelta(days=3), MORNING + timedelta(days=4))
    there.now = MORNING + timedelta(days=3, hours=6)
    await there.again(Schedule(once=MORNING + timedelta(days=4), values={"id": "#W1"}))
    await there.at(MORNING + timedelta(days=5, seconds=1))
    kept = await there.template()
    assert kept.last_run
    assert (kept.last_run.session_id, kept.last_run.problem) == (
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
        ((CANCEL,), {"id": "{{steps.s1.output}}"}, "no reference may stand in it"),
    ],
)
async def test_what_cannot_be_a_plan_is_told_and_begins_nothing(
    there: There, tools: tuple[ToolSpec, ...], values: dict[str, Any], why: str
) -> None:
    await there.scheduled(DAILY.model_copy(update={"values": values}))
    there.executor.tools = tools
    await there.at(MORNING)
    assert await there.sessions() == []
    kept = await there.template()
    assert kept.last_run
    assert why in kept.last_run.problem
    assert kept.next_run == MORNING + timedelta(days=1)


async def test_while_no_executor_answers_it_waits(there: There) -> None:
    await there.scheduled(DAILY)
    there.executor.down = True
    with pytest.raises(BusDown):
        await there.at(MORNING)
    there.executor.down = False
    await there.at(MORNING + timedelta(minutes=2))
    assert len(await there.sessions()) == 1


async def test_a_deleted_one_is_not_run(there: There) -> None:
    await there.scheduled(DAILY)
    await there.templates.delete(api.DeleteTemplate(user="ann", template_id="t"))
    await there.at(MORNING)
    assert await there.sessions() == []
