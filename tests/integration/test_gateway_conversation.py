"""Conversations with the gateway over a real socket. The test appends the events of the other services."""

import json

import pytest

from parley.events.values import ModelCall
from parley.protocol.server import SERVER_MESSAGES, Delta
from shared.domain import commands as c
from tests.support.gateway import World, client, serving
from tests.support.stories import CODE


@pytest.fixture
def world() -> World:
    return World()


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


async def test_a_session_at_rest_can_be_continued_repeatedly(world: World) -> None:
    async with serving(world.app) as address, client(address) as user:
        story = world.story("loop")
        await user.send("user_message", content="A calculator", session_id="loop")
        await user.event("message.received")
        await story.drafts()
        await user.until("text_plan_review")
        await user.send("approval", approved=True)
        await user.event("plan.approved")
        await story.codes()
        await user.until("code_review")
        await user.send("approval", approved=True)
        feedback, *_, complete = (await user.until("continue"))["content"]["options"]

        await user.send("continue", content=feedback.upper())
        question = await user.until("question")
        await user.send("question", content="Make it smaller")
        assert (await user.event("question.answered"))["question_id"] == question["question_id"]
        await story.drafts("A smaller one")
        await user.until("text_plan_review")
        await user.send("stop")
        assert (await user.until("stopped"))["message"] == "Stopped."
        await user.send("continue", content=complete)
        await user.until("completed")
        await user.send("continue", content="Something else altogether")
        assert (await user.event("message.received"))["intent"] == "remark"


async def test_edits_are_refused_and_remarks_recorded_during_work(world: World) -> None:
    async with serving(world.app) as address, client(address) as user:
        await user.send("user_message", content="A calculator")
        await user.event("message.received")
        story = world.story(user.session_id)
        await user.send("feedback", content="With floats")
        assert (await user.event("message.received"))["intent"] == "guidance"
        await story.drafts()
        await user.event("plan.drafted")
        await story.drafts("With floats")
        review = await user.until("text_plan_review")

        text = review["plan"].replace("2. Add them\n", "2. Add them, then\n   round\n") + "\n\nNotes: two digits"
        await user.send("edit", version=review["version"], content=text)
        edited = await user.until("text_plan_review")
        assert [step["text"] for step in edited["steps"]][1] == "Add them, then round"
        assert (edited["goal"], edited["notes"]) == ("With floats", "two digits")
        await user.send("edit", version=edited["version"], steps=["One", {"text": "Two"}])
        review = await user.until("text_plan_review")
        assert [step["text"] for step in review["steps"]] == ["One", "Two"]
        await user.send("approval", approved=True)
        await user.event("plan.approved")
        await story.codes()
        code = await user.until("code_review")
        await user.send("edit", target="code", version=code["version"], content="print(2)\n")
        assert (await user.event("code.edited"))["code"] == "print(2)\n"


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


async def test_a_remark_is_answered_and_the_review_stays_open(world: World) -> None:
    async with serving(world.app) as address, client(address) as user:
        story = world.story("r")
        await user.send("user_message", content="A calculator", session_id="r")
        await user.event("message.received")
        await story.drafts()
        review = await user.until("text_plan_review")

        await user.send("user_message", content="Why so short?")
        assert (await user.event("message.received"))["intent"] == "remark"
        await user.send("resume")
        at_work = await user.until("snapshot")
        assert (at_work["phase"], at_work["review"]["hash"]) == ("planning", review["hash"])
        assert {"approval", "edit", "feedback", "stop"} <= set(at_work["can"])
        await story.commit(c.AnswerRemark(text="It is all you asked for."))
        assert (await user.event("remark.answered"))["text"] == "It is all you asked for."
        assert (await user.until("log"))["content"] == "It is all you asked for."
        assert (await user.until("text_plan_review"))["version"] == review["version"]

        await user.send("user_message", content="And for fractions?")
        await user.event("message.received")
        await user.send("approval", approved=True)
        assert (await user.event("plan.approved"))["plan_version"] == review["version"]


async def test_an_unknown_workflow_is_refused_with_a_reason(world: World) -> None:
    async with serving(world.app) as address, client(address) as user:
        await user.send("user_message", content="x", workflow="dance")
        error = await user.error("not_available")
        assert "There is no workflow “dance”." in error["message"]
