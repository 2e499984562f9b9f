"""A plan that acts, changed by its person: held against the tools there are, and refused with all that is wrong."""

from typing import Any

import pytest

from parley.events.values import Step
from parley.protocol.tools import TOOLS_LIST, ToolPage, ToolSpec
from shared.domain import commands as c
from shared.domain.session import Session
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


def _listed(_: bytes) -> bytes:
    return ToolPage(tools=TOOLS, total=len(TOOLS)).model_dump_json().encode()


def _world() -> World:
    world = World()
    world.bus.answers[TOOLS_LIST] = _listed
    return world


async def _in_review(world: World, her: Client) -> dict[str, Any]:
    await her.send("user_message", content="Cancel my order", workflow="execution_plan")
    await her.until("event", version=1)
    story = world.story(her.session_id)
    await story.commit(c.DraftPlan(goal="Cancel it", steps=(LOOK, CANCEL), kind="execution"))
    return await her.until("text_plan_review")


async def _plan(world: World, her: Client) -> Any:
    session: Session = (await world.story(her.session_id).loaded()).session
    return session.plan


async def test_new_steps_get_ids_and_what_their_tools_do() -> None:
    world = _world()
    async with serving(world.app) as address, client(address) as her:
        review = await _in_review(world, her)
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


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"text": "Fly", "tool": "fly", "id": "s3"}, "Step 3 (s3): there is no tool “fly” here"),
        ({"text": "Think", "id": "s3"}, "Step 3 (s3) names no tool"),
        ({"text": "Look", "tool": "look", "id": "s3"}, "look: id is missing"),
        ({"text": "Look", "tool": "look", "arguments": {"id": "1"}, "id": "s1"}, "Two steps have the id s1"),
        (
            {"text": "Look", "tool": "look", "arguments": {"id": "1"}, "id": "s3", "after": ["s9"]},
            "s9, which is no step",
        ),
        (
            {"text": "Look", "tool": "look", "arguments": {"id": "{{steps.s3.output}}"}, "id": "s3"},
            "wait for each other",
        ),
        ({"text": "Look", "tool": "look", "arguments": {"id": "{{s1}}"}, "id": "s3"}, "is no reference"),
        ({"text": "Purge", "tool": "purge", "arguments": {"id": "1"}, "id": "s3"}, "purge must not be used here"),
        (
            {"text": "Ask", "tool": "query", "arguments": {"sql": "SELECT {{steps.s1.output}}"}, "id": "s3"},
            "no reference may stand in it",
        ),
    ],
)
async def test_what_could_not_be_carried_out_is_refused(step: dict[str, Any], words: str) -> None:
    world = _world()
    async with serving(world.app) as address, client(address) as her:
        review = await _in_review(world, her)
        kept = [
            one.model_dump(mode="json", include={"text", "tool", "arguments", "id", "after"}) for one in (LOOK, CANCEL)
        ]
        await her.send("edit", version=review["version"], steps=[*kept, step])
        assert words in (await her.error("invalid"))["message"]
        assert (await _plan(world, her)).version == review["version"]


async def test_one_refusal_tells_of_every_step_what_is_wrong_with_it() -> None:
    world = _world()
    async with serving(world.app) as address, client(address) as her:
        review = await _in_review(world, her)
        steps = [
            {"text": "Look", "tool": "look", "arguments": {}, "id": "s1"},
            {"text": "Cancel", "tool": "cancel", "arguments": {"id": "1"}, "id": "s2"},
            {"text": "Fly", "tool": "fly", "id": "s3", "after": ["s9"]},
        ]
        await her.send("edit", version=review["version"], steps=steps)
        error = await her.error("invalid")
        assert error["steps"] == {
            "s1": ["look: id is missing"],
            "s3": ["depends on s9, which is no step.", "there is no tool “fly” here."],
        }
        circle = [
            {"text": "Look", "tool": "look", "arguments": {"id": "1"}, "id": "s1", "after": ["s2"]},
            {"text": "Cancel", "tool": "cancel", "arguments": {"id": "1"}, "id": "s2", "after": ["s1"]},
        ]
        await her.send("edit", version=review["version"], steps=circle)
        assert (await her.error("invalid"))["steps"] == {"": ["Steps 1 (s1), 2 (s2) wait for each other."]}
        same = [
            one.model_dump(mode="json", include={"text", "tool", "arguments", "id", "after"}) for one in (LOOK, CANCEL)
        ]
        await her.send("edit", version=review["version"], steps=same)
        assert "steps" not in await her.error("invalid")
