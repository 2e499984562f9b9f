"""A step executor may run its step's tool as approved, and a change only once."""

from pathlib import Path
from typing import Any

import pytest

from parley.events.values import ActionSpec, Effect, Step
from parley.protocol.tools import ToolSpec
from services.executor.execution_plan import StepGuide
from services.executor.step_executors import StepExecutors
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.domain import commands as c
from shared.domain.session import Session
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
    """A tool that counts how often it was run."""

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

    def taken_by(self, *names: str) -> RegisteredTool:
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
    return await till.taken_by(executor).run(ToolInvocation(session, "the key", action.spec.arguments, action=action))


async def test_the_tool_runs_with_the_arguments_and_the_key_of_the_step() -> None:
    till = CashRegister()
    assert await run(till, "once") == ToolResult(ok=True, value=["s1", PAID, PAID, 1])
    assert till.keys == ["the key"]


async def test_a_change_runs_once_for_a_step() -> None:
    till = CashRegister()
    result = await run(till, "twice")
    assert (result.ok, result.unknown, len(till.keys)) == (False, True, 1)
    assert result.error == "pay_out has run for this step, and may not run again."


@pytest.mark.parametrize(
    "till", [CashRegister(effect="read"), CashRegister(keyed=True)], ids=["a read", "a keyed change"]
)
async def test_what_may_be_made_again_runs_as_often_as_it_likes(till: CashRegister) -> None:
    assert (await run(till, "twice")).ok
    assert till.keys == ["the key", "the key"]


async def test_an_executor_that_may_be_run_again_runs_no_tool_that_may_not() -> None:
    till = CashRegister()
    result = await run(till, "keyed")
    assert (result.ok, result.unknown, till.keys) == (False, False, [])
    assert result.error == "pay_out is not keyed, so a keyed executor cannot run it."
    assert (await run(CashRegister(keyed=True), "keyed")).ok


async def test_a_tool_that_breaks_down_leaves_its_step_uncertain() -> None:
    till = CashRegister()
    till.breaks = True
    result = await run(till, "once")
    assert (result.ok, result.unknown, result.error) == (False, True, "ValueError: the drawer is stuck")


@pytest.mark.parametrize("keyed", [True, False])
def test_whether_a_step_may_be_run_again_is_the_executors_to_say(keyed: bool) -> None:
    assert CashRegister(keyed=not keyed).taken_by("keyed" if keyed else "once").is_repeatable is keyed


def test_the_rest_of_a_tool_stays_as_it_is() -> None:
    till = CashRegister(effect="irreversible", name="pay_all")
    taken = till.taken_by("once")
    assert taken.run != till.tool.run
    assert taken.spec == till.tool.spec
    other = CashRegister(name="look")
    assert other.taken_by("once") == other.tool


async def test_a_result_that_json_cannot_tell_is_a_change_that_was_made() -> None:
    result = await run(CashRegister(), "nojson")
    assert (result.ok, result.value) == (True, None)
    assert "cannot be kept" in result.error


async def test_a_name_for_several_executors_is_refused() -> None:
    result = await run(CashRegister(name="look"), "all")  # what it would take is not known: it takes everything
    assert "outside_tills has 4 subclasses of StepExecutor: name exactly one" in result.error


async def test_a_call_that_is_no_step_of_the_plan_is_not_made() -> None:
    till = CashRegister()
    result = await till.taken_by("twice").run(ToolInvocation(Session("s1"), "k", PAID))
    assert (result.ok, result.unknown, till.keys) == (False, False, [])


class NoArtefacts:
    async def fetch(self, name: str) -> bytes | None:
        return None


def test_a_persons_own_calls_are_run_by_their_tools() -> None:
    till = CashRegister()
    guide = StepGuide(Registry(StaticSource(till.tool)), NoArtefacts(), StepExecutors(["once"]))
    tools = {"pay_out": till.tool}
    by_hand = Story().apply(*ESCALATED, c.TakeOver(sub_goal="mine", actions=(ActionSpec(id="9.1", tool="pay_out"),)))
    assert guide.tools(executing(till), tools)["pay_out"] != till.tool
    assert guide.tools(by_hand, tools) == tools
