"""Plan steps that ask the user or wait for a time, with the real services and broker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from parley.events.values import Service
from services.plan_store.app import PlanStore
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.support.stack import Person, working

SERVICES: tuple[Service, ...] = ("planner", "executor", "verifier", "generator")


def step(number: int, tool: str, *after: str, **arguments: Any) -> StepDraft:
    return StepDraft(id=f"s{number}", tool=tool, arguments=arguments, text=f"Step {number}", after=list(after))


@asynccontextmanager
async def approved_plan(settings: Settings, bus: Bus, session_id: str, *steps: StepDraft) -> AsyncIterator[Person]:
    """The user of a session whose plan of these steps is approved. plan_store wakes it when a wait ends."""
    store = PlanStore(settings)
    async with working(settings, ScriptedModel(StepsDraft(goal="Wait and ask", steps=list(steps))), *SERVICES):
        await store.start()
        try:
            ann = Person(bus, session_id)
            await ann.does(c.Say(text="Wait and ask", workflow="execution_plan"))
            session = await ann.phase("awaiting_approval", "failed")
            assert session.plan, session.failure
            await ann.does(c.Approve(version=session.plan.version, hash=session.plan.hash))
            yield ann
        finally:
            await store.stop()


def results(session: Session) -> dict[str, Any]:
    assert session.turn
    return {action.spec.id.rpartition(".")[2]: action.result for action in session.turn.actions}


async def test_a_plan_asks_the_user_waits_and_continues(settings: Settings, bus: Bus, session_id: str) -> None:
    question = step(1, "ask_person", question="Which tea?", options=["Green", "Black"])
    note = step(2, "write_file", name="tea.md", text="{{steps.s1.output}}")
    waits = step(3, "wait_until", seconds=1)
    after = step(4, "list_files", "s2", "s3")
    async with approved_plan(settings, bus, session_id, question, note, waits, after) as ann:
        paused = await ann.phase("awaiting_input")
        assert paused.question
        assert (paused.question.text, len(paused.question.options)) == ("Which tea?", 2)
        await ann.does(c.Answer(text="Green"))
        noting = await ann.phase("awaiting_approval")  # the approved plan did not contain the text
        assert noting.turn
        action = next(a for a in noting.turn.actions if a.spec.approval_reason)
        assert action.spec.arguments["text"] == "Green"
        await ann.does(c.Approve(version=noting.version, action_id=action.spec.id, hash=action.hash))
        session = await ann.phase("resting", "failed")
        assert session.plan
        assert session.plan.status == "completed", session.answer.text
        assert results(session)["s4"]["files"] == [{"name": "tea.md", "size": 5}]
        assert datetime.fromisoformat(results(session)["s3"]["until"]) <= datetime.now(UTC)


async def test_a_wait_until_a_past_time_ends_at_once(settings: Settings, bus: Bus, session_id: str) -> None:
    past = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    async with approved_plan(settings, bus, session_id, step(1, "wait_until", until=past)) as ann:
        session = await ann.phase("resting", "failed")
        assert results(session) == {"s1": {"until": past}}


@pytest.mark.parametrize(("more", "why"), [({}, "It would wait longer than 90 days."), ({"seconds": 1}, "one of both")])
async def test_an_invalid_wait_is_refused_with_the_reason(
    settings: Settings, bus: Bus, session_id: str, more: dict[str, int], why: str
) -> None:
    far = (datetime.now(UTC) + timedelta(days=100)).isoformat()
    async with approved_plan(settings, bus, session_id, step(1, "wait_until", until=far, **more)) as ann:
        session = await ann.phase("resting", "failed")
        assert session.turn
        assert why in session.turn.actions[0].error


async def test_a_wait_survives_a_restart_of_the_services(settings: Settings, bus: Bus, session_id: str) -> None:
    """The broker has the timer. If it fires while plan_store is down, the sweep of plan_store wakes the session."""
    plan = StepsDraft(goal="Wait", steps=[step(1, "wait_until", seconds=3)])
    ann = Person(bus, session_id)
    async with working(settings, ScriptedModel(plan), *SERVICES):
        store = PlanStore(settings)
        await store.start()
        await ann.does(c.Say(text="Wait", workflow="execution_plan"))
        session = await ann.phase("awaiting_approval", "failed")
        assert session.plan
        await ann.does(c.Approve(version=session.plan.version, hash=session.plan.hash))
        waiting = await ann.phase("waiting")
        await store.stop()
    assert waiting.turn
    until = waiting.turn.actions[0].until
    assert until
    await asyncio.sleep(max((until - datetime.now(UTC)).total_seconds(), 0))  # the timer fires without plan_store
    restarted = PlanStore(settings)
    async with working(settings, ScriptedModel(), *SERVICES):
        await restarted.start()
        try:
            outcome = await ann.phase("resting", "failed")
            assert results(outcome) == {"s1": {"until": until.isoformat()}}
        finally:
            await restarted.stop()
