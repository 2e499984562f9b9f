"""Budgets for tool calls and time, with the real services: they are checked before a batch, never during one."""

from datetime import UTC, datetime, timedelta

from parley.events.values import SessionSettings
from services.planner.execution_plan_prompt import StepsDraft
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition, commit
from shared.settings import Settings
from tests.integration.test_waiting_plan import SERVICES, results, step
from tests.support.stack import Person, working


async def test_a_plan_over_its_call_budget_asks_before_the_next_batch(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    """Both calls of the first batch end, although the budget allows only one."""
    steps = [
        *(step(number, "list_files") for number in (1, 2)),
        step(3, "write_file", "s1", "s2", name="a.md", text="{{steps.s1.output.bytes}} bytes"),
    ]
    plan = StepsDraft(goal="List and note", steps=steps)
    async with working(settings, ScriptedModel(plan), *SERVICES):
        ann = Person(bus, session_id)
        limits = SessionSettings(call_budget=1)
        await ann.does(c.Say(text="List and note", workflow="execution_plan", settings=limits))
        session = await ann.phase("awaiting_approval", "failed")
        assert session.plan, session.failure
        await ann.does(c.Approve(version=session.plan.version, hash=session.plan.hash))
        paused = await ann.phase("awaiting_input")
        assert paused.question
        assert (paused.question.about, paused.spent.tool_calls) == ("budget", 2)
        assert list(results(paused).values())[:2] == [{"files": [], "bytes": 0}] * 2
        await ann.does(c.Answer(text=paused.question.options[0].label))
        noting = await ann.phase("awaiting_approval", "failed")
        assert noting.turn
        assert noting.settings.call_budget == 4
        action = next(a for a in noting.turn.actions if a.spec.approval_reason)
        await ann.does(c.Approve(version=noting.version, action_id=action.spec.id, hash=action.hash))
        ended = await ann.phase("resting", "failed")
        assert ended.plan
        assert (ended.plan.status, ended.spent.tool_calls) == ("completed", 3)


async def test_a_batch_does_not_start_when_the_time_budget_is_used_up(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    """The first event is an hour old, and the time since then counts as work because a service was due."""
    say = c.Say(text="List", workflow="execution_plan", settings=SessionSettings(time_budget=60))
    an_hour_ago = CommandMeta("user:ann", datetime.now(UTC) - timedelta(hours=1), id="c1")
    await commit(bus.log, SessionAtPosition(Session(session_id), 0), say, an_hour_ago)
    ann = Person(bus, session_id)
    async with working(settings, ScriptedModel(StepsDraft(goal="List", steps=[step(1, "list_files")])), *SERVICES):
        session = await ann.phase("awaiting_approval", "failed")
        assert session.plan, "the budget is checked only before a batch"
        assert session.spent.seconds > 3_500
        await ann.does(c.Approve(version=session.plan.version, hash=session.plan.hash))
        paused = await ann.phase("awaiting_input")
        assert paused.question
        assert (paused.question.about, paused.spent.tool_calls) == ("budget", 0)
        await ann.does(c.RaiseBudget(seconds=7_200))
        ended = await ann.phase("resting", "failed")
        assert ended.plan
        assert (ended.plan.status, ended.settings.time_budget) == ("completed", 7_260)
