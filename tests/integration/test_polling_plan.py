"""Polling steps, with the real executor, plan store and broker: timeouts, and restarts of the executor."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from parley.events import facts
from services.plan_store.scheduler.polling import WAKE, PollProgress, WakeTimer, read_timer
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.steps.polling import polls_by_action
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.integration.test_plan_steps import SERVICES, approved_plan, results, step
from tests.support.stack import Person, running_plan_store, working
from tests.support.timeouts import WAIT_TIMEOUT

WITHOUT_EXECUTOR = tuple(service for service in SERVICES if service != "executor")


def polls(**more: Any) -> StepDraft:
    """A step that lists the session's files until there is one."""
    polls = {"tool": "list_files", "arguments": {}, "condition": "files", "every": 10, "at_most": 600}
    return StepDraft(id="s1", tool="poll_until", arguments=polls | more, text="Wait for a file")


async def wait_for_poll(ann: Person, polls: int = 1) -> Session:
    """The session when `polls` polls are recorded."""
    return await ann.sees(lambda session: any(poll.polls >= polls for poll in polls_by_action(session).values()))


async def fire_poll_timer(bus: Bus, session: Session, polls: int) -> int:
    """Fire the plan store's timer now, as after `polls` polls. Returns the number of polls afterwards."""
    rearmed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def on_timer(_: str, data: bytes) -> None:
        if not rearmed.done():
            rearmed.set_result(read_timer(data).polls["t2.s1"].polls)

    began = polls_by_action(session)["t2.s1"].began
    past = datetime.now(UTC) - timedelta(seconds=1)
    timer = WakeTimer(at=past, polls={"t2.s1": PollProgress(began=began, polls=polls, next_poll=past)})
    subscription = await bus.subscribe(f"timer.{session.id}.{WAKE}", on_timer)
    try:
        await bus.client.publish(f"timerfired.{session.id}.{WAKE}", timer.model_dump_json().encode())
        return await asyncio.wait_for(rearmed, WAIT_TIMEOUT)
    finally:
        await subscription.stop()


async def test_a_poll_fails_when_its_condition_is_not_met_in_time(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    async with approved_plan(settings, bus, session_id, polls(at_most=10)) as ann:
        session = await ann.phase("resting", "failed")
        assert session.turn
        action = session.turn.actions[0]
        assert (action.status, action.error) == ("failed", "gave up after 2 checks: the condition was not met")
        polled = [event for event in await ann.events() if isinstance(event, facts.ActionWaited)]
        assert [(event.polls, event.end) for event in polled] == [(1, None), (2, "given_up")]
        assert polled[1].at - polled[0].at > timedelta(seconds=9)


async def test_polling_continues_while_other_steps_run_and_outputs_the_last_result(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    questions = step(2, "ask_person", question="Shall I go on?")
    writes = step(3, "write_file", "s2", name="tea.md", text="Green")
    reads = step(4, "read_file", "s1", name="{{steps.s1.output.files[0].name}}")
    async with approved_plan(settings, bus, session_id, polls(), questions, writes, reads) as ann:
        await ann.phase("awaiting_input")
        first = await wait_for_poll(ann)
        assert polls_by_action(first)["t2.s1"].value == {"files": [], "bytes": 0}
        assert await fire_poll_timer(bus, first, polls=4) == 5
        await ann.does(c.Answer(text="Yes"))
        waiting = await ann.phase("waiting")
        assert await fire_poll_timer(bus, waiting, polls=5) == 6
        session = await ann.phase("resting", "failed")
        assert session.plan
        assert session.plan.status == "completed", session.answer.text
        assert results(session)["s1"]["files"][0]["name"] == "tea.md"
        polled = [event for event in await ann.events() if isinstance(event, facts.ActionWaited)]
        assert [(event.polls, event.end) for event in polled] == [(1, None), (6, "met")], (
            "the fifth poll changed nothing"
        )
        assert (session.spent.tool_calls, session.spent.seconds > 0) == (8, True)


async def test_polling_continues_while_the_executor_is_down(settings: Settings, bus: Bus, session_id: str) -> None:
    plan = StepsDraft(goal="Wait", steps=[polls(condition="output == 'never' or files")])
    ann = Person(bus, session_id)
    async with running_plan_store(settings), working(settings, ScriptedModel(plan), *WITHOUT_EXECUTOR):
        async with working(settings, ScriptedModel(), "executor"):
            await ann.says("Wait", "execution_plan")
            await ann.approves()
            first = await wait_for_poll(ann)
        assert await fire_poll_timer(bus, first, polls=1) == 2, "the next timer is set before the executor is asked"
        still = (await ann.load()).session
        assert (still.phase, still.version) == ("waiting", first.version), "a missing reply is not recorded as a value"
        async with working(settings, ScriptedModel(), "executor"):
            assert await fire_poll_timer(bus, still, polls=999) == 1_000
            ended = await ann.phase("resting", "failed")
    assert ended.turn
    assert ended.turn.actions[0].error == "gave up after 1,000 checks: the condition was not met"


async def test_a_pause_suspends_polling_and_a_stop_ends_it(settings: Settings, bus: Bus, session_id: str) -> None:
    async with approved_plan(settings, bus, session_id, polls()) as ann:
        first = await wait_for_poll(ann)
        await ann.does(c.Pause())
        assert await fire_poll_timer(bus, first, polls=7) == 7
        await ann.does(c.Resume())
        assert await fire_poll_timer(bus, (await ann.load()).session, polls=7) == 8
        await ann.does(c.Stop())
        stopped = await ann.phase("resting")
        assert polls_by_action(stopped) == {}
