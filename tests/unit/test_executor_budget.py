"""A budget is exhausted within an action: the action fails, the user raises the budget, and the action runs again."""

from typing import Literal

from parley.flow import Flow, NodeRun, Outputs, node
from parley.reply import Kind, Reply
from services.executor.tools import ToolResult, call_with_timeout
from shared.domain.kernel import commands as c
from shared.domain.kernel.wording import BUDGET_OPTIONS, OUT_OF_BUDGET
from shared.worker import BudgetExceeded
from tests.support.flow_walk import Walk, last, tool, walked

CALL = 14  # tokens of a scripted call


class Guess(Kind):
    kind: Literal["guess"] = "guess"
    guess: str


class GuessReply(Reply):
    reply: Guess


class Riddle(Flow):
    """Asks the model three times before it tells its guess."""

    name = "riddle"
    description = "Guesses what somebody means."

    @node(description="Guesses, thinks again, and guesses.", outputs=("guess",), possible_next_nodes=("tell",))
    async def think(self, run: NodeRun) -> Outputs:
        for _ in range(3):
            message = (await run.ask_model("think", "Guess.", {"request": "it"}, GuessReply)).reply
        return {"guess": message.guess}

    @node(description="Tells the guess.", inputs=("guess",), outputs=("answer",))
    async def tell(self, run: NodeRun) -> Outputs:
        return {"answer": run.state["guess"]}


async def test_a_node_that_exhausts_the_budget_runs_again_when_the_user_raises_it() -> None:
    walk = Walk(Riddle(), think={"guess": "an egg"})
    session = await walk.begins("It breaks.", "riddle.think", "riddle.tell", token_budget=2 * CALL)
    assert (session.phase, last(session).error) == ("awaiting_input", OUT_OF_BUDGET)
    assert session.question
    assert session.question.about == "budget"
    assert len(walk.model.prompts) == 2
    assert session.spent.tokens == 2 * CALL
    # One usage is recorded before the second call, one with the outcome.
    assert [len(event.usage) for event in walk.events[-2:]] == [1, 1]
    ended = await walk.answers(BUDGET_OPTIONS[0].label)
    assert (ended.phase, len(walk.model.prompts)) == ("awaiting_input", 4)  # 43 tokens allow two more calls
    await walk.commit(c.RaiseBudget(tokens=100 * CALL))
    ended = await walk.goes()
    assert walked(ended) == ["think", "tell"]
    assert last(ended).result == {"answer": "an egg"}
    assert ended.turn
    assert [action.tokens for action in ended.turn.actions] == [7 * CALL, 0]


async def test_a_write_that_exhausts_the_budget_has_an_uncertain_outcome() -> None:
    async def exhaust_budget() -> ToolResult:
        raise BudgetExceeded

    assert await call_with_timeout(tool("looks", ""), exhaust_budget) == ToolResult(
        ok=False, error=OUT_OF_BUDGET, cause="budget"
    )
    result = ToolResult(ok=False, error=OUT_OF_BUDGET, cause="budget", unknown=True)
    assert await call_with_timeout(tool("changes", "", "write"), exhaust_budget) == result
