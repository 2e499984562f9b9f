"""Flows with the rehearsal model, over a real bus and the real store: nothing is scripted but the person."""

import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import SessionSettings
from services.gateway.rest import flow_requests
from services.gateway.rest.flow_models import ChatRequest
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.session import Session
from shared.settings import Settings
from tests.support.rehearsed import rehearsed
from tests.support.stack import Person, working
from tests.support.store import STORE
from tests.support.walking import walked

PENDING = [order for order in STORE["orders"].values() if order["status"] == "pending"]
OVER = ("resting", "failed", "awaiting_input", "awaiting_approval")
Says = Callable[..., Coroutine[Any, Any, Session]]


@asynccontextmanager
async def talking(settings: Settings, bus: Bus, session_id: str) -> AsyncIterator[tuple[Person, Says]]:
    """Somebody who says one thing after the other and waits for what comes of it."""
    async with rehearsed(settings) as model, working(model.settings, model.model):
        ann = Person(bus, session_id)

        async def says(text: str, **wanted: Any) -> Session:
            chosen = SessionSettings(**({"confirm": "nothing"} | wanted))
            await ann.does(c.Say(text=text, workflow="flow", settings=chosen))
            return await ann.phase(*OVER)

        yield ann, says


def outputs(session: Session, node: str) -> Any:
    assert session.turn
    found = [a.result for a in session.turn.actions if a.spec.tool.endswith(f".{node}") and a.status == "finished"]
    return found[-1] if found else None


async def test_a_question_and_one_that_goes_on_from_it(settings: Settings, bus: Bus, session_id: str) -> None:
    async with talking(settings, bus, session_id) as (_, says):
        done = await says("How many orders are pending?")
        assert outputs(done, "execute_sql")["result"]["rows"] == [[len(PENDING)]], done.answer.text
        assert str(len(PENDING)) in done.answer.text
        texan = [order for order in PENDING if order["address"]["state"] == "TX"]
        then = await says("only in Texas")
        assert outputs(then, "execute_sql")["result"]["rows"] == [[len(texan)]], then.answer.text


async def test_a_query_that_is_given_is_mended(settings: Settings, bus: Bus, session_id: str) -> None:
    async with talking(settings, bus, session_id) as (_, says):
        done = await says("Fix this SQL: SELEC COUNT(*) FROM orders WHERE status = 'pending'")
        assert walked(done)[0] == "validate_sql"
        assert outputs(done, "execute_sql")["result"]["rows"] == [[len(PENDING)]], done.answer.text


@pytest.mark.parametrize("planning", [{}, {"use_planning": False, "flow": "text_to_sql"}])
async def test_a_query_is_explained_without_being_run(
    settings: Settings, bus: Bus, session_id: str, planning: dict[str, Any]
) -> None:
    async with talking(settings, bus, session_id) as (_, says):
        done = await says("Explain this SQL: SELECT state, COUNT(*) FROM orders GROUP BY state", planning=planning)
        assert walked(done)[-1] == "general_questions"
        assert outputs(done, "execute_sql") is None
        assert done.answer.text.startswith(
            "It reads orders. It shows state, COUNT(*). It makes one row for each state."
        )


@pytest.mark.parametrize("question", ["Average order value?", "Best customer?", "Revenue by month"])
async def test_a_measure_that_no_column_holds_is_not_guessed_but_answered_by_examples(
    settings: Settings, bus: Bus, session_id: str, question: str
) -> None:
    async with talking(settings, bus, session_id) as (_, says):
        done = await says(question, planning={"flow": "text_to_sql"})
        assert (done.phase, outputs(done, "execute_sql")) == ("resting", None), done.answer.text
        examples = re.findall("“([^”]+)”", done.answer.text.partition("Try: ")[2])
        assert len(examples) == 3, done.answer.text
        for example in examples:
            works = await says(example, planning={"flow": "text_to_sql"})
            assert outputs(works, "execute_sql")["result"]["rows"], works.answer.text


@pytest.mark.parametrize("request_text", ["DELETE FROM orders", "Delete all orders", "What is the salary of the CEO?"])
async def test_what_must_not_or_cannot_be_done_is_refused(
    settings: Settings, bus: Bus, session_id: str, request_text: str
) -> None:
    async with talking(settings, bus, session_id) as (_, says):
        done = await says(request_text, planning={"flow": "text_to_sql"})
        assert (done.phase, outputs(done, "execute_sql")) == ("resting", None), done.answer.text
        assert done.answer.text.startswith(("This is not done", "The data cannot answer", "The query was not run"))


async def test_a_complaint_cancels_what_was_approved(settings: Settings, bus: Bus, session_id: str) -> None:
    order: Any = PENDING[0]
    email = STORE["users"][order["user_id"]]["email"]
    async with talking(settings, bus, session_id) as (ann, says):
        text = (
            f"I want to complain: I no longer need order {order['order_id']}, please cancel it. My e-mail is {email}."
        )
        asked = await says(text)
        assert asked.phase == "awaiting_approval", (asked.answer.text, asked.question)
        assert asked.turn
        action = next(one for one in asked.turn.actions if one.status == "planned" and one.spec.approval_reason)
        assert action.spec.tool == "complaint_triage.cancel_order"
        await ann.does(c.Approve(version=asked.version, action_id=action.spec.id, hash=action.hash))
        done = await ann.phase("resting", "failed")
        assert outputs(done, "cancel_order")["done"]["status"] == "cancelled"
        assert "cancelled" in done.answer.text


async def test_the_full_graph_is_walked_by_its_conditions(settings: Settings, bus: Bus, session_id: str) -> None:
    planning = {"use_planning": False}  # of the first flow, where none is named
    async with talking(settings, bus, session_id) as (ann, says):
        done = await says("Hello, what can you do?", planning=planning)
        assert walked(done) == ["classify_prompt", "general_questions"]
        changes = [event.reason for event in await ann.events() if isinstance(event, facts.TurnChanged)]
        assert changes == ['classify_prompt: kind == "general"']
        done = await says("How many orders are pending?", planning=planning)
        assert outputs(done, "execute_sql")["result"]["rows"] == [[len(PENDING)]], done.answer.text


async def _chats(ann: Person, *messages: str, **planning: Any) -> Session:
    """What /api/chat makes of a new session's messages, whose last one is the request."""
    chat = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(messages)]
    *before, last = (asked := ChatRequest(messages=chat, **planning)).messages
    said = flow_requests.first(asked, last.content, before, confirm="nothing")
    await ann.does(c.Say(text=said.content, workflow=said.workflow, settings=said.settings, knowledge=said.knowledge))
    return await ann.phase(*OVER)


@pytest.mark.parametrize("planning", [{}, {"use_planning": False}])
async def test_the_earlier_messages_of_a_chat_are_what_the_last_one_goes_on_from(
    settings: Settings, bus: Bus, session_id: str, planning: dict[str, Any]
) -> None:
    async with talking(settings, bus, session_id) as (ann, says):
        done = await _chats(ann, "How many pending?", str(len(PENDING)), "Only in Oregon", **planning)
        there = [order for order in PENDING if order["address"]["state"] == "OR"]
        assert outputs(done, "execute_sql")["result"]["rows"] == [[len(there)]], done.answer.text or done.question
        anew = await says("How many users are there?", planning=planning)
        assert outputs(anew, "execute_sql")["result"]["rows"] == [[len(STORE["users"])]], anew.answer.text


async def test_a_statement_of_an_earlier_message_is_mended(settings: Settings, bus: Bus, session_id: str) -> None:
    async with talking(settings, bus, session_id) as (ann, _):
        done = await _chats(ann, "SELEC count(*) FORM orders", "That is no SQL.", "Fix this SQL")
        assert walked(done)[0] == "validate_sql"
        assert outputs(done, "execute_sql")["result"]["rows"] == [[len(STORE["orders"])]], done.answer.text


async def test_a_statement_that_is_not_there_is_asked_for(settings: Settings, bus: Bus, session_id: str) -> None:
    async with talking(settings, bus, session_id) as (ann, _):
        asked = await _chats(ann, "Fix this SQL", use_planning=True)
        assert asked.question, asked.answer.text
        assert "paste the statement" in asked.question.text
        await ann.does(c.Answer(text="SELEC count(*) FORM orders"))
        done = await ann.phase(*OVER)
        assert outputs(done, "execute_sql")["result"]["rows"] == [[len(STORE["orders"])]], done.answer.text
