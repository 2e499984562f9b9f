"""Quiet reads: they run at once, again after a crash, and only if their tools still declare them quiet."""

import asyncio

from parley.events import SessionEvent, facts, parse_event
from parley.events.values import ActionSpec, SessionSettings
from services.executor.handlers import Executor
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.domain.kernel import commands as c
from shared.story import Story
from shared.testing import InMemoryLog
from shared.worker import WorkContext
from tests.support.executor_bench import ArtefactDict, Run, failing, returning, tool
from tests.support.work import work_context


def quiet(name: str, run: Run) -> RegisteredTool:
    registered = tool(name, run)
    return registered._replace(spec=registered.spec.model_copy(update={"quiet": True}))


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
        return work_context("executor", await self.story.load_at_position(), log=self.log)

    def events(self) -> list[SessionEvent]:
        return [parse_event(raw.data) for raw in self.log.messages][2:]

    def types(self) -> list[str]:
        return [event.type for event in self.events()]

    def outcomes(self) -> list[str]:
        """The ids of the actions that have ended, in the order of their events."""
        ended = (event.outcomes for event in self.events() if isinstance(event, facts.ActionsFinished))
        return [outcome.action_id for outcomes in ended for outcome in outcomes]


async def test_quiet_reads_leave_only_their_outcomes() -> None:
    batch = await BatchRun().planned(look("1.1"), look("1.2"))
    await batch.run(quiet("look", returning()))
    assert set(batch.types()) == {"actions.finished"}
    assert sorted(batch.outcomes()) == ["1.1", "1.2"]
    assert (await batch.story.load()).phase == "verifying"


async def test_a_quiet_read_that_was_interrupted_runs_again() -> None:
    batch = await BatchRun().planned(look("1.1"), look("1.2"))
    ran: list[str] = []

    async def hangs_at_the_second(call: ToolInvocation) -> ToolResult:
        ran.append(call.key)
        if "/1.2/" in call.key:
            await asyncio.Event().wait()
        return ToolResult(ok=True, value="seen")

    interrupted = asyncio.create_task(batch.run(quiet("look", hangs_at_the_second)))
    while not batch.types():  # noqa: ASYNC110  an in-memory log has no notifications
        await asyncio.sleep(0)
    interrupted.cancel()
    await asyncio.wait({interrupted})
    await batch.run(quiet("look", returning()))
    assert ran == ["s/1/1.1/1", "s/1/1.2/1"]
    assert set(batch.types()) == {"actions.finished"}
    assert sorted(batch.outcomes()) == ["1.1", "1.2"]
    assert (await batch.story.load()).phase == "verifying"


async def test_an_action_whose_tool_became_a_write_is_changed_in_the_log_and_not_run() -> None:
    batch = await BatchRun().planned(look("1.1", "send"), look("1.2"))
    await batch.run(tool("send", failing(AssertionError("called")), "write"), quiet("look", returning()))
    changed, finished = batch.events()
    assert (changed.type, finished.type) == ("turn.changed", "actions.finished")
    session = await batch.story.load()
    assert session.turn is not None
    assert [(a.spec.effect, a.status) for a in session.turn.actions] == [("write", "planned"), ("read", "finished")]
    assert session.work is not None
