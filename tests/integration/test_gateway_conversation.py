"""Conversations over a real socket; the test appends the services' events to the log."""

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


async def test_a_client_that_knows_only_the_basic_messages(world: World) -> None:
    """user_message, approval, feedback, replan; and text_plan_review, code_review, feedback_request, completion."""
    async with serving(world.app) as address, client(address) as her:
        await her.send("user_message", content="Help me create a simple calculator")
        first = await her.event("message.received")
        story = world.story(first["session_id"])
        assert first["session_id"] == her.session_id
        await story.drafts()
        review = await her.until("text_plan_review")
        assert review["plan"].startswith("Goal: A calculator")

        await her.send("approval", approved=False)
        assert (await her.until("feedback_request"))["plan_type"] == "text"
        await her.send("feedback", content="Add support for floating point numbers")
        assert (await her.event("message.received"))["intent"] == "feedback"
        await story.drafts("A calculator for floats")
        assert (await her.until("text_plan_review"))["number"] == 2

        await her.send("replan", plan_type="text")
        await her.event("plan.rejected")
        await story.drafts("Another calculator")
        review = await her.until("text_plan_review")
        await her.send("approval", approved=True)
        assert (await her.event("plan.approved"))["plan_version"] == review["version"]

        await story.codes()
        assert (await her.until("code_review"))["code"] == CODE
        await her.send("approval", approved=True)
        done = await her.until("completion")
        assert done["final_plan"] == review["plan"]
        assert done["final_code"] == CODE
        assert "Run the code" in (await her.until("continue"))["content"]["options"]

        await her.send("user_message", content="And now one for fractions")
        again = await her.event("message.received")
        assert again["session_id"] == her.session_id
        assert (again["intent"], again["version"]) == ("remark", len(her.versions))
        for message in her.received:
            SERVER_MESSAGES.validate_python(message)
            assert message["session_id"] == her.session_id


async def test_the_options_at_rest_can_be_chosen_again_and_again(world: World) -> None:
    async with serving(world.app) as address, client(address) as her:
        story = world.story("loop")
        await her.send("user_message", content="A calculator", session_id="loop")
        await her.event("message.received")
        await story.drafts()
        await her.until("text_plan_review")
        await her.send("approval", approved=True)
        await her.event("plan.approved")
        await story.codes()
        await her.until("code_review")
        await her.send("approval", approved=True)
        feedback, *_, complete = (await her.until("continue"))["content"]["options"]

        await her.send("continue", content=feedback.upper())
        question = await her.until("question")
        await her.send("question", content="Make it smaller")
        assert (await her.event("question.answered"))["question_id"] == question["question_id"]
        await story.drafts("A smaller one")
        await her.until("text_plan_review")
        await her.send("stop")
        assert (await her.until("stopped"))["message"] == "Stopped."
        await her.send("continue", content=complete)
        await her.until("completed")
        await her.send("continue", content="Something else altogether")
        assert (await her.event("message.received"))["intent"] == "remark"


async def test_edits_are_refused_and_remarks_recorded_during_work(world: World) -> None:
    async with serving(world.app) as address, client(address) as her:
        await her.send("user_message", content="A calculator")
        await her.event("message.received")
        story = world.story(her.session_id)
        await her.send("feedback", content="With floats")
        assert (await her.event("message.received"))["intent"] == "guidance"
        await story.drafts()
        await her.event("plan.drafted")
        await story.drafts("With floats")
        review = await her.until("text_plan_review")

        text = review["plan"].replace("2. Add them\n", "2. Add them, then\n   round\n") + "\n\nNotes: two digits"
        await her.send("edit", version=review["version"], content=text)
        edited = await her.until("text_plan_review")
        assert [step["text"] for step in edited["steps"]][1] == "Add them, then round"
        assert (edited["goal"], edited["notes"]) == ("With floats", "two digits")
        await her.send("edit", version=edited["version"], steps=["One", {"text": "Two"}])
        review = await her.until("text_plan_review")
        assert [step["text"] for step in review["steps"]] == ["One", "Two"]
        await her.send("approval", approved=True)
        await her.event("plan.approved")
        await story.codes()
        code = await her.until("code_review")
        await her.send("edit", target="code", version=code["version"], content="print(2)\n")
        assert (await her.event("code.edited"))["code"] == "print(2)\n"


async def test_drafts_are_streamed_and_usage_is_reported(world: World) -> None:
    async with serving(world.app) as address, client(address) as her:
        await her.send("user_message", content="A calculator")
        await her.event("message.received")
        piece = Delta(session_id=her.session_id, draft_id="d1", kind="plan", offset=0, text="Goal: A ca")
        await world.bus.publish(f"delta.{her.session_id}.d1", b"not json")
        await world.bus.publish(f"delta.{her.session_id}.d1", piece.model_dump_json().encode())
        assert (await her.until("delta"))["text"] == "Goal: A ca"

        world.bus.draft = piece.model_copy(update={"text": "Goal: A calculator"}).model_dump_json().encode()
        async with client(address) as other:
            await other.send("resume", session_id=her.session_id)
            snapshot = await other.until("snapshot")
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
        await world.story(her.session_id).commit(c.RecordUsage(calls=(call,)))
        usage = await her.until("usage")
        assert (usage["calls"], usage["prompt_tokens"], usage["cost"]) == (1, 10, 0.5)


async def test_fork(world: World) -> None:
    async with serving(world.app) as address, client(address) as her:
        await world.story("parent").plan()
        await her.send("resume", session_id="parent")
        await her.until("snapshot")
        await her.send("fork", id="f1")
        fork_id = (await her.until("forked"))["fork_id"]
        await her.send("fork", id="f1")
        assert (await her.until("forked"))["fork_id"] == fork_id
        await her.send("resume", session_id=fork_id)
        snapshot = await her.until("snapshot")
        assert (snapshot["parent"], snapshot["version"]) == ("parent", 1)
        await her.send("approval", approved=True)
        assert (await her.event("plan.approved"))["session_id"] == fork_id
        assert (await world.story("parent").load()).phase == "awaiting_approval"


async def test_unavailable_features_say_so(world: World) -> None:
    async with serving(world.app) as address, client(address) as her:
        await her.send("user_message", content="x", workflow="gardening")
        await her.error("not_available")
        await world.story("s").plan()
        await her.send("choose_workflow", session_id="s", workflow="gardening")
        await her.error("not_available")
        assert json.loads((await world.log.read("s"))[-1].data)["type"] == "plan.drafted"


async def test_closing_the_socket_does_not_end_the_session(world: World) -> None:
    async with serving(world.app) as address:
        async with client(address) as her:
            await world.story("s").plan()
            await her.send("resume", session_id="s")
            await her.until("snapshot")
            await her.send("close")
            assert await her.closed() == 1000
        hub = world.app.state.gateway.hub
        assert not hub._channels
        assert not [subject for subject, _ in world.bus.subscribed if subject.startswith(("feed.", "delta."))]
        assert (await world.story("s").load()).phase == "awaiting_approval"


async def test_a_remark_is_answered_and_the_review_stays_open(world: World) -> None:
    async with serving(world.app) as address, client(address) as her:
        story = world.story("r")
        await her.send("user_message", content="A calculator", session_id="r")
        await her.event("message.received")
        await story.drafts()
        review = await her.until("text_plan_review")

        await her.send("user_message", content="Why so short?")
        assert (await her.event("message.received"))["intent"] == "remark"
        await her.send("resume")
        at_work = await her.until("snapshot")
        assert (at_work["phase"], at_work["review"]["hash"]) == ("planning", review["hash"])
        assert {"approval", "edit", "feedback", "stop"} <= set(at_work["can"])
        await story.commit(c.AnswerRemark(text="It is all you asked for."))
        assert (await her.event("remark.answered"))["text"] == "It is all you asked for."
        assert (await her.until("log"))["content"] == "It is all you asked for."
        assert (await her.until("text_plan_review"))["version"] == review["version"]

        await her.send("user_message", content="And for fractions?")
        await her.event("message.received")
        await her.send("approval", approved=True)
        assert (await her.event("plan.approved"))["plan_version"] == review["version"]


async def test_an_unknown_workflow_is_refused_with_a_reason(world: World) -> None:
    async with serving(world.app) as address, client(address) as her:
        await her.send("user_message", content="x", workflow="dance")
        error = await her.error("not_available")
        assert "There is no workflow “dance”." in error["message"]
