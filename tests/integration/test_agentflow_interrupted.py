"""Interrupted agentflow sessions: stop and resume, exhausted budgets, missing approvals, pauses."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import pytest
from pydantic import BaseModel

from parley.events.values import Effect
from parley.protocol.tools import TOOLS_LIST, ToolSpec
from services.executor.handlers import Executor
from services.executor.tool_requests import ToolRequests
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from services.generator.agentflow import AnswerDraft
from services.planner.agentflow_prompt import NothingToDo, Planned, TurnDraft
from services.verifier.agentflow import TurnVerdict
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.worker import WorkerApplication, WorkerOverrides
from tests.support import stack
from tests.support.stack import Person
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
        app.broker.answer(TOOLS_LIST, queue="executor")(requests.list)
        return app

    monkeypatch.setitem(stack.BUILD, "executor", build)
    return controlled


def open_session(
    settings: Settings, bus: Bus, session_id: str, *replies: BaseModel, **session_settings: Any
) -> AbstractAsyncContextManager[tuple[Person, ScriptedModel]]:
    request = {"text": "Look and send", "workflow": "agentflow"}
    return stack.open_session(settings, bus, session_id, *replies, **request, **session_settings)


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


def _running(session: Any) -> bool:
    return session.turn is not None and any(action.status == "started" for action in session.turn.actions)
