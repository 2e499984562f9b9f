"""Requests played as `bench.requests` plays them, with what they cost, and with parts of the loop set otherwise."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bench.requests import solved
from packs.retail.generate import generate
from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from packs.retail.tasks.replay import Shop
from parley.events.values import Quality
from parley.protocol.tools import ToolPage
from rehearsal.tokens import count
from services.planner.agentflow import Tools
from services.planner.agentflow_prompt import TurnDraft, TurnReply
from shared.domain.memory import Judged
from shared.llm.types import Message
from tests.support.retail_play import TURNS, Play, Played

REQUESTS = Path(__file__).parents[1] / "tests" / "requests"
FILES = ("retail_open.jsonl", "retail_phrases.jsonl")
PAGE = ToolPage(tools=SPECS, total=len(SPECS), rules=RULES)
PATIENT = 100  # turns, where one is spent on every call
Request = dict[str, Any]


@dataclass(frozen=True)
class How:
    """What is set otherwise. `tools`: where the planner gets them from; None: all sixteen."""

    quality: Quality = "balanced"
    one_call: bool = False
    tools: Tools | None = None


class CountedPlay(Play):
    """A play that counts calls and tokens, as the rehearsal server counts them, by role."""

    def __init__(self, request: Request, how: How) -> None:
        turns = PATIENT if how.one_call else TURNS
        super().__init__(request["q"], shop().fresh(), request.get("replies", ()), turns)
        settings = self.session.settings.model_copy(update={"quality": how.quality})
        self.session = replace(self.session, settings=settings)
        self.calls: Counter[str] = Counter()
        self.tokens = 0
        self._how = how

    async def ask(self, messages: Sequence[Message], reply: type[BaseModel], **more: Any) -> BaseModel:
        found = await super().ask(messages, reply, **more)
        self.calls[reply.__name__] += 1
        self.tokens += prompt_tokens(messages) + count(found.model_dump_json())
        return alone(found) if self._how.one_call and isinstance(found, TurnReply) else found

    async def fitting(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        return await (self._how.tools.fitting if self._how.tools else super().fitting)(words, used, only)


@dataclass
class Bill:
    """What many requests came to; `calls`, `tokens`, `turns` and those of the plainest loop count the solved ones.

    `lessons`: in how many there was a verdict that a later session is told of.
    """

    requests: int = 0
    solved: int = 0
    turns: int = 0
    tokens: int = 0
    plain_calls: int = 0
    lessons: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    played: list[Played] = field(default_factory=list)

    def each(self, total: int) -> str:
        """Of a solved request."""
        mean = total / self.solved
        return f"{mean:,.0f}" if mean > 100 else f"{mean:.1f}"

    @property
    def share(self) -> str:
        return f"{self.solved} of {self.requests}"


@cache
def bill(name: str, how: How) -> Bill:
    """A turn is one in which something ran; the plainest loop needs two calls for each, and for each question."""
    requests = requests_of(name)
    total = Bill(len(requests))
    for request in requests:
        play = CountedPlay(request, how)
        played = asyncio.run(play.through())
        total.played.append(played)
        total.lessons += any(_bad_news(verdict) for verdict in play.session.memory.verdicts)
        if solved(request, played, shop()):
            continue
        ran = acting_turns(played)
        total.solved += 1
        total.turns += ran
        total.tokens += play.tokens
        total.plain_calls += 2 * (ran + len(played.questions)) + 1
        total.calls += play.calls
    return total


def _bad_news(verdict: Judged) -> bool:
    return verdict.status == "failure" or verdict.next_action in ("retry", "escalate")


def acting_turns(played: Played) -> int:
    return len({deed["turn"] for deed in played.deeds})


def alone(reply: TurnReply) -> TurnReply:
    """Only the first of the calls that need no other one; the rest must be planned again."""
    turn = reply.reply
    if not isinstance(turn, TurnDraft) or len(turn.actions) < 2:
        return reply
    first = next(action for action in turn.actions if not action.depends_on)
    return reply.model_copy(update={"reply": turn.model_copy(update={"actions": [first], "final": False})})


def prompt_tokens(messages: Sequence[Message]) -> int:
    return sum(count(message["content"]) for message in messages)


def requests_of(name: str) -> list[Request]:
    return [json.loads(line) for line in (REQUESTS / name).read_text(encoding="utf-8").splitlines()]


@cache
def shop() -> Shop:
    """The sample store."""
    return Shop(generate())
