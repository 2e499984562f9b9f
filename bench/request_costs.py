"""What the requests of `bench.requests` cost in turns, calls and tokens, also with parts of the agent loop changed."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bench.requests import unsolved_reason
from packs.retail.generate import generate
from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from packs.retail.tasks.replay import Shop
from parley.events.values import Quality
from parley.protocol.tools import ToolPage
from rehearsal.tokens import count
from services.planner.agentflow import ToolLookup
from services.planner.agentflow_prompt import TurnDraft, TurnReply
from shared.domain.memory import PastVerdict
from shared.llm.types import Message
from tests.support.retail_play import TURNS, PlayResult, RetailPlay

REQUESTS = Path(__file__).parents[1] / "tests" / "requests"
FILES = ("retail_open.jsonl", "retail_phrases.jsonl")
PAGE = ToolPage(tools=SPECS, total=len(SPECS), rules=RULES)
ONE_CALL_TURNS = 100  # the limit where every call takes a turn of its own
Request = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """A variant of the agent loop. `tools`: where the planner gets its tools from; None: all sixteen."""

    quality: Quality = "balanced"
    one_call: bool = False
    tools: ToolLookup | None = None


class CountedPlay(RetailPlay):
    """A play that counts calls by reply type, and tokens as the rehearsal server counts them."""

    def __init__(self, request: Request, variant: Variant) -> None:
        turns = ONE_CALL_TURNS if variant.one_call else TURNS
        super().__init__(request["q"], sample_store().fresh(), request.get("replies", ()), turns)
        settings = self.session.settings.model_copy(update={"quality": variant.quality})
        self.session = replace(self.session, settings=settings)
        self.calls: Counter[str] = Counter()
        self.tokens = 0
        self._variant = variant

    async def ask(self, messages: Sequence[Message], reply: type[BaseModel], **more: Any) -> BaseModel:
        parsed = await super().ask(messages, reply, **more)
        self.calls[reply.__name__] += 1
        self.tokens += prompt_tokens(messages) + count(parsed.model_dump_json())
        return first_call_only(parsed) if self._variant.one_call and isinstance(parsed, TurnReply) else parsed

    async def matching(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        return await (self._variant.tools.matching if self._variant.tools else super().matching)(words, used, only)


@dataclass
class Costs:
    """The totals of many requests. `calls`, `tokens`, `turns` and `baseline_calls` count solved requests only.

    `with_lesson`: requests with a verdict that later sessions can learn from.
    """

    requests: int = 0
    solved: int = 0
    turns: int = 0
    tokens: int = 0
    baseline_calls: int = 0
    with_lesson: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    played: list[PlayResult] = field(default_factory=list)

    def per_solved_request(self, total: int) -> str:
        """The mean over the solved requests."""
        mean = total / self.solved
        return f"{mean:,.0f}" if mean > 100 else f"{mean:.1f}"

    @property
    def solved_share(self) -> str:
        return f"{self.solved} of {self.requests}"


@cache
def costs_of(name: str, variant: Variant) -> Costs:
    """Play all requests of a file. Turns in which no call ran are not counted.

    The baseline, a plain agent loop, needs two model calls a turn and a question, and one for the answer.
    """
    requests = requests_of(name)
    total = Costs(len(requests))
    for request in requests:
        play = CountedPlay(request, variant)
        played = asyncio.run(play.through())
        total.played.append(played)
        total.with_lesson += any(_is_negative(verdict) for verdict in play.session.memory.verdicts)
        if unsolved_reason(request, played, sample_store()):
            continue
        ran = acting_turns(played)
        total.solved += 1
        total.turns += ran
        total.tokens += play.tokens
        total.baseline_calls += 2 * (ran + len(played.questions)) + 1
        total.calls += play.calls
    return total


def _is_negative(verdict: PastVerdict) -> bool:
    return verdict.status == "failure" or verdict.next_action in ("retry", "escalate")


def acting_turns(played: PlayResult) -> int:
    return len({deed["turn"] for deed in played.deeds})


def first_call_only(reply: TurnReply) -> TurnReply:
    """The turn cut down to its first call without dependencies. The others have to be planned again."""
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
def sample_store() -> Shop:
    """The sample store."""
    return Shop(generate())
