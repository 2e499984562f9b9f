"""Prompts hardly grow: just before a compaction, late ones have at most 1.2 times the tokens of early ones.

Until the conversation in a prompt has reached its limit, each prompt of a task goes on from the one before. Then the
older half is left out at once, and the next prompts go on from there. The sessions have about 50 turns with results of
the sample store: many requests, or one long request.
"""

import asyncio
from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import pytest
from pydantic_core import to_json

from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from packs.retail.store import World, Worlds
from parley.events.values import ActionSpec, Knowledge, SessionSettings
from parley.protocol.tools import ToolPage
from rehearsal.tokens import count
from services.executor.tools import MAX_RESULT
from services.generator.agentflow import build_answer_prompt
from services.planner.agentflow_prompt import build_prompt
from services.planner.tools import ToolChoice
from services.verifier.agentflow import build_turn_prompt
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import SESSION, Session
from shared.llm import Message
from shared.settings import Settings
from shared.story import Story, finish_action
from tests.support.prompt_sections import as_prompted
from tests.support.store import STORE
from tests.unit.domain.spec import request, say

USERS: list[Any] = [user for user in STORE["users"].values() if len(user["orders"]) >= 2]
PAGE = ToolPage(tools=SPECS, total=len(SPECS), rules=RULES)
MAX_GROWTH = 1.2
MAX_SESSION = 250_000  # bytes of such a session
MAX_LOADABLE = 3_500_000  # bytes of a session that one message can carry
TOOLS = ToolChoice(PAGE)


class Sized(NamedTuple):
    """A prompt, and the version of the oldest event of which its conversation tells."""

    messages: list[Message]
    begins: int

    @property
    def tokens(self) -> int:
        return sum(count(message["content"]) for message in self.messages)

    @property
    def text(self) -> str:
        return "\n".join(message["content"] for message in self.messages)


class LongSession(Story):
    """A session whose turns read from the store. `prompts` has the prompts of each role, one a turn."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self.prompts: dict[str, list[Sized]] = {"planner": [], "verifier": [], "generator": []}

    def _prompted(self, role: str, build: Callable[[Session], list[Message]]) -> None:
        session = as_prompted(self.session)
        self.prompts[role].append(Sized(build(session), session.transcript[0].version))

    async def turn(self, *calls: tuple[str, dict[str, Any]], last: bool = False) -> None:
        number = self.session.counts.turns + 1
        self._prompted("planner", lambda session: build_prompt(session, Settings(), TOOLS))
        specs = tuple(
            ActionSpec(id=f"{number}.{i}", tool=name, arguments=given) for i, (name, given) in enumerate(calls, 1)
        )
        goal = f"Look up what is known about {number}"
        self.apply(c.PlanTurn(sub_goal=goal, actions=specs, reasoning="It was asked for.", sub_goals=(goal, "Answer")))
        self.apply(c.Start())
        for spec in specs:
            message = await self._world.call(spec.tool, spec.arguments)
            self.apply(finish_action(action_id=spec.id, ok=not message.startswith("Error"), result=message))
        turn = self.session.turn
        assert turn is not None
        self._prompted("verifier", lambda session: build_turn_prompt(session, turn))
        self._prompted("generator", lambda session: build_answer_prompt(session, Settings()))
        why = ""
        self.apply(c.VerifyTurn(status="success", next_action="complete" if last else "continue", reasoning=why))


def order_reads(user: Any) -> list[tuple[str, dict[str, Any]]]:
    """Calls that read two orders of a customer, and one product of the first order."""
    orders = [("get_order_details", {"order_id": order_id}) for order_id in user["orders"][:2]]
    bought = {item["product_id"] for item in STORE["orders"][user["orders"][0]]["items"]}
    return [*orders, *[("get_product_details", {"product_id": product}) for product in sorted(bought)[:1]]]


async def many_requests(long_session: LongSession) -> None:
    """A new request every third turn, each about the orders of another customer."""
    for at in range(18):
        user = USERS[at]
        words = f"I am {user['email']}. What is in my orders, and what may I still change? Please be exact. ({at})"
        long_session.apply(request("agentflow", words, max_turns=5) if at == 0 else say(words))
        await long_session.turn(("find_user_id_by_email", {"email": user["email"]}))
        await long_session.turn(("get_user_details", {"user_id": STORE["orders"][user["orders"][0]]["user_id"]}))
        await long_session.turn(*order_reads(user), last=True)
        long_session.apply(c.GiveAnswer(text="Your orders hold these things, at these prices. " * 8, confidence=0.9))


async def one_request(long_session: LongSession) -> None:
    """One request of 51 turns, each with new reads."""
    notes = Knowledge(name="notes.txt", text="The season's rules. " * 50)
    settings = SessionSettings(max_turns=60)
    text = "Compare what all these customers bought."
    long_session.apply(c.Say(text=text, workflow="agentflow", settings=settings, knowledge=(notes,)))
    for at in range(51):
        await long_session.turn(*order_reads(USERS[at]))


async def one_read_a_turn(long_session: LongSession) -> None:
    """One request of 51 turns, each with a single read."""
    long_session.apply(request("agentflow", "Compare what all these customers bought.", max_turns=60))
    for at in range(51):
        await long_session.turn(order_reads(USERS[at])[0])


@cache
def played(play: Callable[[LongSession], Any]) -> LongSession:
    async def run() -> LongSession:
        worlds = Worlds("sqlite+aiosqlite://", lambda: STORE)
        await worlds.open()
        try:
            long_session = LongSession(worlds.world("w"))
            await play(long_session)
            return long_session
        finally:
            await worlds.close()

    return asyncio.run(run())


def cycles(prompts: list[Sized]) -> list[list[Sized]]:
    """The prompts between two compactions."""
    return [list(cycle) for _, cycle in groupby(prompts, key=lambda prompt: prompt.begins)]


@pytest.mark.parametrize("play", [many_requests, one_request, one_read_a_turn])
@pytest.mark.parametrize("role", ["planner", "verifier", "generator"])
def test_late_prompts_are_hardly_longer_than_early_ones(play: Callable[[LongSession], Any], role: str) -> None:
    prompts = played(play).prompts[role]
    first, *others = (cycle[-1].tokens for cycle in cycles(prompts))
    assert len(prompts) >= 50
    assert len(others) >= 2
    assert max(others) <= MAX_GROWTH * first


def test_a_session_stays_small() -> None:
    for play in (many_requests, one_request):
        assert len(SESSION.dump_json(played(play).session)) < MAX_SESSION
    assert played(one_request).session.memory.executed >= 150


@pytest.mark.parametrize("result", ["x" * 47_990, [{"n": n, "text": 'ä"\\' * 8} for n in range(700)]])
def test_a_turn_of_fifty_large_results_can_still_be_loaded(result: Any) -> None:
    size = len(to_json(result))
    assert 40_000 < size <= MAX_RESULT
    specs = tuple(ActionSpec(id=f"1.{n}", tool="read_file", arguments={"n": n}) for n in range(1, 51))
    results = [finish_action(action_id=spec.id, ok=True, result=result) for spec in specs]
    planned = c.PlanTurn(sub_goal="read it all", actions=specs)
    session = Story().apply(request("agentflow"), planned, c.Start(), *results)
    assert len(SESSION.dump_json(session)) < MAX_LOADABLE
    assert session.turn
    assert Sized(build_turn_prompt(as_prompted(session), session.turn), 0).tokens < 20_000
