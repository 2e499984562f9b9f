"""A turn costs what it cost before: prompts of turn 50 have at most 1.2 times the tokens of those of turn 5.

Two lives of 50 turns with results of the generated store: one session over many requests, and one long request.
"""

import asyncio
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from pydantic_core import to_json

from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from packs.retail.store import World, Worlds
from parley.events.values import ActionSpec, Knowledge, SessionSettings
from parley.protocol.tools import ToolPage
from rehearsal.tokens import count
from services.executor.tools import MAX_RESULT
from services.generator.agentflow_prompt import build_answer_prompt
from services.planner.agentflow_prompt import build_prompt
from services.verifier.agentflow_prompt import build_turn_prompt
from shared.domain import commands as c
from shared.domain.session import MAX_ROUNDS, SESSION
from shared.llm import Message
from shared.story import Story, finish_action
from tests.support.store import STORE
from tests.unit.domain.spec import request, say

USERS: list[Any] = [user for user in STORE["users"].values() if len(user["orders"]) >= 2]
PAGE = ToolPage(tools=SPECS, total=len(SPECS), rules=RULES)
MAX_GROWTH = 1.2
MEMORY = 100_000  # bytes of a session that has done all this
LOADED = 3_500_000  # bytes of a session that a message can carry
Tokens = dict[int, dict[str, int]]  # by turn and role
Looks = Iterator[tuple[str, dict[str, Any]]]


def tokens(messages: list[Message]) -> int:
    return sum(count(message["content"]) for message in messages)


class LongSession(Story):
    """A session whose turns read from the store, with the prompts of every role."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self.told: Tokens = {}

    async def turn(self, *calls: tuple[str, dict[str, Any]], last: bool = False) -> None:
        number = self.session.counts.turns + 1
        result = self.told[number] = {"planner": tokens(build_prompt(self.session, PAGE, ()))}
        specs = tuple(
            ActionSpec(id=f"{number}.{i}", tool=name, arguments=given) for i, (name, given) in enumerate(calls, 1)
        )
        goal = f"Look up what is known about {number}"
        self.apply(c.PlanTurn(sub_goal=goal, actions=specs, reasoning="It was asked for.", sub_goals=(goal, "Answer")))
        self.apply(c.Start())
        for spec in specs:
            message = await self._world.call(spec.tool, spec.arguments)
            self.apply(finish_action(action_id=spec.id, ok=not message.startswith("Error"), result=message))
        assert self.session.turn is not None
        result["verifier"] = tokens(build_turn_prompt(self.session, self.session.turn))
        result["generator"] = tokens(build_answer_prompt(self.session))
        why = "All 3 lookups returned."
        self.apply(c.VerifyTurn(status="success", next_action="complete" if last else "continue", reasoning=why))


def looks(user: Any) -> list[tuple[str, dict[str, Any]]]:
    """One customer's orders, and the products that are in the first of them."""
    orders = [("get_order_details", {"order_id": order_id}) for order_id in user["orders"][:2]]
    bought = {item["product_id"] for item in STORE["orders"][user["orders"][0]]["items"]}
    return [*orders, *[("get_product_details", {"product_id": product}) for product in sorted(bought)[:1]]]


async def many_requests(life: LongSession) -> None:
    """A new request every third turn, each about another customer's orders, with words said before."""
    for at in range(18):
        user = USERS[at]
        words = f"I am {user['email']}. What is in my orders, and what may I still change? Please be exact. ({at})"
        life.apply(request("agentflow", words, max_turns=5) if at == 0 else say(words))
        await life.turn(("find_user_id_by_email", {"email": user["email"]}))
        await life.turn(("get_user_details", {"user_id": STORE["orders"][user["orders"][0]]["user_id"]}))
        await life.turn(*looks(user), last=True)
        life.apply(c.GiveAnswer(text="Your orders hold these things, at these prices. " * 8, confidence=0.9))


async def one_request(life: LongSession) -> None:
    """One request that takes 50 turns, and looks at something new in every one."""
    notes = Knowledge(name="notes.txt", text="The season's rules. " * 50)
    settings = SessionSettings(max_turns=60)
    text = "Compare what all these customers bought."
    life.apply(c.Say(text=text, workflow="agentflow", settings=settings, knowledge=(notes,)))
    for at in range(51):
        await life.turn(*looks(USERS[at]))


async def one_look(life: LongSession) -> None:
    """The same, one order at a time."""
    life.apply(request("agentflow", "Compare what all these customers bought.", max_turns=60))
    for at in range(51):
        await life.turn(looks(USERS[at])[0])


@cache
def lived(life_of: Callable[[LongSession], Any]) -> LongSession:
    async def live() -> LongSession:
        worlds = Worlds("sqlite+aiosqlite://", lambda: STORE)
        await worlds.open()
        try:
            life = LongSession(worlds.world("w"))
            await life_of(life)
            return life
        finally:
            await worlds.close()

    return asyncio.run(live())


def grown(life: LongSession, late: int, early: int) -> dict[str, float]:
    return {role: life.told[late][role] / life.told[early][role] for role in life.told[late]}


def test_a_session_kept_alive_costs_the_same_at_every_turn() -> None:
    """Turn 50 is the second of its request as turn 5 is; turn 51 the one that is answered, as turn 6."""
    life = lived(many_requests)
    assert len(life.session.words.earlier) == MAX_ROUNDS
    for late, early in ((50, 5), (51, 6), (49, 4)):
        assert grown(life, late, early)["planner"] <= MAX_GROWTH
        assert grown(life, late, early)["verifier"] <= MAX_GROWTH
    assert grown(life, 51, 6)["generator"] <= MAX_GROWTH
    assert life.told[50]["planner"] <= MAX_GROWTH * life.told[2]["planner"]  # nor does the first request cost less
    assert len(SESSION.dump_json(life.session)) < MEMORY


def test_one_long_request_costs_the_same_at_every_turn() -> None:
    life = lived(one_request)
    grows = grown(life, 50, 5)
    assert set(grows) == {"planner", "verifier", "generator"}
    assert max(grows.values()) <= MAX_GROWTH, grows
    assert life.session.memory.executed >= 150
    assert len(SESSION.dump_json(life.session)) < MEMORY


def test_one_look_a_turn_fills_the_memory_later_but_not_further() -> None:
    life = lived(one_look)
    assert max(grown(life, 50, 20).values()) <= MAX_GROWTH
    full = lived(one_request).told[50]
    assert all(life.told[50][role] <= MAX_GROWTH * full[role] for role in full)


@pytest.mark.parametrize("result", ["x" * 47_990, [{"n": n, "text": 'ä"\\' * 8} for n in range(700)]])
def test_a_turn_of_fifty_large_results_can_still_be_loaded(result: Any) -> None:
    size = len(to_json(result))
    assert 40_000 < size <= MAX_RESULT
    specs = tuple(ActionSpec(id=f"1.{n}", tool="read_file", arguments={"n": n}) for n in range(1, 51))
    results = [finish_action(action_id=spec.id, ok=True, result=result) for spec in specs]
    planned = c.PlanTurn(sub_goal="read it all", actions=specs)
    session = Story().apply(request("agentflow"), planned, c.Start(), *results)
    assert len(SESSION.dump_json(session)) < LOADED
    response = tokens(build_turn_prompt(session, session.turn)) if session.turn else 0
    assert response < 20_000
