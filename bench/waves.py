"""Four reads of 50 ms each through the executor: side by side as one wave, and one after the other as four."""

import asyncio
import statistics
import time

from parley.events.values import ActionSpec, Artefact, SessionSettings
from parley.protocol.tools import ToolSpec
from services.executor.handlers import Executor
from services.executor.tools import Call, Fixed, RegisteredTool, Registry, Result
from shared.domain import commands as c
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps
from tests.support.stories import Conversation

READS, SECONDS = 4, 0.05
ROUNDS = 5
LOOK = ToolSpec(name="look", description="Look something up.", parameters={"type": "object"}, effect="read")


class NothingKept:
    """These results are small."""

    async def keep(self, name: str, data: bytes) -> Artefact:
        raise AssertionError(name)


async def looks(call: Call) -> Result:
    await asyncio.sleep(SECONDS)
    return Result(ok=True, value=dict(call.arguments))


async def seconds(*, chained: bool) -> float:
    """From the first start to the last outcome of a turn; chained, every read waits for the one before it."""
    story = Conversation(InMemoryLog())
    numbers = range(1, READS + 1)
    actions = tuple(
        ActionSpec(
            id=f"1.{n}", tool="look", arguments={"n": n}, depends_on=(f"1.{n - 1}",) if chained and n > 1 else ()
        )
        for n in numbers
    )
    await story.commit(c.Say(text="Look", workflow="agentflow", settings=SessionSettings(approval="never")))
    await story.commit(c.PlanTurn(sub_goal="look", actions=actions))
    executor = Executor(Registry(Fixed(RegisteredTool(LOOK, looks))), NothingKept())
    kit = WorkerDeps("executor", InMemoryStore(story.log), story.log, ScriptedModel(), Drafts(None), Settings())
    began = time.perf_counter()
    while (loaded := await story.loaded()).session.phase == "executing":
        await executor.run_wave(WorkContext(kit, loaded, cause="bench"))
    took = time.perf_counter() - began
    turn = loaded.session.turn
    assert turn
    assert [action.status for action in turn.actions] == ["finished"] * READS
    return took


async def medians() -> tuple[float, float]:
    """Milliseconds side by side, and one after the other; the rounds of both alternate."""
    took = [(await seconds(chained=False), await seconds(chained=True)) for _ in range(ROUNDS)]
    side_by_side, in_turn = (statistics.median(times) * 1000 for times in zip(*took, strict=True))
    return side_by_side, in_turn
