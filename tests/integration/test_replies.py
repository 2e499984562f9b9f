"""Messages while a plan is carried out: answered beside it, or by an offer that is taken or kept."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.events import SessionEvent, facts
from parley.events.values import SessionSettings
from parley.reply import WordsDraft
from services.generator.agentflow import AnswerDraft
from services.planner.agentflow_prompt import NothingToDo, Planned, TurnDraft
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.llm.scripted import Scripted
from shared.settings import Settings
from tests.support import stack
from tests.support.held_tools import HeldModel, HeldTools
from tests.support.stack import Person, working

QUESTION, ANSWER = "How long will it take?", WordsDraft(text="Not long.")


def step(name: str, tool: str, *after: str) -> StepDraft:
    return StepDraft(id=name, tool=tool, arguments={"what": name}, text=f"{tool} at {name}", after=list(after))


A, B, C = step("a", "look"), step("b", "look", "a"), step("c", "send", "b")


def plan(*steps: StepDraft, **more: Any) -> StepsDraft:
    return StepsDraft(goal="Look, then send", steps=list(steps), **more)


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> HeldTools:
    tools = HeldTools()
    monkeypatch.setitem(stack.BUILD, "executor", tools.build)
    return tools


@asynccontextmanager
async def executing(
    settings: Settings, bus: Bus, session_id: str, *replies: Scripted, **session_settings: Any
) -> AsyncIterator[tuple[Person, HeldModel]]:
    """A session whose plan, the first reply, is approved."""
    model = HeldModel(*replies)
    async with working(settings, model):
        ann = Person(bus, session_id)
        await ann.says("Look and send", "execution_plan", **session_settings)
        await ann.approves()
        yield ann, model


def started(events: list[SessionEvent]) -> list[str]:
    """The steps that were started, in order."""
    starts = (event for event in events if isinstance(event, facts.ActionsStarted))
    return [action.action_id.rpartition(".")[2] for start in starts for action in start.actions]


async def kinds(ann: Person) -> list[str]:
    return [event.type for event in await ann.events() if event.type != "usage.recorded"]


async def test_a_question_is_answered_while_reads_go_on_and_the_write_waits(
    settings: Settings, bus: Bus, session_id: str, tools: HeldTools
) -> None:
    tools.calls["a"].hold()
    async with executing(settings, bus, session_id, plan(A, B, C), ANSWER) as (ann, model):
        await tools.calls["a"].arrived()
        model.writing.hold()
        await ann.does(c.Say(text=QUESTION))
        await model.writing.arrived()
        tools.calls["a"].release()
        held = await ann.sees(lambda session: session.work is None)
        assert (held.phase, held.reply is not None, tools.made) == ("executing", True, ["a", "b"])
        model.writing.release()
        ended = await ann.phase("resting", "failed")
        assert (ended.plan and ended.plan.status, ended.words.reply) == ("completed", ANSWER.text)
        assert (tools.made, ended.words.unread) == (["a", "b", "c"], ())
        said = await kinds(ann)
        asked, answered = said.index("message.received", 1), said.index("remark.answered")
        assert said[asked:answered] == ["message.received", "actions.finished", "actions.started", "actions.finished"]
        assert said[answered + 1 :] == ["actions.started", "actions.finished", "turn.verified", "answer.given"]
        assert model.prompts[1].sections("message") == [QUESTION]


async def test_an_offer_that_is_taken_is_reviewed_and_finished_steps_are_not_repeated(
    settings: Settings, bus: Bus, session_id: str, tools: HeldTools
) -> None:
    tools.calls["a"].hold()
    other = plan(A, step("d", "send", "a"), say="d instead of c, then.")
    async with executing(settings, bus, session_id, plan(A, B, C), other) as (ann, _):
        await tools.calls["a"].arrived()
        await ann.does(c.Say(text="Send d instead"))
        tools.calls["a"].release()
        offered = await ann.sees(lambda session: session.offer is not None and session.work is None)
        assert (offered.phase, tools.made, offered.plan and offered.plan.number) == ("executing", ["a", "b"], 1)
        await ann.does(c.TakeOffer(version=offered.offer.version))  # type: ignore[union-attr]
        taken = await ann.approves()
        assert (taken.plan and taken.plan.number, taken.offer, taken.task) == (2, None, offered.task)
        ended = await ann.phase("resting", "failed")
        assert (ended.plan and ended.plan.status, tools.made) == ("completed", ["a", "b", "d"])
        assert started(await ann.events()) == ["a", "b", "d"]


async def test_a_message_before_the_start_of_a_write_prevents_it(
    settings: Settings, bus: Bus, session_id: str, tools: HeldTools
) -> None:
    """The executor has the work in its hands already."""
    tools.begin.hold()
    send, words = step("c", "send"), WordsDraft(text="It is kept.")
    async with executing(settings, bus, session_id, plan(send), plan(A), words) as (ann, model):
        await tools.begin.arrived()
        await ann.does(c.Say(text="Keep it"))
        tools.begin.release()
        offered = await ann.sees(lambda session: session.offer is not None)
        assert (offered.phase, offered.work) == ("executing", None)
        await ann.does(c.Say(text="What happens to it now?"))
        await ann.sees(lambda session: session.words.reply == words.text)
        assert (tools.made, started(await ann.events())) == ([], [])
        await ann.does(c.TakeOffer())
        await ann.approves()
        ended = await ann.phase("resting", "failed")
        assert (ended.plan and ended.plan.status, tools.made) == ("completed", ["a"])
        assert len(model.prompts) == 3


@pytest.mark.redelivers
async def test_a_reply_whose_planner_was_ended_is_made_once_by_the_next_one(
    settings: Settings, bus: Bus, session_id: str, tools: HeldTools
) -> None:
    first, second = HeldModel(plan(A, B, C), ANSWER), HeldModel(ANSWER)
    tools.calls["a"].hold()
    async with working(settings, first, "executor", "verifier", "generator"):
        ann = Person(bus, session_id)
        async with working(settings.model_copy(update={"graceful_timeout": 0.1}), first, "planner"):
            await ann.does(c.Say(text="Look and send", workflow="execution_plan"))
            await ann.approves()
            await tools.calls["a"].arrived()
            first.writing.hold()
            await ann.does(c.Say(text=QUESTION))
            await first.writing.arrived()
        tools.calls["a"].release()
        held = await ann.sees(lambda session: session.work is None)
        assert (held.reply is not None, tools.made) == (True, ["a", "b"])
        async with working(settings, second, "planner"):
            ended = await ann.phase("resting", "failed")
    assert (ended.plan and ended.plan.status, tools.made) == ("completed", ["a", "b", "c"])
    assert (await kinds(ann)).count("remark.answered") == 1
    assert [prompt.sections("message") for prompt in (first.prompts[1], *second.prompts)] == [[QUESTION], [QUESTION]]


# --- turns of tools: the next one takes the message in


def call(what: str, tool: str, *after: int) -> Planned:
    return Planned(tool=tool, arguments={"what": what}, depends_on=list(after))


async def begin_turn(ann: Person) -> None:
    await ann.does(c.Say(text="Look and send", workflow="agentflow", settings=SessionSettings(approval="never")))


@pytest.mark.parametrize("held", ["a", "begin"])
async def test_a_message_before_the_start_of_a_turns_write_leads_to_another_turn(
    settings: Settings, bus: Bus, session_id: str, tools: HeldTools, held: str
) -> None:
    """It comes while the read before the write runs, or when the executor has the write in its hands."""
    reads = [call("a", "look")] if held == "a" else []
    send = call("c", "send", *(number for number, _ in enumerate(reads, 1)))
    first = TurnDraft(sub_goal="send", actions=[*reads, send])
    hold = tools.begin if held == "begin" else tools.calls["a"]
    hold.hold()
    model = HeldModel(first, NothingToDo(reason="It is kept."), AnswerDraft(text="It is kept.", confidence=1))
    async with working(settings, model):
        ann = Person(bus, session_id)
        await begin_turn(ann)
        await hold.arrived()
        await ann.does(c.Say(text="Keep it"))
        hold.release()
        ended = await ann.phase("resting", "failed")
        assert (ended.answer.text, tools.made) == ("It is kept.", ["a"] if reads else [])
        assert model.prompts[1].sections("message") == ["Keep it"]
        assert "c" not in started(await ann.events())


# --- what else one event could make due


@pytest.mark.parametrize("following", [[B, C], [step("c", "send", "a")]])
async def test_a_plan_that_is_resumed_while_a_message_is_answered_goes_on_to_its_end(
    settings: Settings, bus: Bus, session_id: str, tools: HeldTools, following: list[StepDraft]
) -> None:
    tools.calls["a"].hold()
    async with executing(settings, bus, session_id, plan(A, *following), ANSWER) as (ann, model):
        await tools.calls["a"].arrived()
        await ann.does(c.Pause())
        model.writing.hold()
        await ann.does(c.Say(text=QUESTION))
        await model.writing.arrived()
        tools.calls["a"].release()
        await ann.sees(lambda session: session.work is None)
        await ann.does(c.Resume())
        reads = ["a", *("b" for read in following if read is B)]
        await ann.sees(lambda session: session.work is None and len(tools.made) == len(reads))
        assert tools.made == reads
        model.writing.release()
        ended = await ann.phase("resting", "failed")
        assert (ended.plan and ended.plan.status, ended.words.reply) == ("completed", ANSWER.text)
        assert tools.made == [*reads, "c"]
