"""Step executors: which tools one may run, how often, and what its result becomes."""

from pathlib import Path
from typing import Any

import pytest

from parley.events.values import ActionSpec, Effect, Step
from parley.protocol.tools import ToolSpec
from services.executor.execution_plan import StepGuide
from services.executor.step_executors import StepExecutors
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.story import Story
from tests.support.outside import installed
from tests.unit.domain.spec import ESCALATED, approve

EXECUTORS = """
    from parley import Failed
    from parley.step_executor import Result, StepExecutor

    class Once(StepExecutor):
        tools = ("pay*",)

        async def run(self, step, resolved, key, context):
            ran = await context.run_tool()
            return Result([step.id, ran.value, resolved, context.attempt], ran.ok, ran.error, ran.unknown)

    class Twice(Once):
        async def run(self, step, resolved, key, context):
            await context.run_tool()
            return await context.run_tool()

    class Keyed(Once):
        keyed = True

    class NoJson(Once):
        async def run(self, step, resolved, key, context):
            return Result(object())
"""
PAID: dict[str, Any] = {"amount": 7}


class CashRegister:
    """A tool that records the key of each of its runs."""

    def __init__(self, *, effect: Effect = "write", keyed: bool = False, name: str = "pay_out") -> None:
        self.keys: list[str] = []
        self.breaks = False
        parameters: dict[str, Any] = {"type": "object", "properties": {"amount": {"type": "integer"}}}
        spec = ToolSpec(name=name, description="Pay", parameters=parameters, effect=effect, keyed=keyed)
        self.tool = RegisteredTool(spec, self.run)

    async def run(self, call: ToolInvocation) -> ToolResult:
        self.keys.append(call.key)
        if self.breaks:
            raise ValueError("the drawer is stuck")
        return ToolResult(ok=True, value=dict(call.arguments))

    def overridden_by(self, *names: str) -> RegisteredTool:
        """The tool as these step executors run it."""
        return StepExecutors(names).override({self.tool.spec.name: self.tool})[self.tool.spec.name]


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"once": "Once", "twice": "Twice", "keyed": "Keyed", "nojson": "NoJson", "all": ""}
    points = {name: f"outside_tills:{kind}" if kind else "outside_tills" for name, kind in names.items()}
    installed(tmp_path, monkeypatch, {"outside_tills": EXECUTORS}, {"parley.step_executors": points})


def executing(till: CashRegister) -> Session:
    step = Step(id="s1", tool=till.tool.spec.name, arguments=PAID, text="Pay", effect=till.tool.spec.effect)
    drafted = c.DraftPlan(goal="Pay", steps=(step,), kind="execution")
    return Story().apply(c.Say(text="pay", workflow="execution_plan"), drafted, approve)


async def run(till: CashRegister, executor: str) -> ToolResult:
    session = executing(till)
    assert session.turn
    action = session.turn.actions[0]
    return await till.overridden_by(executor).run(
        ToolInvocation(session, "the key", action.spec.arguments, action=action)
    )


async def test_an_executor_may_run_a_write_only_once_for_a_step() -> None:
    till = CashRegister()
    result = await run(till, "twice")
    assert (result.ok, result.unknown, len(till.keys)) == (False, True, 1)
    assert result.error == "pay_out has run for this step, and may not run again."


@pytest.mark.parametrize(
    "till", [CashRegister(effect="read"), CashRegister(keyed=True)], ids=["a read", "a keyed write"]
)
async def test_an_executor_may_run_a_read_or_a_keyed_write_several_times(till: CashRegister) -> None:
    assert (await run(till, "twice")).ok
    assert till.keys == ["the key", "the key"]


async def test_a_keyed_executor_cannot_run_a_write_that_is_not_keyed() -> None:
    till = CashRegister()
    result = await run(till, "keyed")
    assert (result.ok, result.unknown, till.keys) == (False, False, [])
    assert result.error == "pay_out is not keyed, so a keyed executor cannot run it."
    assert (await run(CashRegister(keyed=True), "keyed")).ok


async def test_a_tool_that_raises_leaves_its_step_uncertain() -> None:
    till = CashRegister()
    till.breaks = True
    result = await run(till, "once")
    assert (result.ok, result.unknown, result.error) == (False, True, "ValueError: the drawer is stuck")


@pytest.mark.parametrize("keyed", [True, False])
def test_the_executor_decides_whether_a_step_is_repeatable(keyed: bool) -> None:
    assert CashRegister(keyed=not keyed).overridden_by("keyed" if keyed else "once").is_repeatable is keyed


def test_an_executor_replaces_only_the_run_function_of_its_tools() -> None:
    till = CashRegister(effect="irreversible", name="pay_all")
    overridden = till.overridden_by("once")
    assert overridden.run != till.tool.run
    assert overridden.spec == till.tool.spec
    unmatched = CashRegister(name="look")
    assert unmatched.overridden_by("once") == unmatched.tool


async def test_an_entry_point_to_a_module_with_several_executors_is_refused() -> None:
    result = await run(CashRegister(name="look"), "all")  # its tools are unknown, so it overrides every tool
    assert "outside_tills has 4 subclasses of StepExecutor: name exactly one" in result.error


async def test_a_call_that_is_no_step_of_the_plan_does_not_run() -> None:
    till = CashRegister()
    result = await till.overridden_by("twice").run(ToolInvocation(Session("s1"), "k", PAID))
    assert (result.ok, result.unknown, till.keys) == (False, False, [])


class NoArtefacts:
    async def fetch(self, name: str) -> bytes | None:
        return None


def test_the_calls_of_a_person_who_took_over_run_without_step_executors() -> None:
    till = CashRegister()
    guide = StepGuide(Registry(StaticSource(till.tool)), NoArtefacts(), StepExecutors(["once"]))
    tools = {"pay_out": till.tool}
    by_hand = Story().apply(*ESCALATED, c.TakeOver(sub_goal="mine", actions=(ActionSpec(id="9.1", tool="pay_out"),)))
    assert guide.tools(executing(till), tools)["pay_out"] != till.tool
    assert guide.tools(by_hand, tools) == tools
