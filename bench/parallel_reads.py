"""Times four reads of 50 ms through the executor: in parallel as one wave, and sequentially as four."""

import asyncio
import statistics
import time

from parley.events.values import ActionSpec, Artefact, SessionSettings
from parley.protocol.tools import ToolSpec
from services.executor.handlers import Executor
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.domain import commands as c
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps
from tests.support.stories import Conversation

READ_COUNT, READ_SECONDS = 4, 0.05
ROUNDS = 5
READ_TOOL = ToolSpec(name="look", description="Look something up.", parameters={"type": "object"}, effect="read")


class NoArtefacts:
    """The results are too small to be stored as artefacts."""

    async def keep(self, name: str, data: bytes) -> Artefact:
        raise AssertionError(name)


async def read(call: ToolInvocation) -> ToolResult:
    await asyncio.sleep(READ_SECONDS)
    return ToolResult(ok=True, value=dict(call.arguments))


async def turn_seconds(*, chained: bool) -> float:
    """The time from the first start to the last outcome of a turn. `chained`: each read depends on the previous one."""
    story = Conversation(InMemoryLog())
    numbers = range(1, READ_COUNT + 1)
    actions = tuple(
        ActionSpec(
            id=f"1.{n}", tool="look", arguments={"n": n}, depends_on=(f"1.{n - 1}",) if chained and n > 1 else ()
        )
        for n in numbers
    )
    await story.commit(c.Say(text="Look", workflow="agentflow", settings=SessionSettings(approval="never")))
    await story.commit(c.PlanTurn(sub_goal="look", actions=actions))
    executor = Executor(Registry(StaticSource(RegisteredTool(READ_TOOL, read))), NoArtefacts())
    kit = WorkerDeps("executor", InMemoryStore(story.log), story.log, ScriptedModel(), Drafts(None), Settings())
    began = time.perf_counter()
    while (loaded := await story.load_at_position()).session.phase == "executing":
        await executor.run_batch(WorkContext(kit, loaded, cause="bench"))
    took = time.perf_counter() - began
    turn = loaded.session.turn
    assert turn
    assert [action.status for action in turn.actions] == ["finished"] * READ_COUNT
    return took


async def medians() -> tuple[float, float]:
    """Median milliseconds in parallel and sequentially, over alternating rounds."""
    took = [(await turn_seconds(chained=False), await turn_seconds(chained=True)) for _ in range(ROUNDS)]
    side_by_side, in_turn = (statistics.median(times) * 1000 for times in zip(*took, strict=True))
    return side_by_side, in_turn
