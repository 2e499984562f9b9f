"""Prompts hardly grow with the session: those of turn 50 have at most 1.2 times the tokens of those of turn 5.

The sessions have about 50 turns with results of the sample store: many requests, or one long request.
"""

import asyncio
from collections.abc import Callable
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
MAX_SESSION = 100_000  # bytes of such a session
MAX_LOADABLE = 3_500_000  # bytes of a session that one message can carry
Tokens = dict[int, dict[str, int]]  # by turn and role


def tokens(messages: list[Message]) -> int:
    return sum(count(message["content"]) for message in messages)


class LongSession(Story):
    """A session whose turns read from the store. `prompt_tokens` has the size of each prompt, by turn and role."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self.prompt_tokens: Tokens = {}

    async def turn(self, *calls: tuple[str, dict[str, Any]], last: bool = False) -> None:
        number = self.session.counts.turns + 1
        sizes = self.prompt_tokens[number] = {"planner": tokens(build_prompt(self.session, PAGE, ()))}
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
        sizes["verifier"] = tokens(build_turn_prompt(self.session, self.session.turn))
        sizes["generator"] = tokens(build_answer_prompt(self.session))
        why = "All 3 lookups returned."
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


def growth(long_session: LongSession, late: int, early: int) -> dict[str, float]:
    """The factor by which the prompt of each role grows between two turns."""
    return {
        role: long_session.prompt_tokens[late][role] / long_session.prompt_tokens[early][role]
        for role in long_session.prompt_tokens[late]
    }


def test_prompts_do_not_grow_over_many_requests() -> None:
    """Turns 50 and 5 are each the second of their request; turns 51 and 6 the third, which the answer follows."""
    long_session = played(many_requests)
    assert len(long_session.session.words.earlier) == MAX_ROUNDS
    for late, early in ((50, 5), (51, 6), (49, 4)):
        assert growth(long_session, late, early)["planner"] <= MAX_GROWTH
        assert growth(long_session, late, early)["verifier"] <= MAX_GROWTH
    assert growth(long_session, 51, 6)["generator"] <= MAX_GROWTH
    first_request = long_session.prompt_tokens[2]["planner"]
    assert long_session.prompt_tokens[50]["planner"] <= MAX_GROWTH * first_request
    assert len(SESSION.dump_json(long_session.session)) < MAX_SESSION


def test_prompts_do_not_grow_over_one_long_request() -> None:
    long_session = played(one_request)
    growth_by_role = growth(long_session, 50, 5)
    assert set(growth_by_role) == {"planner", "verifier", "generator"}
    assert max(growth_by_role.values()) <= MAX_GROWTH, growth_by_role
    assert long_session.session.memory.executed >= 150
    assert len(SESSION.dump_json(long_session.session)) < MAX_SESSION


def test_fewer_reads_a_turn_reach_the_same_prompt_size_later() -> None:
    long_session = played(one_read_a_turn)
    assert max(growth(long_session, 50, 20).values()) <= MAX_GROWTH
    full = played(one_request).prompt_tokens[50]
    assert all(long_session.prompt_tokens[50][role] <= MAX_GROWTH * full[role] for role in full)


@pytest.mark.parametrize("result", ["x" * 47_990, [{"n": n, "text": 'ä"\\' * 8} for n in range(700)]])
def test_a_turn_of_fifty_large_results_can_still_be_loaded(result: Any) -> None:
    size = len(to_json(result))
    assert 40_000 < size <= MAX_RESULT
    specs = tuple(ActionSpec(id=f"1.{n}", tool="read_file", arguments={"n": n}) for n in range(1, 51))
    results = [finish_action(action_id=spec.id, ok=True, result=result) for spec in specs]
    planned = c.PlanTurn(sub_goal="read it all", actions=specs)
    session = Story().apply(request("agentflow"), planned, c.Start(), *results)
    assert len(SESSION.dump_json(session)) < MAX_LOADABLE
    prompt_size = tokens(build_turn_prompt(session, session.turn)) if session.turn else 0
    assert prompt_size < 20_000
