"""Execution plans with a generator and a step executor of an outside project, over a real bus and the real store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import SessionSettings
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.session import Session, undecided
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.integration.test_execution_plan import CANCEL, LOOK, ORDER, USER, WHO, approve, order_status, plan
from tests.support.outside import installed
from tests.support.stack import Person, working

EXECUTOR = """
    import asyncio
    from parley import Failed
    from parley.step_executor import Result, StepExecutor

    class Watched(StepExecutor):
        '''Runs the tool itself, and remembers what it was told.'''
        tools = ("find_*", "get_*")
        seen = []

        async def run(self, step, resolved, key, context):
            self.seen.append((key, context.goal, len(context.steps)))
            return await context.run_tool()

    class DryRun(StepExecutor):
        tools = ("cancel_*",)
        seen = []

        async def open(self, settings):
            self.world = settings.retail_url

        async def run(self, step, resolved, key, context):
            self.seen.append((step.id, dict(resolved), key, context.attempt, context.tool.effect, context.session_id))
            return Result({"would": step.tool, "with": resolved})

    class Twice(StepExecutor):
        tools = ("cancel_*",)

        async def run(self, step, resolved, key, context):
            await context.run_tool()
            return await context.run_tool()

    class Keyed(StepExecutor):
        tools = ("cancel_*",)
        keyed = True

        async def run(self, step, resolved, key, context):
            return await context.run_tool()

    class Raises(StepExecutor):
        tools = ("*",)

        async def run(self, step, resolved, key, context):
            raise {"read": RuntimeError("no way"), "write": Failed("the queue is closed")}[context.tool.effect]

    class Endless(StepExecutor):
        tools = ("cancel_*",)
        seconds = 0.2

        async def run(self, step, resolved, key, context):
            await asyncio.Event().wait()

    class NoResult(StepExecutor):
        tools = ("cancel_*",)

        async def run(self, step, resolved, key, context):
            return {"ok": True}

    class Shut(DryRun):
        async def open(self, settings):
            raise ValueError("the queue is away for ever")

    class NoNames(StepExecutor):
        tools = "cancel_*"

        async def run(self, step, resolved, key, context):
            return Result()
"""
GENERATOR = """
    import asyncio
    from parley.events.values import Step
    from parley.plan_generator import Draft, PlanGenerator

    class Looks(PlanGenerator):
        '''Finds the customer whose address is in the request, then looks them up; feedback adds the products.'''

        async def generate(self, request, tools, context):
            assert any(tool.name == "find_user_id_by_email" for tool in tools) and context.rules
            steps = [
                Step(id="who", tool="find_user_id_by_email", arguments={"email": request.split()[-1]}, text="Find"),
                Step(tool="get_user_details", arguments={"user_id": "{{steps.who.output}}"}, text="Look up"),
            ]
            if context.plan:
                assert [step.id for step in context.plan.steps] == ["who", "s1"]
                return Draft(context.plan.goal, [*context.plan.steps, Step(tool="list_all_product_types", text="Shop")],
                             notes=context.feedback[-1])
            return Draft("Look a customer up", steps)

    class Learns(PlanGenerator):
        '''Proposes what cannot be, until it is told why.'''
        told = []

        async def generate(self, request, tools, context):
            self.told.append(context.problems)
            if not context.problems:
                return Draft("Fly", [Step(id="a", tool="fly", text="Fly", after=("b",)),
                                     Step(id="b", tool="list_all_product_types", text="Look", after=("a",))])
            return Draft("Look", [Step(tool="list_all_product_types", text="Look")])

    class Circles(PlanGenerator):
        calls = []

        async def generate(self, request, tools, context):
            self.calls.append(request)
            return Draft("Round", [Step(id=one, tool="list_all_product_types", text="Look", after=(other,))
                                   for one, other in (("a", "b"), ("b", "a"))])

    class Strangers(PlanGenerator):
        async def generate(self, request, tools, context):
            return Draft("Fly", [Step(tool="fly", text="Fly")])

    class Raises(PlanGenerator):
        tries = []

        async def generate(self, request, tools, context):
            self.tries.append(request)
            if len(self.tries) == 1:
                raise RuntimeError("the catalogue is being rebuilt")
            return Draft("Look", [Step(tool="list_all_product_types", text="Look")])

    class Endless(PlanGenerator):
        seconds = 0.2

        async def generate(self, request, tools, context):
            await asyncio.Event().wait()

    class NoDraft(PlanGenerator):
        async def generate(self, request, tools, context):
            return ["list_all_product_types"]

    class NoSteps(PlanGenerator):
        async def generate(self, request, tools, context):
            return Draft("Nothing", [])
"""
NAMES = {
    "parley.step_executors": (
        "Watched",
        "DryRun",
        "Twice",
        "Keyed",
        "Raises",
        "Endless",
        "NoResult",
        "Shut",
        "NoNames",
    ),
    "parley.plan_generators": (
        *("Looks", "Learns", "Circles", "Strangers", "Raises", "Endless", "NoDraft", "NoSteps"),
        *("Asks",),
    ),
}
MODULES = {"parley.step_executors": "outside_executors", "parley.plan_generators": "outside_generators"}
ASKS = """
    from parley.reply import Kind, Reply
    from parley.events.values import Step
    from parley.plan_generator import Draft, PlanGenerator
    from services.planner.execution_plan_prompt import StepsReply

    class Asks(PlanGenerator):
        async def generate(self, request, tools, context):
            made = await context.ask_model("shorten", "Plan in one step.", {"request": request}, StepsReply)
            return Draft(made.reply.goal, [Step(tool=made.reply.steps[0].tool, text="As the model says")])
"""


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project is installed."""
    modules = {"outside_executors": EXECUTOR, "outside_generators": GENERATOR, "outside_asks": ASKS}
    points = {
        group: {name.lower(): f"{MODULES[group] if name != 'Asks' else 'outside_asks'}:{name}" for name in names}
        for group, names in NAMES.items()
    }
    installed(tmp_path, monkeypatch, modules, points)


@asynccontextmanager
async def asked(
    settings: Settings,
    bus: Bus,
    session_id: str,
    *replies: Any,
    said: str = "Cancel my order",
    generator: str = "",
    **listed: Any,
) -> AsyncIterator[tuple[Person, ScriptedModel]]:
    """A session with the plugins that are `listed`."""
    model = ScriptedModel(*replies)
    async with working(settings.model_copy(update=listed), model):
        ann = Person(bus, session_id)
        wanted = SessionSettings(generator=generator)
        await ann.does(c.Say(text=said, workflow="execution_plan", settings=wanted))
        yield ann, model


def executors(*names: str) -> dict[str, Any]:
    return {"parley_step_executors": names}


def generators(*names: str) -> dict[str, Any]:
    return {"parley_plan_generators": names}


def results(session: Session) -> list[Any]:
    assert session.turn
    return [action.result for action in session.turn.actions]


async def test_steps_are_run_by_the_executors_of_their_tools(settings: Settings, bus: Bus, session_id: str) -> None:
    from outside_executors import DryRun, Watched  # type: ignore[import-not-found]  # noqa: PLC0415  installed by the fixture

    listed = executors("watched", "dryrun")
    async with asked(settings, bus, session_id, plan(WHO, LOOK, CANCEL), **listed) as (ann, _):
        await approve(ann)
        done = await ann.phase("resting", "failed")
        assert done.plan
        assert (done.plan.status, await order_status(settings)) == ("completed", "pending")  # it was a dry run
        who, look, cancel = results(done)
        assert who == ORDER["user_id"]
        assert Watched.seen[0] == (f"{session_id}/1/{done.task}.s1/1", "Cancel the order", 3)
        assert ORDER["order_id"] in str(look)
        assert cancel == {"would": "cancel_pending_order", "with": CANCEL.arguments}
        assert DryRun.seen == [("s3", CANCEL.arguments, f"{session_id}/1/{done.task}.s3/1", 1, "write", session_id)]
