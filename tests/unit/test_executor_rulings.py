"""The executor decides by its registry's tools whether an action may run, not by the plan's description of them."""

from collections.abc import Iterable
from dataclasses import replace

import structlog

from parley.events import facts
from parley.events.values import SessionSettings
from services.executor.handlers import Executor
from services.executor.tools import RegisteredTool, Registry
from shared.telemetry import metrics
from tests.support.executor_bench import SESSION, ExecutorBench, act, failing, returning, tool


def restricted_actions() -> float:
    labels = {"decision": "require_approval"}
    return metrics.REGISTRY.get_sample_value("parley_actions_restricted_total", labels) or 0


async def test_a_write_declared_as_a_read_is_not_called_but_logged_counted_and_sent_for_approval() -> None:
    session = replace(SESSION, settings=SessionSettings())
    bench = ExecutorBench(
        act("write"), tools=(tool("write", failing(AssertionError("called")), "write"),), begin=session
    )
    before = restricted_actions()
    with structlog.testing.capture_logs() as logged:
        [event] = await bench.run()
    assert isinstance(event, facts.TurnChanged)
    assert bench.context.session.phase == "awaiting_approval"
    assert restricted_actions() == before + 1
    assert [(line["event"], line["tool"], line["effect"]) for line in logged] == [
        ("action_restricted", "write", "write")
    ]


class ChangingSource:
    """A source that offers the next of its tools at each lookup."""

    def __init__(self, *tools: RegisteredTool) -> None:
        self._tools = list(tools)
        self.version = 0

    def tools(self) -> Iterable[RegisteredTool]:
        self.version += 1
        return (self._tools.pop(0),)

    def troubles(self) -> Iterable[str]:
        return ()


async def test_a_batch_calls_the_tool_that_its_ruling_was_about() -> None:
    """A source that changes during a batch affects the next one."""
    bench = ExecutorBench(act("look"))
    source = ChangingSource(
        tool("look", returning("looked at")), tool("look", failing(AssertionError("called")), "write")
    )
    bench.executor = Executor(Registry(source), bench.artefacts)
    await bench.run()
    assert bench.outcomes()["1.1"].result == "looked at"
