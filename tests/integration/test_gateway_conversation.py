"""Conversations with the gateway over a real socket. The test appends the events of the other services."""

import json

from parley.events.values import ModelCall
from parley.protocol.server import SERVER_MESSAGES, Delta
from shared.domain.kernel import commands as c
from tests.support.gateway import World, client, serving
from tests.support.stories import CODE


async def test_a_client_can_use_only_the_basic_messages(world: World) -> None:
    """user_message, approval, feedback, replan; and text_plan_review, code_review, feedback_request, completion."""
    async with serving(world.app) as address, client(address) as user:
        await user.send("user_message", content="Help me create a simple calculator")
        first = await user.event("message.received")
        story = world.story(first["session_id"])
        assert first["session_id"] == user.session_id
        await story.drafts()
        review = await user.until("text_plan_review")
        assert review["plan"].startswith("Goal: A calculator")

        await user.send("approval", approved=False)
        assert (await user.until("feedback_request"))["plan_type"] == "text"
        await user.send("feedback", content="Add support for floating point numbers")
        assert (await user.event("message.received"))["intent"] == "feedback"
        await story.drafts("A calculator for floats")
        assert (await user.until("text_plan_review"))["number"] == 2

        await user.send("replan", plan_type="text")
        await user.event("plan.rejected")
        await story.drafts("Another calculator")
        review = await user.until("text_plan_review")
        await user.send("approval", approved=True)
        assert (await user.event("plan.approved"))["plan_version"] == review["version"]

        await story.codes()
        assert (await user.until("code_review"))["code"] == CODE
        await user.send("approval", approved=True)
        done = await user.until("completion")
        assert done["final_plan"] == review["plan"]
        assert done["final_code"] == CODE
        assert "Run the code" in (await user.until("continue"))["content"]["options"]

        await user.send("user_message", content="And now one for fractions")
        follow_up = await user.event("message.received")
        assert follow_up["session_id"] == user.session_id
        assert (follow_up["intent"], follow_up["version"]) == ("remark", len(user.versions))
        for message in user.received:
            SERVER_MESSAGES.validate_python(message)
            assert message["session_id"] == user.session_id


async def test_drafts_are_streamed_and_usage_is_reported(world: World) -> None:
    async with serving(world.app) as address, client(address) as user:
        await user.send("user_message", content="A calculator")
        await user.event("message.received")
        piece = Delta(session_id=user.session_id, draft_id="d1", kind="plan", offset=0, text="Goal: A ca")
        await world.bus.publish(f"delta.{user.session_id}.d1", b"not json")
        await world.bus.publish(f"delta.{user.session_id}.d1", piece.model_dump_json().encode())
        assert (await user.until("delta"))["text"] == "Goal: A ca"

        world.bus.draft = piece.model_copy(update={"text": "Goal: A calculator"}).model_dump_json().encode()
        async with client(address) as second_client:
            await second_client.send("resume", session_id=user.session_id)
            snapshot = await second_client.until("snapshot")
            assert snapshot["draft"]["text"] == "Goal: A calculator"
            assert snapshot["state"] == "text_plan_generation"

        call = ModelCall(
            model="m",
            role="planner",
            prompt_tokens=10,
            cached_tokens=0,
            completion_tokens=5,
            cost=0.5,
            latency=1,
            attempt=1,
        )
        await world.story(user.session_id).commit(c.RecordUsage(calls=(call,)))
        usage = await user.until("usage")
        assert (usage["calls"], usage["prompt_tokens"], usage["cost"]) == (1, 10, 0.5)


async def test_a_repeated_fork_returns_the_same_session(world: World) -> None:
    async with serving(world.app) as address, client(address) as user:
        await world.story("parent").plan()
        await user.send("resume", session_id="parent")
        await user.until("snapshot")
        await user.send("fork", id="f1")
        fork_id = (await user.until("forked"))["fork_id"]
        await user.send("fork", id="f1")
        assert (await user.until("forked"))["fork_id"] == fork_id
        await user.send("resume", session_id=fork_id)
        snapshot = await user.until("snapshot")
        assert (snapshot["parent"], snapshot["version"]) == ("parent", 1)
        await user.send("approval", approved=True)
        assert (await user.event("plan.approved"))["session_id"] == fork_id
        assert (await world.story("parent").load()).phase == "awaiting_approval"


async def test_unknown_workflows_are_refused_and_store_nothing(world: World) -> None:
    async with serving(world.app) as address, client(address) as user:
        await user.send("user_message", content="x", workflow="gardening")
        await user.error("not_available")
        await world.story("s").plan()
        await user.send("choose_workflow", session_id="s", workflow="gardening")
        await user.error("not_available")
        assert json.loads((await world.log.read("s"))[-1].data)["type"] == "plan.drafted"


async def test_closing_the_socket_does_not_end_the_session(world: World) -> None:
    async with serving(world.app) as address:
        async with client(address) as user:
            await world.story("s").plan()
            await user.send("resume", session_id="s")
            await user.until("snapshot")
            await user.send("close")
            assert await user.closed() == 1000
        hub = world.app.state.gateway.hub
        assert not hub._channels
        assert not [subject for subject, _ in world.bus.subscribed if subject.startswith(("feed.", "delta."))]
        assert (await world.story("s").load()).phase == "awaiting_approval"
