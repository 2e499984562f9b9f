"""Plays a request with the rehearsal model and a retail store in memory: the domain's session and the services'
prompts, without a bus. No write needs an approval. Questions get their answers from a list. An escalated request is
handed back.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any, cast

from pydantic import BaseModel, JsonValue

from packs.retail.pack import Retail
from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from packs.retail.store import Worlds
from packs.retail.tasks.replay import Changed, Replay, Shop
from packs.retail.tasks.task import ExpectedCall
from parley.events.values import EntryKind, Recalled, SessionSettings, Speaker
from parley.protocol.tools import CheckCalls, ToolPage, ToolSpec
from rehearsal.openai_schema import CompletionMessage
from rehearsal.prompt import read_prompt
from rehearsal.rules import answer
from services.executor.sources.packs import PackSource
from services.executor.tool_requests import rank
from services.executor.tools import Registry, ToolInvocation
from services.generator.agentflow import AnswerReply, TaskReply, write_answer
from services.planner.agentflow import plan_turn
from services.planner.agentflow_prompt import TurnReply, tool_line
from services.planner.tools import MAX_SHOWN_CALLS
from services.verifier.agentflow import TurnVerdictReply
from services.verifier.app import verify
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand, decide
from shared.domain.rules.user_commands import UserCommand
from shared.domain.transcript.dialogue import TranscriptEntry
from shared.domain.transcript.memory import text_of
from shared.domain.turn.batches import actions_to_start, running_actions
from shared.llm.sections import prompt
from shared.llm.types import Message
from shared.settings import Settings
from shared.story import finish_action
from shared.worker import WorkContext
from tests.support.prompt_sections import as_prompted
from tests.support.store import checked

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
TURNS = SessionSettings().max_turns
WRITES = frozenset(spec.name for spec in SPECS if spec.effect != "read")
DEFAULT = "Whatever you think is best."
MAX_QUESTIONS = 20  # questions that get an answer
HANDED_BACK = "I have seen to it."
TOOLS = [*map(tool_line, SPECS)]
REPLIES: dict[str, type[BaseModel]] = {
    "turn": TurnReply,
    "turn_verdict": TurnVerdictReply,
    "answer": AnswerReply,
    "task": TaskReply,
}


@dataclass
class PlayResult:
    """The result of a request. `deeds` are the tool calls."""

    deeds: list[dict[str, Any]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    answer: str = ""
    confidence: float = 0.0
    turns: int = 0
    changed: Changed = field(default_factory=dict)
    planned: list[dict[str, Any]] = field(default_factory=list)


def ask_rehearsal(messages: Sequence[Message]) -> dict[str, Any]:
    """The `reply` of the rehearsal model to these messages, validated as the services do."""
    read = read_prompt([CompletionMessage(role=text["role"], content=text["content"]) for text in messages])
    reply = answer(read)
    assert isinstance(reply, dict), reply
    REPLIES[read.task].model_validate(reply)
    message: dict[str, Any] = reply["reply"]
    return message


def model(role: Any, task: str, sections: Mapping[str, Any], *conversation: TranscriptEntry) -> dict[str, Any]:
    """The `reply` of the rehearsal model to a prompt with this conversation and these sections."""
    return ask_rehearsal(prompt(role, task, "", sections, transcript=conversation))


def entry(kind: EntryKind, text: str, by: Speaker = "person") -> TranscriptEntry:
    return TranscriptEntry(1, by, kind, text)


def executed(number: int, tool: str, result: object, status: str = "finished", **arguments: Any) -> TranscriptEntry:
    """A call and what came of it, as the transcript tells it."""
    text, call = result if isinstance(result, str) else json.dumps(result), f"{number}.1 {tool} {json.dumps(arguments)}"
    if status == "denied":
        return entry("decision", f"Declined {call}.")
    return entry("run", f"{call}\n{'' if status == 'finished' else f'{status}: '}{text}", by="tool")


class InMemory:
    """Stands in for the pack's `Worlds`; each session gets the same world in memory."""

    def __init__(self, world: Replay) -> None:
        self._world = world

    def world(self, _: str) -> "InMemory":
        return self

    async def call(self, name: str, arguments: Mapping[str, JsonValue], *, key: str | None = None) -> str:
        return self._world.call(name, arguments)


class RetailPlay:
    """Stands in for the services' work context and for the tool client."""

    def __init__(
        self, request: str, world: Replay, replies: Sequence[str], turns: int, tools: Sequence[ToolSpec] = SPECS
    ) -> None:
        self.session, self.played = Session("s1"), PlayResult()
        self.deps = SimpleNamespace(settings=Settings())
        self._world, self._left, self._tools = world, list(replies), tools
        self._registry = Registry(PackSource((Retail(cast(Worlds, InMemory(world))),)))
        settings = SessionSettings(max_turns=turns, approval="never", recall=False)
        self._do(c.Say(text=request, workflow="agentflow", settings=settings))

    @property
    def prompt_session(self) -> Session:
        return as_prompted(self.session)

    async def ask(
        self, messages: Sequence[Message], reply: type[BaseModel], *, refuse: Any = None, **_: object
    ) -> BaseModel:
        result = ask_rehearsal(messages)
        if issubclass(reply, TurnReply):
            self.played.planned.append(result)
        message = reply.model_validate({"reply": result})
        assert not (refuse and refuse(message)), result
        return message

    async def check(self, ask: CheckCalls) -> tuple[str, ...]:
        return await checked(ask)

    async def rules_of(self, tools: tuple[str, ...]) -> tuple[str, ...]:
        return (await self.search("", tools)).rules

    async def listed(self, words: str, only: tuple[str, ...] = ()) -> ToolPage:
        """Selects as the executor does."""
        return self._page(rank(self._tools, words)[0][:MAX_SHOWN_CALLS])

    async def search(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        in_use = [spec for spec in self._tools if spec.name in used]
        return self._page([*in_use, *[spec for spec in rank(self._tools, words)[1] if spec not in in_use]])

    def _page(self, chosen: Sequence[ToolSpec]) -> ToolPage:
        others = tuple(spec.name for spec in self._tools if spec not in chosen)
        return ToolPage(tools=tuple(chosen), total=len(self._tools), others=others, rules=RULES)

    async def recall(self, session: Session) -> tuple[Recalled, ...]:
        return ()

    async def through(self) -> PlayResult:
        while self.session.phase not in ("resting", "failed"):
            assert len(self.played.questions) <= MAX_QUESTIONS, self.played.questions[-1]
            await self._step(cast(WorkContext, self))
        played, session = self.played, self.session
        played.answer, played.confidence = session.answer.text, session.answer.confidence
        played.changed, played.turns = self._world.changed, session.counts.turns
        return played

    async def _step(self, context: WorkContext) -> None:
        match self.session.phase:
            case "planning":
                self._do(await plan_turn(context, self, self.recall))
            case "executing":
                await self._carry_out()
            case "verifying":
                self._do(cast(AnyCommand, await verify(context)))
            case "answering":
                self._do(await write_answer(context, self.rules_of))
            case "awaiting_input":
                self.played.questions.append(self.session.question.text if self.session.question else "")
                self._do(c.Say(text=self._left.pop(0) if self._left else DEFAULT))
            case "escalated":
                self._do(c.Say(text=HANDED_BACK))
            case phase:
                raise AssertionError(phase)

    async def _carry_out(self) -> None:
        if actions_to_start(self.session):  # otherwise only reads are left, and they are already running
            self._do(c.Start())
        for action in running_actions(self.session):
            spec, turn = action.spec, self.session.turn
            tool = self._registry.find(spec.tool)
            assert tool
            response = await tool.run(ToolInvocation(self.session, spec.id, spec.arguments))
            ok, result = response.ok, response.error or text_of(response.value)
            message = {
                "confirmed": response.confirmed,
                "violation": response.violation,
                "handed_over": response.handed_over,
            }
            self._do(finish_action(action_id=spec.id, ok=ok, result=response.value, error=response.error, **message))
            past = {"id": spec.id, "turn": turn.number if turn else 0, "tool": spec.tool, "arguments": spec.arguments}
            self.played.deeds.append({**past, "status": "finished" if ok else "failed", "result": result})

    def _do(self, command: AnyCommand) -> None:
        by_user = isinstance(command, UserCommand)
        work = None if by_user or not self.session.work else self.session.work
        by = CommandMeta("user:ann" if by_user or not work else work.service, NOON, work=work)
        self.session = evolve(self.session, decide(self.session, command, by))


def play(
    request: str,
    shop: Shop,
    replies: Sequence[str] = (),
    *,
    turns: int = TURNS,
    tools: Sequence[ToolSpec] = SPECS,
) -> PlayResult:
    """Play the request until the session rests or fails; the result."""
    return asyncio.run(RetailPlay(request, shop.fresh(), replies, turns, tools).through())


def expected(calls: Sequence[Mapping[str, Any]], shop: Shop) -> Changed:
    """The changes that these calls make in the store."""
    return shop.after([ExpectedCall.model_validate(call) for call in calls])


def wrong_writes(request: dict[str, Any], played: PlayResult, shop: Shop) -> list[str]:
    """Writes that are not among the request's expected calls (`agt`); empty if the final data are right."""
    if played.changed == expected(request["agt"], shop):
        return []
    right = {_effect_key(call["name"], call["arguments"]) for call in request["agt"]}
    done = [deed for deed in played.deeds if deed["status"] == "finished" and deed["tool"] in WRITES]
    return [deed["tool"] for deed in done if _effect_key(deed["tool"], deed["arguments"]) not in right]


def _effect_key(tool: str, arguments: dict[str, Any]) -> str:
    """Equal for calls with the same effect: the order of the items does not matter."""
    items = sorted(zip_longest(arguments.get("item_ids") or (), arguments.get("new_item_ids") or ()))
    return json.dumps([tool, {**arguments, "item_ids": items, "new_item_ids": None}], sort_keys=True)
