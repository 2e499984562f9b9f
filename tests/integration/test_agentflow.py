"""The workflow `agentflow` on a real bus and the real retail store: turns, approvals, writes, verdicts, answers."""

from contextlib import AbstractAsyncContextManager
from typing import Any

from pydantic import BaseModel

from packs.retail.policy import RULES
from parley.events import facts
from services.executor.sources.packs import own_world_name
from services.generator.agentflow import AnswerDraft
from services.planner.agentflow_prompt import Planned, TurnDraft
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.support import stack
from tests.support.prompt_sections import sections_of
from tests.support.stack import Person
from tests.support.store import STORE, orders_now

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
USER: Any = STORE["users"][ORDER["user_id"]]
CANCEL = Planned(
    tool="cancel_pending_order",
    arguments={"order_id": ORDER["order_id"], "reason": "no longer needed"},
    text="Cancel it",
)
LOOK = Planned(tool="get_order_details", arguments={"order_id": ORDER["order_id"]})
WHO = Planned(tool="find_user_id_by_email", arguments={"email": USER["email"]})


def turn(*actions: Planned, final: bool = False, **more: Any) -> TurnDraft:
    return TurnDraft(sub_goal="go on", actions=list(actions), final=final, **more)


def answer(text: str = "It is cancelled.", *evidence: str) -> AnswerDraft:
    return AnswerDraft(text=text, confidence=0.9, evidence=list(evidence))


def open_session(
    settings: Settings,
    bus: Bus,
    session_id: str,
    *replies: BaseModel,
    text: str = "Cancel my order",
    **session_settings: Any,
) -> AbstractAsyncContextManager[tuple[Person, ScriptedModel]]:
    return stack.open_session(settings, bus, session_id, *replies, text=text, workflow="agentflow", **session_settings)


async def stored(settings: Settings, world: str) -> Any:
    """The order as this world has it now."""
    return (await orders_now(settings, world))[ORDER["order_id"]]


async def test_a_request_is_planned_approved_carried_out_and_answered(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (turn(WHO), turn(LOOK), turn(CANCEL, final=True), answer("It is cancelled.", "3.1", "9.9"))
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        waiting = await ann.phase("awaiting_approval")
        assert waiting.turn
        assert waiting.turn.actions[0].spec.approval_reason == "it changes something"
        assert (await stored(settings, "shared"))["status"] == "pending"
        await ann.allows()
        session = await ann.phase("resting", "failed")
        assert (session.rest_reason, session.answer.text) == ("answered", "It is cancelled.")
        assert (await stored(settings, "shared"))["status"] == "cancelled"
        events = await ann.events()
        rules = [event.rule for event in events if isinstance(event, facts.TurnVerified)]
        assert rules == ["reads-answered", "reads-answered", "change-shown"]
        assert [event.evidence for event in events if isinstance(event, facts.AnswerGiven)] == [("3.1",)]
        assert [prompt.role for prompt in model.prompts] == ["planner"] * 3 + ["generator"]
        assert USER["email"] in model.prompts[1].text
        assert ORDER["user_id"] in model.prompts[1].text
        assert sections_of(model.prompts[3].text)["rules"].startswith(RULES[0])


async def test_a_query_needs_approval_and_its_result_reaches_the_generator(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    query = Planned(tool="query_database", arguments={"sql": "SELECT count(*) AS n FROM orders"})
    replies = (turn(query, final=True), answer("There are 1000."))
    text = "Query the tables of the database: how many rows has orders?"
    async with open_session(settings, bus, session_id, *replies, text=text, approval="never") as (ann, model):
        waiting = await ann.phase("awaiting_approval")
        assert waiting.turn
        assert waiting.turn.actions[0].spec.approval_reason == "this is the SQL that will run"
        await ann.allows()
        session = await ann.phase("resting", "failed")
        assert session.answer.text == "There are 1000."
        assert [event.rule for event in await ann.events() if isinstance(event, facts.TurnVerified)] == [
            "reads-answered"
        ]
        assert f"[[{len(STORE['orders'])}]]" in model.prompts[1].text
        assert "query_database answers one read-only SQL query" in model.prompts[0].text


async def test_a_session_with_its_own_world_does_not_change_the_shared_one(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (turn(WHO), turn(LOOK), turn(CANCEL, final=True), answer())
    async with open_session(settings, bus, session_id, *replies, world="own", approval="never") as (ann, _):
        await ann.phase("resting", "failed")
        assert (await stored(settings, own_world_name(session_id)))["status"] == "cancelled"
        assert (await stored(settings, "shared"))["status"] == "pending"


async def test_the_user_is_asked_only_once_about_the_same_problem(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (turn(WHO), *[turn(WHO)] * 10, answer("I did not get on."))
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        await ann.sees(lambda session: session.question is not None)
        await ann.does(c.Answer(text="Try again."))
        session = await ann.phase("resting", "failed")
        assert session.answer.text == "I did not get on."
        assert "I could not go on." in model.prompts[-1].text
