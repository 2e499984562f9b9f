"""The log has the cost of each model call: in the event that ends the work, or recorded before the work's next call."""

import asyncio

import pytest
from pydantic import BaseModel

from chaos.collect import served_request
from chaos.model_usage import RUNNING, usage_balances
from parley.events import Due, SessionEvent
from parley.events.values import SessionSettings
from services.planner.conversation import PlanDraft, PlanReply, draft_plan
from shared.bus import Delivery
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.rules.worker_commands import WorkerCommand
from shared.llm import ModelFailed, ScriptedModel
from shared.llm.scripted import Prompt, Scripted
from shared.log import LogUnavailable
from shared.settings import Settings
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, Handler, WorkContext, Worker, WorkerDeps
from tests.support.rehearsal_server import rehearsal_server
from tests.support.timeouts import WAIT_TIMEOUT

PLAN = PlanDraft(goal="A calculator", steps=["Ask", "Add", "Print"])
CALL = 14  # tokens of a scripted call


class LogSizeRecorder(ScriptedModel):
    """Records the number of messages in the log at the start of each call."""

    def __init__(self, log: InMemoryLog, *replies: BaseModel | Exception) -> None:
        super().__init__(*replies)
        self._log = log
        self.log_sizes: list[int] = []

    def reply_to(self, prompt: Prompt) -> Scripted:
        self.log_sizes.append(len(self._log.messages))
        return super().reply_to(prompt)


class Planner:
    """One planner with a log in memory and a scripted model."""

    def __init__(
        self, *replies: BaseModel | Exception, handler: Handler = draft_plan, log: InMemoryLog | None = None
    ) -> None:
        self.log = log or InMemoryLog()
        self.model = LogSizeRecorder(self.log, *replies)
        self.store = InMemoryStore(self.log)
        self.story = Story("s", log=self.log)
        deps = WorkerDeps("planner", self.store, self.log, self.model, Drafts(None), Settings())
        self.worker = Worker(deps, handler)

    async def does(self, command: c.Command) -> Delivery:
        await self.story.commit(command)  # type: ignore[arg-type]
        raw = self.log.messages[-1]
        return Delivery(raw.subject, raw.data, raw.position, 1)

    async def request(self, **settings: int) -> Delivery:
        return await self.does(c.Say(text="A calculator", settings=SessionSettings.model_validate(settings)))

    async def session(self) -> Session:
        return await self.story.load()

    async def events(self) -> list[SessionEvent]:
        return await self.store.events("s")

    async def accounts(self) -> list[tuple[str, int]]:
        """Each event's type, with the number of calls whose cost it has."""
        return [(event.type, len(event.usage)) for event in await self.events()]


def call_model(times: int) -> Handler:
    """A handler that calls the model this many times and drafts the plan of the last reply."""

    async def handler(context: WorkContext) -> WorkerCommand | None:
        for _ in range(times - 1):
            await _call(context)
        return await draft_plan(context)

    return handler


async def _call(context: WorkContext) -> PlanReply:
    return await context.ask([{"role": "user", "content": "?"}], PlanReply, kind="plan", render=lambda _: "")


async def test_the_event_that_ends_the_work_carries_the_cost_of_its_call() -> None:
    planner = Planner(PLAN)
    await planner.worker.on_delivery(await planner.request())
    assert await planner.accounts() == [("message.received", 0), ("plan.drafted", 1)]
    assert (await planner.session()).spent.tokens == CALL


async def test_a_calls_usage_is_recorded_before_the_works_next_call() -> None:
    planner = Planner(PLAN, PLAN, PLAN, handler=call_model(3))
    await planner.worker.on_delivery(await planner.request())
    assert planner.model.log_sizes == [1, 2, 3]
    assert await planner.accounts() == [
        ("message.received", 0),
        ("usage.recorded", 1),
        ("usage.recorded", 1),
        ("plan.drafted", 1),
    ]


async def test_calls_that_ended_concurrently_are_recorded_together() -> None:
    async def handler(context: WorkContext) -> WorkerCommand | None:
        await asyncio.gather(_call(context), _call(context))
        return await draft_plan(context)

    planner = Planner(PLAN, PLAN, PLAN, handler=handler)
    await planner.worker.on_delivery(await planner.request())
    assert await planner.accounts() == [("message.received", 0), ("usage.recorded", 2), ("plan.drafted", 1)]


async def test_a_clients_second_attempt_starts_after_the_first_is_recorded() -> None:
    async with rehearsal_server(Settings(model_timeout=WAIT_TIMEOUT, model_outage_timeout=5)) as server:
        await server.fault(fault="garbled", times=1)
        planner = Planner()
        deps = WorkerDeps("planner", planner.store, planner.log, server.model, Drafts(None), server.settings)
        await Worker(deps, draft_plan).on_delivery(await planner.does(c.Say(text="Help me create a simple calculator")))
        recorded, drafted = (await planner.events())[1:]
    assert [call.outcome for call in (*recorded.usage, *drafted.usage)] == ["invalid", "ok"]
    assert (recorded.type, drafted.type) == ("usage.recorded", "plan.drafted")


@pytest.mark.parametrize("fault", ["slow", "cut", "500"])
async def test_every_call_that_a_model_served_is_recorded(fault: str) -> None:
    settings = Settings(model_silence_timeout=0.5, model_max_attempts=2, model_outage_timeout=0)
    async with rehearsal_server(settings) as server:
        await server.fault(times=1, **({"token_delay": 0.2} if fault == "slow" else {"fault": fault}))
        planner = Planner()
        deps = WorkerDeps("planner", planner.store, planner.log, server.model, Drafts(None), server.settings)
        await Worker(deps, draft_plan).on_delivery(await planner.does(c.Say(text="Help me create a simple calculator")))
        served = await server.wait_for_calls(lambda calls: all(call["outcome"] != RUNNING for call in calls))
    recorded = [call for event in await planner.events() for call in event.usage]
    (balance,) = usage_balances([served_request(call) for call in served], recorded, [], [], grace=5)
    assert len(recorded) == len(served) == (1 if fault == "slow" else 2)
    assert (balance.lost, balance.overcounted) == (0, 0)


# --- work without a result


async def test_a_failure_event_carries_the_failed_call() -> None:
    planner = Planner(ModelFailed("no"))
    await planner.worker.on_delivery(await planner.request())
    assert await planner.accounts() == [("message.received", 0), ("session.failed", 1)]


async def test_the_cost_of_a_result_after_a_stop_is_recorded() -> None:
    async def handler(context: WorkContext) -> WorkerCommand | None:
        command = await draft_plan(context)
        await planner.does(c.Stop())  # this process gets no notice of it
        return command

    planner = Planner(PLAN, handler=handler)
    await planner.worker.on_delivery(await planner.request())
    assert await planner.accounts() == [("message.received", 0), ("session.stopped", 0), ("usage.recorded", 1)]
    assert (await planner.session()).phase == "resting"


async def test_the_failure_carries_the_cost_of_an_unstorable_result() -> None:
    planner = Planner(PLAN.model_copy(update={"notes": "x" * 300_000}))
    await planner.worker.on_delivery(await planner.request())
    assert await planner.accounts() == [("message.received", 0), ("session.failed", 1)]


async def test_an_append_of_unknown_outcome_does_not_record_the_cost_again() -> None:
    planner = Planner(PLAN)
    work = await planner.request()
    planner.log.faults = [LogUnavailable("away")]
    with pytest.raises(LogUnavailable):
        await planner.worker.on_delivery(work)
    assert await planner.accounts() == [("message.received", 0)]


async def test_a_stopped_calls_cost_is_recorded_also_during_shutdown() -> None:
    called, appending, go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(context: WorkContext) -> WorkerCommand | None:
        await _call(context)
        called.set()
        await asyncio.Event().wait()
        raise AssertionError("it is cancelled")

    class Slow(InMemoryLog):
        async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
            if event.type == "usage.recorded":
                appending.set()
                await go.wait()
            return await super().append(event, after=after, due=due)

    planner = Planner(PLAN, handler=handler, log=Slow())
    working = asyncio.create_task(planner.worker.on_delivery(await planner.request()))
    await called.wait()
    await planner.does(c.Stop())
    await planner.worker.on_stopped("feed.s.nobody.session.stopped", planner.log.messages[-1].data)
    await appending.wait()
    working.cancel()  # the process ends, too
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await planner.accounts() == [("message.received", 0), ("session.stopped", 0), ("usage.recorded", 1)]


# --- budgets


@pytest.mark.parametrize("allowed_calls", [1, 2])
async def test_the_budget_is_checked_before_every_call(allowed_calls: int) -> None:
    planner = Planner(*[PLAN] * 25, handler=call_model(20))
    await planner.worker.on_delivery(await planner.request(token_budget=allowed_calls * CALL))
    session = await planner.session()
    assert session.question
    assert session.question.about == "budget"
    assert session.spent.tokens == allowed_calls * CALL
    assert len(planner.model.prompts) == allowed_calls
    assert (await planner.accounts())[-1] == ("question.asked", 1)


async def test_work_that_ran_out_of_budget_is_repeated_once_the_budget_is_raised() -> None:
    planner = Planner(PLAN, PLAN, PLAN, handler=call_model(2))
    await planner.worker.on_delivery(await planner.request(token_budget=CALL))
    await planner.worker.on_delivery(await planner.does(c.RaiseBudget(tokens=100)))
    assert (await planner.session()).phase == "awaiting_approval"
    assert (await planner.accounts())[-2:] == [("usage.recorded", 1), ("plan.drafted", 1)]
