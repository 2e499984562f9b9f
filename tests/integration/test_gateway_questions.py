"""Three questions at once, over the gateway's sockets, the Python client and the assistant's tools."""

from mcp import Client as McpClient

from cli.gateway import GatewayAddress
from cli.mcp.server import build_server
from parley.client import Parley
from parley.events.values import FurtherQuestion, Option
from shared.domain.kernel import commands as c
from tests.support.gateway import Client, World, client, serving

EXTRAS = (Option(key="1", label="Sound"), Option(key="2", label="High scores"))
ASK = c.Ask(
    text="Which colour?",
    options=("Red", "Blue"),
    further=(FurtherQuestion(text="Which extras?", options=EXTRAS, several=True), FurtherQuestion(text="Its name?")),
)


async def begin(world: World, user: Client) -> None:
    """Sends a request, and lets the planner ask."""
    await user.send("user_message", content="A game")
    first = await user.event("message.received")
    await world.story(first["session_id"]).commit(ASK)


async def test_one_answer_holds_all_and_a_late_one_is_refused(world: World) -> None:
    async with serving(world.app) as address, client(address) as user:
        await begin(world, user)
        question = await user.until("question")
        await user.send("question", content="Red", question_id=question["question_id"], more=["Sound; High scores"])
        assert (await user.until("question"))["content"] == "Its name?"
        await user.send("answer", content="Blue", question_id=question["question_id"])
        assert "no longer open" in (await user.error("stale_version"))["message"]
        await user.send("answer", content="Snake", more=["one too many"])
        await user.error("invalid")
        await user.send("answer", content="Snake", more=["a", "b", "c"])
        await user.error("too_large")
        await user.send("answer", content="Snake")
        assert (await user.event("question.answered"))["place"] == 2


async def test_an_assistant_sees_all_questions_and_answers_them(world: World) -> None:
    async with (
        serving(world.app) as address,
        McpClient(build_server(lambda: GatewayAddress(f"ws://{address}/ws", ""))) as mcp,
    ):
        async with Parley(f"http://{address}") as parley:
            session = await parley.start("A game")
        await world.story(session.id).commit(ASK)
        state = (await mcp.call_tool("read_session", {"session_id": session.id})).structured_content or {}
        question = state["question"]
        assert [each["content"] for each in (question, *question["further"])] == [
            "Which colour?",
            "Which extras?",
            "Its name?",
        ]
        assert [each["several"] for each in question["further"]] == [True, False]
        arguments = {"session_id": session.id, "text": "Red", "more": ["Sound", "Snake"]}
        answered = (await mcp.call_tool("answer_question", arguments)).structured_content or {}
        assert (answered["question"], answered["state"]) == (None, "text_plan_generation")
