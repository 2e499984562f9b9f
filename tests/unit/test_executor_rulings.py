"""The executor starts a wave by what its own registry says of the tools, not by what the plan says."""

from collections.abc import Iterable
from dataclasses import replace

import structlog

from parley.events import facts
from parley.events.values import SessionSettings
from services.executor.handlers import Executor
from services.executor.tools import RegisteredTool, Registry
from shared.telemetry import metrics
from tests.unit.test_executor import SESSION, Bench, act, breaks, gives, tool


def ruled_again() -> float:
    labels = {"decision": "require_approval"}
    return metrics.REGISTRY.get_sample_value("parley_actions_restricted_total", labels) or 0


async def test_a_write_that_its_plan_calls_a_read_is_not_called_but_logged_counted_and_asked_for() -> None:
    asking = replace(SESSION, settings=SessionSettings())
    bench = Bench(act("write"), tools=(tool("write", breaks(AssertionError("called")), "write"),), begin=asking)
    before = ruled_again()
    with structlog.testing.capture_logs() as logged:
        [event] = await bench.run()
    assert isinstance(event, facts.TurnChanged)
    assert bench.desk.session.phase == "awaiting_approval"
    assert ruled_again() == before + 1
    assert [(line["event"], line["tool"], line["effect"]) for line in logged] == [
        ("action_restricted", "write", "write")
    ]


class Changing:
    """A source that offers another tool each time it is looked at."""

    def __init__(self, *tools: RegisteredTool) -> None:
        self._tools = list(tools)
        self.version = 0

    def tools(self) -> Iterable[RegisteredTool]:
        self.version += 1
        return (self._tools.pop(0),)

    def troubles(self) -> Iterable[str]:
        return ()


async def test_the_tool_that_was_ruled_on_is_the_one_that_is_called() -> None:
    """A source that changes in the middle of a wave changes the next one."""
    bench = Bench(act("look"))
    source = Changing(tool("look", gives("looked at")), tool("look", breaks(AssertionError("called")), "write"))
    bench.executor = Executor(Registry(source), bench.shelf)
    await bench.run()
    assert bench.outcomes()["1.1"].result == "looked at"
