"""A user's edits of execution plans: checked against the tools, and refused with every problem."""

from typing import Any

from parley.events.values import Step
from parley.protocol.tools import TOOLS_LIST, ToolPage, ToolSpec
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from tests.support.gateway import Client, World, client, serving

ORDER = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
TOOLS = (
    ToolSpec(name="look", description="Looks.", parameters=ORDER, effect="read", origin="shop"),
    ToolSpec(name="cancel", description="Cancels.", parameters=ORDER, effect="write", origin="shop"),
    ToolSpec(name="purge", description="Never.", parameters=ORDER, effect="irreversible", policy="deny", origin="shop"),
    ToolSpec(name="query", description="Asks.", parameters={"type": "object"}, effect="read", origin="shop"),
)
LOOK = Step(text="Look", tool="look", arguments={"id": "1"}, id="s1", effect="read")
CANCEL = Step(text="Cancel", tool="cancel", arguments={"id": "1"}, id="s2", after=("s1",), effect="write")
UNCHANGED = [
    step.model_dump(mode="json", include={"text", "tool", "arguments", "id", "after"}) for step in (LOOK, CANCEL)
]


def _list_tools(_: bytes) -> bytes:
    return ToolPage(tools=TOOLS, total=len(TOOLS)).model_dump_json().encode()


def _world() -> World:
    world = World()
    world.bus.answers[TOOLS_LIST] = _list_tools
    return world


async def _plan_in_review(world: World, her: Client) -> dict[str, Any]:
    await her.send("user_message", content="Cancel my order", workflow="execution_plan")
    await her.until("event", version=1)
    story = world.story(her.session_id)
    await story.commit(c.DraftPlan(goal="Cancel it", steps=(LOOK, CANCEL), kind="execution"))
    return await her.until("text_plan_review")


async def _plan(world: World, her: Client) -> Any:
    session: Session = (await world.story(her.session_id).load_at_position()).session
    return session.plan


async def test_new_steps_get_ids_and_the_effects_of_their_tools() -> None:
    world = _world()
    async with serving(world.app) as address, client(address) as her:
        review = await _plan_in_review(world, her)
        steps = [
            {"text": "Look", "tool": "look", "arguments": {"id": "1"}, "id": "s1"},
            {"text": "Look there", "tool": "look", "arguments": {"id": "{{steps.s1.output}}"}},
            {
                "text": "Cancel",
                "tool": "cancel",
                "arguments": {"id": "2"},
                "id": "s2",
                "after": ["s1"],
                "effect": "read",
            },
        ]
        await her.send("edit", version=review["version"], steps=steps)
        await her.until("text_plan_review")
        plan = await _plan(world, her)
        assert [(step.id, step.effect) for step in plan.steps] == [("s1", "read"), ("s3", "read"), ("s2", "write")]


async def test_plans_that_cannot_be_executed_are_refused() -> None:
    world = _world()
    third_steps: tuple[dict[str, Any], ...] = (
        {"text": "Fly", "tool": "fly"},
        {"text": "Think"},
        {"text": "Look", "tool": "look"},
        {"text": "Look", "tool": "look", "arguments": {"id": "1"}, "id": "s1"},
        {"text": "Look", "tool": "look", "arguments": {"id": "1"}, "after": ["s9"]},
        {"text": "Look", "tool": "look", "arguments": {"id": "{{steps.s3.output}}"}},
        {"text": "Look", "tool": "look", "arguments": {"id": "{{s1}}"}},
        {"text": "Purge", "tool": "purge", "arguments": {"id": "1"}},
        {"text": "Ask", "tool": "query", "arguments": {"sql": "SELECT {{steps.s1.output}}"}},
    )
    async with serving(world.app) as address, client(address) as her:
        review = await _plan_in_review(world, her)
        for step in third_steps:
            await her.send("edit", version=review["version"], steps=[*UNCHANGED, {"id": "s3"} | step])
            assert (await her.error("invalid"))["steps"], step
        assert (await _plan(world, her)).version == review["version"]


async def test_one_refusal_lists_the_problems_of_every_step() -> None:
    world = _world()
    async with serving(world.app) as address, client(address) as her:
        review = await _plan_in_review(world, her)
        steps = [
            {"text": "Look", "tool": "look", "arguments": {}, "id": "s1"},
            {"text": "Cancel", "tool": "cancel", "arguments": {"id": "1"}, "id": "s2"},
            {"text": "Fly", "tool": "fly", "id": "s3", "after": ["s9"]},
        ]
        await her.send("edit", version=review["version"], steps=steps)
        error = await her.error("invalid")
        assert error["steps"] == {
            "s1": ["the tool look needs the argument “id”."],
            "s3": ["depends on s9, which is not a step of the plan.", "there is no tool “fly” here."],
        }
        circle = [
            {"text": "Look", "tool": "look", "arguments": {"id": "1"}, "id": "s1", "after": ["s2"]},
            {"text": "Cancel", "tool": "cancel", "arguments": {"id": "1"}, "id": "s2", "after": ["s1"]},
        ]
        await her.send("edit", version=review["version"], steps=circle)
        assert (await her.error("invalid"))["steps"] == {"": ["Steps 1 (s1), 2 (s2) wait for each other."]}
        await her.send("edit", version=review["version"], steps=UNCHANGED)
        review = await her.until("text_plan_review")  # a saved version is checked against the current tools
        await her.send("edit", version=review["version"], steps=UNCHANGED)
        assert "steps" not in await her.error("invalid")


def _answer_with(*tools: ToolSpec) -> Any:
    return lambda _: ToolPage(tools=tools, total=len(tools)).model_dump_json().encode()


async def _checked_plan_in_review(world: World, her: Client) -> dict[str, Any]:
    """Bring a plan into review that was checked against the current tools."""
    review = await _plan_in_review(world, her)
    await her.send("edit", version=review["version"], steps=UNCHANGED, goal="Cancel it now")
    return await her.until("text_plan_review")


async def test_a_plan_with_a_changed_tool_is_approved_only_after_saving_it_again() -> None:
    world = _world()
    async with serving(world.app) as address, client(address) as her:
        review = await _checked_plan_in_review(world, her)
        riskier = TOOLS[1].model_copy(update={"effect": "irreversible"})
        world.bus.answers[TOOLS_LIST] = _answer_with(riskier)
        await her.send("approval", approved=True, version=review["version"], hash=review["hash"])
        error = await her.error("invalid")
        assert list(error["steps"]) == ["s1", "s2"]
        assert error["steps"]["s1"][0].startswith("The tool look is gone: it was there when this plan was made.")
        assert error["steps"]["s2"][0].startswith(
            "The tool cancel has changed since this plan was made: the plan says that"
        )
        assert (await _plan(world, her)).status == "pending_approval"
        world.bus.answers[TOOLS_LIST] = _answer_with(TOOLS[0], riskier)
        await her.send("edit", version=review["version"], steps=review["steps"])
        saved = await her.until("text_plan_review")
        assert (saved["steps"][1]["effect"], saved["hash"] != review["hash"]) == ("irreversible", True)
        await her.send("approval", approved=True, version=saved["version"], hash=saved["hash"])
        await her.until("event", version=saved["version"] + 1)
        assert (await _plan(world, her)).status == "executing"


async def test_a_plan_can_be_approved_while_no_executor_answers() -> None:
    world = _world()
    async with serving(world.app) as address, client(address) as her:
        review = await _checked_plan_in_review(world, her)
        del world.bus.answers[TOOLS_LIST]
        await her.send("approval", approved=True, version=review["version"])
        await her.until("event", version=review["version"] + 1)
        assert (await _plan(world, her)).status == "executing"


async def test_a_clients_claims_about_a_tool_are_ignored_and_the_checks_recorded() -> None:
    world = _world()
    async with serving(world.app) as address, client(address) as her:
        review = await _plan_in_review(world, her)
        step = {"text": "cancel", "tool": "cancel", "arguments": {"id": "1"}, "id": "s2", "fingerprint": "f"}
        await her.send("edit", version=review["version"], steps=[step, step | {"id": "s3"}])
        await her.until("text_plan_review")
        plan = await _plan(world, her)
        assert {plan_step.fingerprint for plan_step in plan.steps} == {TOOLS[1].fingerprint}
        assert {check.name: check.ok for check in plan.checks} == {
            "steps": True,
            "tools": True,
            "arguments": True,
            "references": True,
            "changes": None,
            "descriptions": None,
        }


async def test_a_session_can_restrict_the_tools_of_its_plans() -> None:
    world = _world()
    restriction = {"tools": ["look"], "instructions": "Be careful."}
    async with serving(world.app) as address, client(address) as her:
        await her.send("user_message", content="x", workflow="execution_plan", settings={"tools": ["lok"]})
        assert "There is no tool lok. Do you mean look" in (await her.error("invalid"))["message"]
        await her.send("user_message", content="x", workflow="agentflow", settings=restriction)
        assert "for plans that act" in (await her.error("invalid"))["message"]
        steps = [{"text": "Cancel", "tool": "cancel", "arguments": {"id": "1"}}]
        await her.send(
            "user_message", content="x", workflow="execution_plan", settings=restriction, plan={"steps": steps}
        )
        assert "cancel is not among the tools that this plan may use: look." in (await her.error("invalid"))["message"]
        look = {"text": "Look", "tool": "look", "arguments": {"id": "1"}, "id": "s1"}
        await her.send(
            "user_message", content="x", workflow="execution_plan", settings=restriction, plan={"steps": [look]}
        )
        review = await her.until("text_plan_review")
        await her.send("edit", version=review["version"], steps=[look, *steps])
        assert (await her.error("invalid"))["steps"] == {
            "s2": ["cancel is not among the tools that this plan may use: look."]
        }


async def test_a_plan_may_have_a_hundred_steps_and_no_more() -> None:
    world = _world()
    async with serving(world.app) as address, client(address) as her:
        review = await _plan_in_review(world, her)
        steps = [
            {"text": "Look", "tool": "look", "arguments": {"id": "1"}, "id": f"n{number}"} for number in range(101)
        ]
        await her.send("edit", version=review["version"], steps=steps)
        error = await her.error("too_large")
        assert "100" in error["message"]
        await her.send("edit", version=review["version"], steps=steps[:100])
        assert len((await her.until("text_plan_review"))["steps"]) == 100
