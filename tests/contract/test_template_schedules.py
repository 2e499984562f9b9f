"""Scheduled templates begin one session for each run, on SQLite and PostgreSQL, with a manual clock."""

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
from services.plan_store.projection.projector import Projector
from services.plan_store.scheduler.template_runner import TemplateRunner
from services.plan_store.scheduler.templates import TemplateStore, templates
from shared import store_api as api
from shared.bus import BusUnavailable
from shared.domain.kernel.session import Session
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


class ScheduledStore:
    """A plan_store with a manual clock and one template."""

    def __init__(self, log: InMemoryLog, library: InMemoryTemplateLog, database: ProjectionDatabase) -> None:
        self.now = MORNING - timedelta(hours=1)
        self.log, self.library, self.database, self.executor = log, library, database, Executor()
        self.templates = TemplateStore(library, database, lambda: self.now)
        self.runner = self.new_runner()

    def new_runner(self) -> TemplateRunner:
        """Another replica's runner, on the same log and database."""
        projector = Projector(self.log, self.database)
        return TemplateRunner(self.executor, self.log, self.database, projector, self.templates, now=lambda: self.now)

    async def save_and_schedule(self, schedule: Schedule, template: Template = TEMPLATE) -> None:
        fingerprints = fingerprints_of(template, {"cancel": CANCEL})
        fields = {"user": "ann", "template_id": "t"}
        result = await self.templates.save(api.SaveTemplate(**fields, template=template, fingerprints=fingerprints))
        request = api.ScheduleTemplate(user="ann", template_id="t", expected=result.version, schedule=schedule)
        await self.templates.schedule(request)

    async def reschedule(self, schedule: Schedule) -> None:
        expected = (await self.template()).version
        await self.templates.schedule(
            api.ScheduleTemplate(user="ann", template_id="t", expected=expected, schedule=schedule)
        )

    async def run_at(self, moment: datetime) -> None:
        """Set the clock, and begin the runs that are due."""
        self.now = moment
        await self.runner.begin_due()

    async def template(self) -> api.TemplateRecord:
        return await self.templates.get(api.TemplateRequest(user="ann", template_id="t"))

    async def sessions(self) -> list[list[SessionEvent]]:
        """The events of all sessions, in the order in which the sessions began."""
        sessions = [await InMemoryStore(self.log).events(session_id) for session_id in await session_ids(self.log)]
        return sorted(sessions, key=lambda events: events[0].at)

    async def session(self) -> Session:
        [session_id] = await session_ids(self.log)
        return (await InMemoryStore(self.log).load(session_id)).session


@pytest.fixture
def store(log: InMemoryLog, database: ProjectionDatabase) -> ScheduledStore:
    return ScheduledStore(log, InMemoryTemplateLog(), database)


DAILY = Schedule(daily=time(9), zone="Europe/Berlin", values={"id": "#W1"})


async def test_a_daily_schedule_begins_a_session_with_a_plan_in_review(store: ScheduledStore) -> None:
    settings = SessionSettings(world="own")
    await store.save_and_schedule(DAILY.model_copy(update={"settings": settings}))
    await store.run_at(MORNING - timedelta(seconds=1))
    assert await store.sessions() == []
    await store.run_at(MORNING + timedelta(seconds=3))
    [[started, edited]] = await store.sessions()
    assert (started.type, started.actor) == ("message.received", "keeper")
    fields = started.model_dump()
    assert (fields["owner"], fields["via"], fields["brings_plan"]) == ("ann", "template/t/2026-06-01T07:00:00Z", True)
    assert (edited.type, edited.actor) == ("plan.edited", "keeper")
    session = await store.session()
    assert (session.owner, session.phase, session.workflow) == ("ann", "awaiting_approval", "execution_plan")
    assert session.settings == settings
    assert session.plan
    assert (session.plan.goal, session.plan.steps[0].arguments, session.plan.steps[0].effect) == (
        "Cancel #W1",
        {"id": "#W1"},
        "write",
    )
    saved = await store.template()
    assert saved.last_run
    assert (saved.last_run.due, saved.last_run.session_id, saved.last_run.problem) == (MORNING, session.id, "")
    assert saved.next_run == MORNING + timedelta(days=1)
    await store.run_at(MORNING + timedelta(days=1))
    assert len(await store.sessions()) == 2


async def test_a_single_run_begins_one_session(store: ScheduledStore) -> None:
    await store.save_and_schedule(Schedule(once=MORNING, values={"id": "#W1"}))
    for late in range(3):
        await store.run_at(MORNING + timedelta(minutes=late))
    assert len(await store.sessions()) == 1
    assert (await store.template()).next_run is None


async def test_concurrent_runners_begin_one_session(store: ScheduledStore) -> None:
    await store.save_and_schedule(DAILY)
    store.now = MORNING
    await asyncio.gather(*(store.new_runner().begin_due() for _ in range(4)))
    assert [[event.version for event in events] for events in await store.sessions()] == [[1, 2]]


@pytest.mark.parametrize("appended", [0, 1, 2])
async def test_another_runner_completes_an_interrupted_run(store: ScheduledStore, appended: int) -> None:
    """The first runner ends after it has appended so many events of the run."""
    await store.save_and_schedule(DAILY)
    store.now = MORNING
    before = await store.template()
    if appended == 2:
        await store.runner.begin_due()
        async with store.database.begin() as tx:
            await tx.execute(update(templates).values(next_run=before.next_run))
    else:
        append, number = store.log.append, 0

        async def fail_after_appended(event: SessionEvent, **options: Any) -> int:
            nonlocal number
            number += 1
            if number > appended:
                raise LogUnavailable("ended")
            return await append(event, **options)

        store.log.append = fail_after_appended  # type: ignore[method-assign]
        with pytest.raises(LogUnavailable):
            await store.runner.begin_due()
        store.log.append = append  # type: ignore[method-assign]
        assert len(store.log.messages) == appended
    store.runner = store.new_runner()
    await store.run_at(MORNING + timedelta(minutes=1))
    assert [[event.type for event in events] for events in await store.sessions()] == [
        ["message.received", "plan.edited"]
    ]
    assert (await store.session()).phase == "awaiting_approval"


async def test_an_append_with_an_unknown_result_is_not_repeated(store: ScheduledStore) -> None:
    await store.save_and_schedule(DAILY)
    store.log.faults = [Indeterminate("stored"), Indeterminate("stored")]
    await store.run_at(MORNING)
    assert [[event.version for event in events] for events in await store.sessions()] == [[1, 2]]


async def test_rebuilt_rows_do_not_repeat_a_run(store: ScheduledStore) -> None:
    """After the loss of the database, the session log still shows which runs have begun."""
    await store.save_and_schedule(DAILY)
    await store.run_at(MORNING)
    async with store.database.begin() as tx:
        await tx.exec_driver_sql("DELETE FROM templates")
    await store.run_at(MORNING + timedelta(hours=1))
    assert len(await store.sessions()) == 1
    assert (await store.template()).next_run == MORNING + timedelta(days=1)


async def test_a_missed_run_begins_once_within_a_day(store: ScheduledStore) -> None:
    await store.save_and_schedule(DAILY)
    await store.run_at(MORNING + timedelta(days=3, hours=5))
    assert len(await store.sessions()) == 1
    saved = await store.template()
    assert saved.last_run
    assert (saved.last_run.due, saved.next_run) == (MORNING + timedelta(days=3), MORNING + timedelta(days=4))
    store.now = MORNING + timedelta(days=3, hours=6)
    await store.reschedule(Schedule(once=MORNING + timedelta(days=4), values={"id": "#W1"}))
    await store.run_at(MORNING + timedelta(days=5, seconds=1))
    saved = await store.template()
    assert saved.last_run
    assert (saved.last_run.session_id, saved.last_run.problem) == (
        "",
        "Parley was not running then, nor for a day after.",
    )
    assert len(await store.sessions()) == 1


@pytest.mark.parametrize(
    ("tools", "values", "problem"),
    [
        ((), {"id": "#W1"}, "there is no tool “cancel” here"),
        ((CANCEL.model_copy(update={"effect": "irreversible"}),), {"id": "#W1"}, "cancel has changed"),
        ((CANCEL,), {}, "id is missing"),
        ((CANCEL,), {"id": "{{steps.s1.output}}"}, "cannot contain a reference"),
    ],
)
async def test_a_template_that_gives_no_valid_plan_begins_no_session(
    store: ScheduledStore, tools: tuple[ToolSpec, ...], values: dict[str, Any], problem: str
) -> None:
    await store.save_and_schedule(DAILY.model_copy(update={"values": values}))
    store.executor.tools = tools
    await store.run_at(MORNING)
    assert await store.sessions() == []
    saved = await store.template()
    assert saved.last_run
    assert problem in saved.last_run.problem
    assert saved.next_run == MORNING + timedelta(days=1)


async def test_a_run_waits_until_the_executor_answers(store: ScheduledStore) -> None:
    await store.save_and_schedule(DAILY)
    store.executor.down = True
    with pytest.raises(BusUnavailable):
        await store.run_at(MORNING)
    store.executor.down = False
    await store.run_at(MORNING + timedelta(minutes=2))
    assert len(await store.sessions()) == 1


async def test_a_deleted_template_does_not_run(store: ScheduledStore) -> None:
    await store.save_and_schedule(DAILY)
    await store.templates.delete(api.DeleteTemplate(user="ann", template_id="t"))
    await store.run_at(MORNING)
    assert await store.sessions() == []
