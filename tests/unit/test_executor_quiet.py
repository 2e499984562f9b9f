"""Quiet reads: they run at once, again after a crash, and only if their tools still declare them quiet."""

import asyncio

from parley.events import SessionEvent, facts, parse_event
from parley.events.values import ActionSpec, SessionSettings
from services.executor.handlers import Executor
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.domain import commands as c
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps
from tests.unit.test_executor import ArtefactDict, Run, failing, returning, tool


def quiet(name: str, run: Run) -> RegisteredTool:
    loud = tool(name, run)
    return loud._replace(spec=loud.spec.model_copy(update={"quiet": True}))


def look(id_: str, name: str = "look") -> ActionSpec:
    return ActionSpec(id=id_, tool=name, arguments={"id": id_}, quiet=True)


def send(id_: str) -> ActionSpec:
    return ActionSpec(id=id_, tool="send", effect="write")


class BatchRun:
    """A session whose executor is due for these actions, and executors that share its log."""

    def __init__(self) -> None:
        self.log = InMemoryLog()
        self.story = Story("s", log=self.log)

    async def planned(self, *actions: ActionSpec) -> "BatchRun":
        request = c.Say(text="Look", workflow="agentflow", settings=SessionSettings(approval="never"))
        await self.story.commit(request, c.PlanTurn(sub_goal="look", actions=actions))
        return self

    async def run(self, *tools: RegisteredTool) -> None:
        await Executor(Registry(StaticSource(*tools)), ArtefactDict()).run_batch(await self.context())

    async def context(self) -> WorkContext:
        kit = WorkerDeps("executor", InMemoryStore(self.log), self.log, ScriptedModel(), Drafts(None), Settings())
        return WorkContext(kit, await self.story.load_at_position(), cause="cause")

    def events(self) -> list[SessionEvent]:
        return [parse_event(raw.data) for raw in self.log.messages][2:]

    def types(self) -> list[str]:
        return [event.type for event in self.events()]

    def outcomes(self) -> list[str]:
        """The actions that have ended, however many events say so."""
        ended = (event.outcomes for event in self.events() if isinstance(event, facts.ActionsFinished))
        return [outcome.action_id for outcomes in ended for outcome in outcomes]


async def test_quiet_reads_leave_only_their_outcomes() -> None:
    batch = await BatchRun().planned(look("1.1"), look("1.2"))
    await batch.run(quiet("look", returning()))
    assert set(batch.types()) == {"actions.finished"}
    assert sorted(batch.outcomes()) == ["1.1", "1.2"]
    assert (await batch.story.load()).phase == "verifying"


async def test_the_rest_of_a_batch_is_recorded_before_anything_runs() -> None:
    batch = await BatchRun().planned(look("1.1"), send("1.2"))

    async def sends(_: ToolInvocation) -> ToolResult:
        assert batch.types()[0] == "actions.started"
        return ToolResult(ok=True)

    await batch.run(quiet("look", returning()), tool("send", sends, "write"))
    started, *outcomes = batch.events()
    assert isinstance(started, facts.ActionsStarted)
    assert [action.action_id for action in started.actions] == ["1.2"]
    assert [event.type for event in outcomes] == ["actions.finished", "actions.finished"]


async def test_what_was_running_when_an_executor_was_ended_runs_again() -> None:
    batch = await BatchRun().planned(look("1.1"), look("1.2"))
    ran: list[str] = []

    async def hangs_at_the_second(call: ToolInvocation) -> ToolResult:
        ran.append(call.key)
        if "/1.2/" in call.key:
            await asyncio.Event().wait()
        return ToolResult(ok=True, value="seen")

    ended = asyncio.create_task(batch.run(quiet("look", hangs_at_the_second)))
    while not batch.types():  # noqa: ASYNC110  an in-memory log has no notifications
        await asyncio.sleep(0)
    ended.cancel()
    await asyncio.wait({ended})
    await batch.run(quiet("look", returning()))
    assert ran == ["s/1/1.1/1", "s/1/1.2/1"]
    assert set(batch.types()) == {"actions.finished"}
    assert sorted(batch.outcomes()) == ["1.1", "1.2"]
    assert (await batch.story.load()).phase == "verifying"


async def test_two_replicas_two_slow_reads_and_a_write_in_one_batch() -> None:
    """The write is made once, however the outcomes and the second delivery meet."""
    batch = await BatchRun().planned(look("1.1"), look("1.2"), send("1.3"))
    reads, go = asyncio.Semaphore(0), asyncio.Event()
    sent: list[str] = []

    async def slow(_: ToolInvocation) -> ToolResult:
        reads.release()
        await go.wait()
        return ToolResult(ok=True, value="seen")

    async def sends(call: ToolInvocation) -> ToolResult:
        sent.append(call.key)
        await go.wait()
        return ToolResult(ok=True, value="sent")

    keyed = tool("send", sends, "write", keyed=True)
    tools = (quiet("look", slow), keyed)
    desks = [await batch.context(), await batch.context()]  # both have seen the session as the first delivery left it
    replicas = [
        asyncio.create_task(Executor(Registry(StaticSource(*tools)), ArtefactDict()).run_batch(context))
        for context in desks
    ]
    for _ in range(4):
        await asyncio.wait_for(reads.acquire(), 20)
    go.set()
    await asyncio.wait_for(asyncio.gather(*replicas), 20)
    assert batch.types().count("actions.started") == 1
    assert sorted(batch.outcomes()) == ["1.1", "1.2", "1.3"]
    assert set(sent) == {"s/1/1.3/1"}, "both know its key: its effect is one"
    session = await batch.story.load()
    assert (session.phase, session.failure) == ("verifying", None)


async def test_a_write_without_a_key_is_not_made_by_a_replica_that_comes_second() -> None:
    batch = await BatchRun().planned(look("1.1"), send("1.2"))
    began, go, sent = asyncio.Event(), asyncio.Event(), 0

    async def sends(_: ToolInvocation) -> ToolResult:
        nonlocal sent
        sent += 1
        began.set()
        await go.wait()
        return ToolResult(ok=True, value="sent")

    tools = (quiet("look", returning()), tool("send", sends, "write"))
    desks = [await batch.context(), await batch.context()]
    first = asyncio.create_task(Executor(Registry(StaticSource(*tools)), ArtefactDict()).run_batch(desks[0]))
    await asyncio.wait_for(began.wait(), 20)
    await Executor(Registry(StaticSource(*tools)), ArtefactDict()).run_batch(desks[1])
    go.set()
    await asyncio.wait_for(first, 20)
    assert sent == 1
    session = await batch.story.load()
    assert session.turn is not None
    assert [action.status for action in session.turn.actions] == ["finished", "finished"]


async def test_a_tool_that_is_no_quiet_read_is_not_called_before_the_log_says_so() -> None:
    batch = await BatchRun().planned(look("1.1", "send"), look("1.2"))
    await batch.run(tool("send", failing(AssertionError("called")), "write"), quiet("look", returning()))
    changed, observed = batch.events()
    assert (changed.type, observed.type) == ("turn.changed", "actions.finished")
    session = await batch.story.load()
    assert session.turn is not None
    assert [(a.spec.effect, a.status) for a in session.turn.actions] == [("write", "planned"), ("read", "finished")]
    assert session.work is not None
