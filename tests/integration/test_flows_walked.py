"""Flows over a real bus and the real store, with all four services: planning, questions, approvals, answers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from parley.events.values import Planning, SessionSettings
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.llm import ModelByTask
from shared.settings import Settings
from tests.support.flow_walk import walked
from tests.support.stack import Person, working
from tests.support.store import STORE, orders_now

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
USER: Any = STORE["users"][ORDER["user_id"]]
PENDING = sum(order["status"] == "pending" for order in STORE["orders"].values())
SQL = "SELECT count(*) AS n FROM orders WHERE status = 'pending'"
QUESTION_PATH = (
    *("classify_prompt", "get_relevant_tables", "has_user_approved", "generate_sql"),
    *("validate_sql", "execute_sql", "format_final_response"),
)
COMPLAINT_PATH = ("classify_complaint", "find_customer", "read_order", "assess", "cancel_order", "write_reply")
REPLIES: dict[str, Any] = {
    "classify_prompt": {"category": "data", "reason": ""},
    "get_relevant_tables": {"tables": [{"name": "orders", "reason": "their status"}], "missing": ""},
    "rewrite_prompt": {"question": "How many orders are pending?"},
    "trim_relevant_tables": {"tables": [{"table": "orders", "columns": ["status"]}]},
    "generate_sql": {"sql": SQL, "explanation": "Counts them."},
    "format_final_response": {"text": f"{PENDING} orders.", "chart": "none"},
    "complaint_triage.classify_complaint": {
        "outputs": {
            **{"category": "unwanted", "order_id": ORDER["order_id"], "email": USER["email"], "urgent": False},
            **{"first_name": "", "last_name": "", "zip": ""},
        }
    },
    "complaint_triage.assess": {"outputs": {"remedy": "cancel", "item_ids": [], "reason": "It is still pending."}},
    "complaint_triage.write_reply": {"outputs": {"answer": "Your order is cancelled."}},
}


def path_reply(flow: str, *nodes: str) -> dict[str, Any]:
    return {"paths": [{"flow": flow, "nodes": nodes}], "reasoning": "As usual."}


@asynccontextmanager
async def open_session(
    settings: Settings, bus: Bus, session_id: str, text: str, path: dict[str, Any], **session_settings: Any
) -> AsyncIterator[tuple[Person, ModelByTask]]:
    model = ModelByTask({"path": path} | REPLIES)
    async with working(settings, model):
        ann = Person(bus, session_id)
        await ann.does(c.Say(text=text, workflow="flow", settings=SessionSettings(**session_settings)))
        yield ann, model


async def test_a_question_is_answered_after_its_tables_and_sql_were_approved(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    path = path_reply("text_to_sql", *QUESTION_PATH)
    async with open_session(settings, bus, session_id, "How many orders are pending?", path) as (ann, model):
        paused = await ann.phase("awaiting_input", "failed")
        assert paused.question, paused.failure
        assert paused.question.form
        await ann.does(c.Answer(text=json.dumps({"tables": ["orders"]})))
        await ann.allows()
        session = await ann.phase("resting", "failed")
        assert (session.rest_reason, session.answer.text) == ("answered", f"{PENDING} orders.")
        assert tuple(walked(session)) == QUESTION_PATH
        assert model.prompts[-1].sections("rows") == [f"[{PENDING}]"]
        calling_actions = [call.action_id for event in await ann.events() for call in event.usage]
        assert calling_actions[0] == ""  # the planner's
        # one call for each node that uses a model
        assert len(set(calling_actions[1:])) == len(calling_actions) - 1 == 4


async def test_a_question_about_a_query_that_waits_is_answered_and_the_query_still_waits(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    path = path_reply("text_to_sql", *QUESTION_PATH)
    planning = Planning(flow="text_to_sql")
    question = "How many orders are pending?"
    async with open_session(settings, bus, session_id, question, path, planning=planning) as (ann, model):
        await ann.phase("awaiting_input", "failed")
        await ann.does(c.Answer(text=json.dumps({"tables": ["orders"]})))
        waiting = await ann.phase("awaiting_approval", "failed")
        model.replies["path"] = {"kind": "answer", "text": "It counts them."}
        await ann.does(c.Say(text="What does this query do?"))
        answered = await ann.sees(lambda session: session.reply is None and session.version > waiting.version + 1)
        assert (answered.words.reply, answered.offer, answered.turn) == ("It counts them.", None, waiting.turn)
        assert SQL in model.prompts[-1].sections("waiting")[0]
        await ann.allows()
        assert (await ann.phase("resting", "failed")).answer.text == f"{PENDING} orders."


async def test_a_complaint_uses_the_retail_tools_and_its_change_needs_approval(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    path = path_reply("complaint_triage", *COMPLAINT_PATH)
    async with open_session(settings, bus, session_id, "I don't want it any more", path) as (ann, _):
        waiting = await ann.phase("awaiting_approval", "failed")
        assert waiting.turn, waiting.failure
        spec = next(action.spec for action in waiting.turn.actions if action.spec.approval_reason)
        assert spec.arguments == {"order_id": ORDER["order_id"], "reason": "no longer needed"}
        await ann.allows()
        session = await ann.phase("resting", "failed")
        assert (session.answer.text, tuple(walked(session))) == ("Your order is cancelled.", COMPLAINT_PATH)
    assert (await orders_now(settings))[ORDER["order_id"]]["status"] == "cancelled"


async def test_another_customers_order_is_not_changed(settings: Settings, bus: Bus, session_id: str) -> None:
    other_customer = next(user for user in STORE["users"].values() if ORDER["order_id"] not in user["orders"])
    reply = {"outputs": REPLIES["complaint_triage.classify_complaint"]["outputs"] | {"email": other_customer["email"]}}
    path = path_reply("complaint_triage", *COMPLAINT_PATH)
    async with open_session(settings, bus, session_id, "I don't want it any more", path) as (ann, model):
        model.replies["complaint_triage.classify_complaint"] = reply
        session = await ann.phase("resting", "failed", "awaiting_approval")
        assert walked(session) == ["classify_complaint", "find_customer", "read_order", "write_reply"]
