"""Who is asked before a polling step calls its tool, with the real executor, plan store and broker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import SessionSettings
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.steps.polling import polls_by_action
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.integration.test_plan_steps import SERVICES, approved_plan, step
from tests.integration.test_polling_plan import fire_poll_timer, polls, wait_for_poll
from tests.support.stack import Person, running_plan_store, working

PROGRAM = {"tool": "run_program", "arguments": {"code": "print('ran', end='')"}, "condition": "output"}


@asynccontextmanager
async def plan_by_setting(
    settings: Settings, bus: Bus, session_id: str, *steps: StepDraft, before: tuple[c.Remember, ...] = (), **more: Any
) -> AsyncIterator[Person]:
    """The user of a session whose plan starts by setting, and who decided on tools before."""
    plan = StepsDraft(goal="Wait", steps=list(steps))
    own = SessionSettings(require_plan_approval=False, recall=False, **more)
    ann, others = Person(bus, session_id), [name for name in SERVICES if name != "planner"]
    async with running_plan_store(settings), working(settings, ScriptedModel(plan), *others):
        await ann.does(c.Say(text="Wait", workflow="execution_plan", settings=own))
        for decision in before:
            await ann.does(decision)
        async with working(settings, ScriptedModel(plan), "planner"):
            yield ann


def polled_values(session: Session) -> list[Any]:
    assert session.turn
    return [action.result for action in session.turn.actions]


@pytest.mark.parametrize(
    ("polled", "before", "more"),
    [
        (PROGRAM, (), {}),
        ({}, (c.Remember(tool="list_files", policy="always"),), {}),
        ({}, (c.Remember(tool="poll_until", policy="always"),), {}),
        ({}, (), {"approval": "always"}),
        (PROGRAM, (c.Remember(tool="poll_until", policy="never"),), {}),
    ],
    ids=["confirmed tool", "asked about tool", "asked about polls", "asked about all", "polls never ask"],
)
async def test_a_polled_call_is_asked_about_like_a_direct_one(
    settings: Settings, bus: Bus, session_id: str, polled: Any, before: Any, more: Any
) -> None:
    draft = polls(**{"condition": "bytes == 0", **polled})
    async with plan_by_setting(settings, bus, session_id, draft, before=before, **more) as ann:
        asked = await ann.phase("awaiting_approval", "resting", "waiting", "failed")
        assert (asked.phase, polled_values(asked)) == ("awaiting_approval", [None])
        assert not [event for event in await ann.events() if isinstance(event, facts.ActionsWaiting)]
        assert asked.turn
        spec = asked.turn.actions[0].spec
        await ann.does(c.Approve(version=asked.version, action_id=spec.id))
        done = await ann.phase("resting", "failed")
        assert polled_values(done) == ["ran" if polled else {"files": [], "bytes": 0}]


@pytest.mark.parametrize(
    ("polled", "before"),
    [({}, ()), (PROGRAM, (c.Remember(tool="run_program", policy="never"),))],
    ids=["plain read", "waived by the user"],
)
async def test_a_polled_call_that_asks_nobody_is_made_at_once(
    settings: Settings, bus: Bus, session_id: str, polled: Any, before: Any
) -> None:
    draft = polls(**{"condition": "bytes == 0", **polled})
    async with plan_by_setting(settings, bus, session_id, draft, before=before) as ann:
        done = await ann.phase("awaiting_approval", "resting", "failed")
        assert (done.phase, polled_values(done)) == ("resting", ["ran" if polled else {"files": [], "bytes": 0}])


async def test_a_polled_tool_that_asks_before_the_step_begins_is_not_called(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    """The policy changes after the plan has begun, and before its polling step does."""
    question = step(2, "ask_person", question="Shall I go on?")
    polling = polls(condition="bytes == 0").model_copy(update={"after": ["s2"]})
    async with plan_by_setting(settings, bus, session_id, question, polling) as ann:
        await ann.phase("awaiting_input")
        await ann.does(c.Remember(tool="list_files", policy="always"))
        await ann.does(c.Answer(text="Yes"))
        asked = await ann.phase("awaiting_approval", "resting", "failed")
        assert asked.phase == "awaiting_approval"


async def test_no_further_poll_is_made_once_its_tool_asks(settings: Settings, bus: Bus, session_id: str) -> None:
    async with plan_by_setting(settings, bus, session_id, polls()) as ann:
        first = await wait_for_poll(ann)
        await ann.does(c.Remember(tool="list_files", policy="always"))
        assert await fire_poll_timer(bus, first, polls=1) == 2
        refused = await ann.sees(lambda session: any(poll.error for poll in polls_by_action(session).values()))
        error = polls_by_action(refused)["t2.s1"].error
        assert error == "list_files asks before each call by now: stop the plan and retry it to be asked."
        await ann.does(c.Stop())
        await ann.does(c.Retry())
        asked = await ann.phase("awaiting_approval", "waiting", "failed")
        assert asked.phase == "awaiting_approval"


async def test_the_approval_of_the_plan_covers_its_polls(settings: Settings, bus: Bus, session_id: str) -> None:
    async with approved_plan(settings, bus, session_id, polls(**PROGRAM)) as ann:
        assert polled_values(await ann.phase("resting", "failed")) == ["ran"]
