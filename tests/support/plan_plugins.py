"""A third-party project with step executors and plan generators: valid ones, and many kinds of faulty ones."""

from pathlib import Path

import pytest

from tests.support.outside import installed

EXECUTOR = """
    import asyncio
    from parley import Failed
    from parley.step_executor import Result, StepExecutor

    class Watched(StepExecutor):
        '''Runs the tool, and records its arguments.'''
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

    class Fails(StepExecutor):
        tools = ("cancel_*",)

        async def run(self, step, resolved, key, context):
            raise Failed("the queue is closed")

    class Raises(StepExecutor):
        tools = ("*",)

        async def run(self, step, resolved, key, context):
            raise RuntimeError("no way")

    class RaisesLate(Raises):
        tools = ("cancel_*",)

    class Hangs(StepExecutor):
        tools = ("cancel_*",)
        seconds = 60

        async def run(self, step, resolved, key, context):
            await context.files.write("begun", key.encode())
            await asyncio.Event().wait()

    class HangsReading(Hangs):
        tools = ("get_*",)

    class Held(StepExecutor):
        '''Runs the tool once the test sets `go`.'''
        tools = ("get_order_*",)
        go = asyncio.Event()

        async def run(self, step, resolved, key, context):
            await self.go.wait()
            return await context.run_tool()

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
        '''Drafts an invalid plan until the context names its problems.'''
        told = []

        async def generate(self, request, tools, context):
            self.told.append(context.problems)
            if not context.problems:
                return Draft("Fly", [Step(id="a", tool="fly", text="Fly", after=("b",)),
                                     Step(id="b", tool="list_all_product_types", text="Look", after=("a",))])
            return Draft("Look", [Step(tool="list_all_product_types", text="Look")])

    class Obeys(PlanGenerator):
        '''Drafts a step for each tool that it may use; the notes are its instructions.'''

        async def generate(self, request, tools, context):
            steps = [Step(tool=tool.name, text="Call it", arguments={}) for tool in tools]
            return Draft("Call them", steps, notes=context.instructions)

    class Circles(PlanGenerator):
        async def generate(self, request, tools, context):
            return Draft("Round", [Step(id=id_, tool="list_all_product_types", text="Look", after=(other,))
                                   for id_, other in (("a", "b"), ("b", "a"))])

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
        *("Watched", "DryRun", "Fails", "Raises", "RaisesLate", "Hangs", "HangsReading", "Endless", "NoResult", "Shut"),
        *("NoNames", "Held"),
    ),
    "parley.plan_generators": (
        *("Looks", "Learns", "Circles", "Strangers", "Raises", "Endless", "NoDraft", "NoSteps"),
        *("Asks", "Obeys"),
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


def install_plugins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the project; each plugin's entry point is its class name in lower case."""
    modules = {"outside_executors": EXECUTOR, "outside_generators": GENERATOR, "outside_asks": ASKS}
    points = {
        group: {name.lower(): f"{MODULES[group] if name != 'Asks' else 'outside_asks'}:{name}" for name in names}
        for group, names in NAMES.items()
    }
    installed(folder, monkeypatch, modules, points)
