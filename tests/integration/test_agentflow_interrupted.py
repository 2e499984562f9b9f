"""Interrupted agentflow sessions: stop and resume, exhausted budgets, missing approvals, pauses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from pydantic import BaseModel

from parley.events import facts
from parley.events.values import Effect, SessionSettings
from parley.protocol.tools import TOOLS_LIST, ToolPage, ToolSpec
from services.executor.handlers import Executor
from services.executor.tool_requests import ToolRequests
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from services.generator.agentflow import AnswerDraft
from services.planner.agentflow_prompt import NothingToDo, Planned, TurnDraft
from services.verifier.agentflow import TurnVerdict
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.llm import ScriptedModel
from shared.log import commit
from shared.settings import Settings
from shared.worker import WorkerApplication, WorkerOverrides
from tests.support import stack
from tests.support.stack import Person, working
from tests.support.timeouts import WAIT_TIMEOUT


class ControlledTools:
    """Two tools: the first `look` hangs if its arguments say so, and each `send` waits for `go`.

    `began` and `made` list the calls: `send` is made when it ends, `look` when it begins.
    """

    def __init__(self) -> None:
        self.began: asyncio.Queue[str] = asyncio.Queue()
        self.made: list[str] = []
        self.go = asyncio.Event()

    async def look(self, call: ToolInvocation) -> ToolResult:
        self.began.put_nowait("look")
        self.made.append("look")
        if self.made.count("look") == 1 and call.arguments.get("hang"):
            await asyncio.Event().wait()
        return ToolResult(ok=True, value="seen")

    async def send(self, _: ToolInvocation) -> ToolResult:
        self.began.put_nowait("send")
        await self.go.wait()
        self.made.append("send")
        return ToolResult(ok=True, value="sent")

    def tools(self) -> StaticSource:
        return StaticSource(_tool("look", self.look, "read"), _tool("send", self.send, "write"))


def _tool(name: str, run: Any, effect: Effect) -> RegisteredTool:
    properties: Any = {"hang": {"type": "boolean"}, "to": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return RegisteredTool(ToolSpec(name=name, description=f"{name} it", parameters=schema, effect=effect), run)


LOOK = Planned(tool="look", arguments={"hang": True})
SEND = Planned(tool="send", arguments={"to": "ann"})


def turn(*actions: Planned, **more: Any) -> TurnDraft:
    return TurnDraft(sub_goal="go on", actions=list(actions), **more)


def answer(text: str) -> AnswerDraft:
    return AnswerDraft(text=text, confidence=0.9)


@pytest.fixture
def controlled(monkeypatch: pytest.MonkeyPatch) -> ControlledTools:
    controlled = ControlledTools()

    def build(settings: Settings, parts: WorkerOverrides) -> WorkerApplication:
        registry = Registry(controlled.tools())
        app = stack.doing("executor", Executor(registry, cast(Bus, parts.bus)).run_batch)(settings, parts)
        requests = ToolRequests(registry, app.service_context.store)
        app.broker.subscriber(TOOLS_LIST, queue="executor", answer=ToolPage)(requests.list)
        return app

    monkeypatch.setitem(stack.BUILD, "executor", build)
    return controlled


@asynccontextmanager
async def open_session(
    settings: Settings, bus: Bus, session_id: str, *replies: BaseModel, **session_settings: Any
) -> AsyncIterator[tuple[Person, ScriptedModel]]:
    model = ScriptedModel(*replies)
    async with working(settings, model):
        ann = Person(bus, session_id)
        await ann.does(c.Say(text="Look and send", workflow="agentflow", settings=SessionSettings(**session_settings)))
        yield ann, model


async def test_a_stopped_read_runs_again_after_a_retry(
    settings: Settings, bus: Bus, session_id: str, controlled: ControlledTools
) -> None:
    replies = (turn(LOOK), turn(LOOK), NothingToDo(reason="Seen."), answer("It was seen."))
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        await asyncio.wait_for(controlled.began.get(), WAIT_TIMEOUT)
        await ann.does(c.Stop())
        await ann.sees(lambda now: now.phase == "resting" and now.turn is not None and not _running(now))
        await ann.does(c.Retry())
        assert (
            await ann.sees(lambda now: now.answer.text != "" or now.phase == "awaiting_input")
        ).answer.text == "It was seen."
        assert controlled.made == ["look", "look"]
        assert "Stopped by the person." in model.prompts[1].text


async def test_a_write_running_at_a_stop_ends_and_is_not_repeated_after_a_retry(
    settings: Settings, bus: Bus, session_id: str, controlled: ControlledTools
) -> None:
    replies = (turn(SEND), TurnVerdict(status="success", next_action="continue", reasoning="sent"), turn(SEND))
    after_nudge = NothingToDo(reason="It was sent already.")
    async with open_session(settings, bus, session_id, *replies, after_nudge, answer("Sent."), approval="never") as (
        ann,
        model,
    ):
        await asyncio.wait_for(controlled.began.get(), WAIT_TIMEOUT)
        await ann.does(c.Stop())
        await ann.phase("resting")
        controlled.go.set()
        ended = await ann.sees(lambda now: not _running(now))
        assert ended.turn is not None
        assert (ended.phase, ended.turn.actions[0].status) == ("resting", "finished")
        await ann.does(c.Retry())
        assert (await ann.sees(lambda now: now.phase == "resting" and now.answer.text != "")).answer.text == "Sent."
        assert controlled.made == ["send"]
        assert "have been made with the same arguments already (send)" in model.prompts[3].text


async def test_a_missing_approval_is_reported_and_nothing_runs(
    settings: Settings, bus: Bus, session_id: str, controlled: ControlledTools
) -> None:
    replies = (turn(SEND, final=True), NothingToDo(reason="Nobody allowed it."), answer("It was not sent."))
    async with open_session(settings, bus, session_id, *replies, approval_timeout=60) as (ann, model):
        waiting = await ann.phase("awaiting_approval")
        await commit(
            bus.log,
            await ann.load(),
            c.Expire(requested_version=waiting.since_version),
            CommandMeta("keeper", datetime.now(UTC)),
        )
        session = await ann.sees(lambda now: now.phase == "resting" and now.answer.text != "")
        assert session.answer.text == "It was not sent."
        assert "nobody decided in time" in model.prompts[1].text
        assert controlled.made == []
        assert not [event for event in await ann.events() if isinstance(event, facts.ActionsStarted)]


async def test_an_exhausted_budget_is_reported_after_the_write_which_is_not_repeated(
    settings: Settings, bus: Bus, session_id: str, controlled: ControlledTools
) -> None:
    """Each scripted model call costs 14 tokens. The first one exhausts the budget; its turn still runs."""
    controlled.go.set()
    replies = (turn(SEND), TurnVerdict(status="success", next_action="complete"), answer("Sent."))
    async with open_session(settings, bus, session_id, *replies, approval="never", token_budget=14) as (ann, model):
        session = await ann.phase("awaiting_input")
        assert session.question is not None
        assert (session.question.about, session.resume_phase, len(model.prompts)) == ("budget", "verifying", 1)
        assert controlled.made == ["send"]
        await ann.does(c.RaiseBudget(tokens=1_000))
        assert (await ann.sees(lambda now: now.answer.text != "")).answer.text == "Sent."
        assert controlled.made == ["send"]


async def test_the_turn_limit_halts_a_session_whose_verifier_always_continues(
    settings: Settings, bus: Bus, session_id: str, controlled: ControlledTools
) -> None:
    verdict = TurnVerdict(status="partial", next_action="continue", reasoning="more")
    turns = [turn(Planned(tool="look", arguments={"to": str(number)})) for number in range(3)]
    replies = [reply for draft in turns for reply in (draft, verdict)]
    limits = {"quality": "thorough", "max_turns": 3}
    async with open_session(settings, bus, session_id, *replies, answer("I gave up."), **limits) as (ann, _):
        question = (await ann.phase("awaiting_input")).question
        assert question is not None
        assert question.text.startswith("That was 3 turns since you last said something.")
        assert controlled.made == ["look"] * 3
        await ann.does(c.Stop())
        assert (await ann.phase("resting")).resume_phase == "planning"


async def test_a_pause_delays_the_next_call_which_gets_the_feedback_of_the_pause(
    settings: Settings, bus: Bus, session_id: str, controlled: ControlledTools
) -> None:
    replies = (turn(SEND, final=True), TurnVerdict(status="success", next_action="complete"))
    last_replies = (NothingToDo(reason="Sent, and heard."), answer("Sent, and heard."))
    async with open_session(settings, bus, session_id, *replies, *last_replies, approval="never") as (ann, model):
        await asyncio.wait_for(controlled.began.get(), WAIT_TIMEOUT)
        await ann.does(c.Pause())
        await ann.does(c.Say(text="and tell me when"))
        controlled.go.set()
        session = await ann.sees(lambda now: now.phase == "verifying")
        assert (session.paused, session.work) == (True, None)
        assert [message.text for message in session.words.unread] == ["and tell me when"]
        await ann.does(c.Resume())
        outcome = await ann.sees(lambda now: now.phase == "resting" and now.answer.text != "")
        assert outcome.answer.text == "Sent, and heard."
        assert model.prompts[2].sections("message") == ["and tell me when"]
        assert controlled.made == ["send"]


def _running(session: Any) -> bool:
    return session.turn is not None and any(action.status == "started" for action in session.turn.actions)
