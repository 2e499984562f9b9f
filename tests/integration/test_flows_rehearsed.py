"""Flows with the rehearsal model, a real bus and the real store. Only the user is scripted."""

import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import SessionSettings
from services.gateway.rest import flows
from services.gateway.rest.flow_models import ChatRequest
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session, undecided_actions
from shared.settings import Settings
from tests.support.flow_walk import walked
from tests.support.rehearsal_server import rehearsal_server
from tests.support.stack import Person, working
from tests.support.store import STORE

PENDING = [order for order in STORE["orders"].values() if order["status"] == "pending"]
ENDED = ("resting", "failed", "awaiting_input", "awaiting_approval")
SendAndWait = Callable[..., Coroutine[Any, Any, Session]]


@asynccontextmanager
async def user_session(settings: Settings, bus: Bus, session_id: str) -> AsyncIterator[tuple[Person, SendAndWait]]:
    """A user who sends messages one after the other, and a function that sends one and waits for the outcome."""
    async with rehearsal_server(settings) as model, working(model.settings, model.model):
        ann = Person(bus, session_id)

        async def send(text: str, **planning: Any) -> Session:
            chosen = SessionSettings(**({"confirm": "nothing"} | planning))
            await ann.does(c.Say(text=text, workflow="flow", settings=chosen))
            return await ann.phase(*ENDED)

        yield ann, send


def outputs(session: Session, node: str) -> Any:
    assert session.turn
    results = [a.result for a in session.turn.actions if a.spec.tool.endswith(f".{node}") and a.status == "finished"]
    return results[-1] if results else None


async def test_a_question_and_its_follow_up(settings: Settings, bus: Bus, session_id: str) -> None:
    async with user_session(settings, bus, session_id) as (_, send):
        outcome = await send("How many orders are pending?")
        assert outputs(outcome, "execute_sql")["result"]["rows"] == [[len(PENDING)]], outcome.answer.text
        assert str(len(PENDING)) in outcome.answer.text
        texan = [order for order in PENDING if order["address"]["state"] == "TX"]
        follow_up = await send("only in Texas")
        assert outputs(follow_up, "execute_sql")["result"]["rows"] == [[len(texan)]], follow_up.answer.text


async def test_a_given_query_is_repaired(settings: Settings, bus: Bus, session_id: str) -> None:
    async with user_session(settings, bus, session_id) as (_, send):
        outcome = await send("Fix this SQL: SELEC COUNT(*) FROM orders WHERE status = 'pending'")
        assert walked(outcome)[0] == "validate_sql"
        assert outputs(outcome, "execute_sql")["result"]["rows"] == [[len(PENDING)]], outcome.answer.text


@pytest.mark.parametrize("planning", [{}, {"use_planning": False, "flow": "text_to_sql"}])
async def test_a_query_is_explained_without_running_it(
    settings: Settings, bus: Bus, session_id: str, planning: dict[str, Any]
) -> None:
    async with user_session(settings, bus, session_id) as (_, send):
        outcome = await send("Explain this SQL: SELECT state, COUNT(*) FROM orders GROUP BY state", planning=planning)
        assert walked(outcome)[-1] == "general_questions"
        assert outputs(outcome, "execute_sql") is None
        assert outcome.answer.text.startswith(
            "It reads orders. It shows state, COUNT(*). It makes one row for each state."
        )


@pytest.mark.parametrize("question", ["Average order value?", "Best customer?", "Revenue by month"])
async def test_a_measure_without_a_column_is_refused_with_examples(
    settings: Settings, bus: Bus, session_id: str, question: str
) -> None:
    async with user_session(settings, bus, session_id) as (_, send):
        session = await send(question, planning={"flow": "text_to_sql"})
        assert (session.phase, outputs(session, "execute_sql")) == ("resting", None), session.answer.text
        examples = re.findall("“([^”]+)”", session.answer.text.partition("Try: ")[2])
        assert len(examples) == 3, session.answer.text
        for example in examples:
            answered = await send(example, planning={"flow": "text_to_sql"})
            assert outputs(answered, "execute_sql")["result"]["rows"], answered.answer.text


@pytest.mark.parametrize("request_text", ["DELETE FROM orders", "Delete all orders", "What is the salary of the CEO?"])
async def test_unsafe_and_unanswerable_requests_are_refused(
    settings: Settings, bus: Bus, session_id: str, request_text: str
) -> None:
    async with user_session(settings, bus, session_id) as (_, send):
        session = await send(request_text, planning={"flow": "text_to_sql"})
        assert (session.phase, outputs(session, "execute_sql")) == ("resting", None), session.answer.text
        assert session.answer.text.startswith(("This is not done", "The data cannot answer", "The query was not run"))


async def test_a_complaint_cancels_the_order_after_approval(settings: Settings, bus: Bus, session_id: str) -> None:
    order: Any = PENDING[0]
    email = STORE["users"][order["user_id"]]["email"]
    async with user_session(settings, bus, session_id) as (ann, send):
        text = (
            f"I want to complain: I no longer need order {order['order_id']}, please cancel it. My e-mail is {email}."
        )
        session = await send(text)
        assert session.phase == "awaiting_approval", (session.answer.text, session.question)
        (action,) = undecided_actions((await ann.allows()).turn)
        assert action.spec.tool == "complaint_triage.cancel_order"
        outcome = await ann.phase("resting", "failed")
        assert outputs(outcome, "cancel_order")["done"]["status"] == "cancelled"
        assert "cancelled" in outcome.answer.text


async def test_without_planning_the_conditions_of_the_graph_choose_the_nodes(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    planning = {"use_planning": False}  # the first flow, as the request names none
    async with user_session(settings, bus, session_id) as (ann, send):
        outcome = await send("Hello, what can you do?", planning=planning)
        assert walked(outcome) == ["classify_prompt", "general_questions"]
        changes = [event.reason for event in await ann.events() if isinstance(event, facts.TurnChanged)]
        assert changes == ['classify_prompt: kind == "general"']
        outcome = await send("How many orders are pending?", planning=planning)
        assert outputs(outcome, "execute_sql")["result"]["rows"] == [[len(PENDING)]], outcome.answer.text


async def _session_from_chat(ann: Person, *messages: str, **planning: Any) -> Session:
    """A new session from a chat's messages, as /api/chat creates it. The last message is the request."""
    chat = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(messages)]
    *before, last = (request := ChatRequest(messages=chat, **planning)).messages
    message = flows.first_message(request, last.content, before, confirm="nothing")
    await ann.does(
        c.Say(text=message.content, workflow=message.workflow, settings=message.settings, knowledge=message.knowledge)
    )
    return await ann.phase(*ENDED)


@pytest.mark.parametrize("planning", [{}, {"use_planning": False}])
async def test_the_last_message_of_a_chat_follows_up_the_earlier_ones(
    settings: Settings, bus: Bus, session_id: str, planning: dict[str, Any]
) -> None:
    async with user_session(settings, bus, session_id) as (ann, send):
        outcome = await _session_from_chat(ann, "How many pending?", str(len(PENDING)), "Only in Oregon", **planning)
        in_oregon = [order for order in PENDING if order["address"]["state"] == "OR"]
        assert outputs(outcome, "execute_sql")["result"]["rows"] == [[len(in_oregon)]], (
            outcome.answer.text or outcome.question
        )
        unrelated = await send("How many users are there?", planning=planning)
        assert outputs(unrelated, "execute_sql")["result"]["rows"] == [[len(STORE["users"])]], unrelated.answer.text


async def test_a_statement_of_an_earlier_message_is_repaired(settings: Settings, bus: Bus, session_id: str) -> None:
    async with user_session(settings, bus, session_id) as (ann, _):
        outcome = await _session_from_chat(ann, "SELEC count(*) FORM orders", "That is no SQL.", "Fix this SQL")
        assert walked(outcome)[0] == "validate_sql"
        assert outputs(outcome, "execute_sql")["result"]["rows"] == [[len(STORE["orders"])]], outcome.answer.text


async def test_the_flow_asks_for_a_missing_statement(settings: Settings, bus: Bus, session_id: str) -> None:
    async with user_session(settings, bus, session_id) as (ann, _):
        session = await _session_from_chat(ann, "Fix this SQL", use_planning=True)
        assert session.question, session.answer.text
        assert "paste the statement" in session.question.text
        await ann.does(c.Answer(text="SELEC count(*) FORM orders"))
        outcome = await ann.phase(*ENDED)
        assert outputs(outcome, "execute_sql")["result"]["rows"] == [[len(STORE["orders"])]], outcome.answer.text
