"""For tests of plan_store: sessions whose requests are answered by a path through a flow."""

from typing import Any

from parley.events.values import ActionSpec, NodeProposal, PathPlan
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.turn import flow_paths
from shared.story import finish_action
from tests.support.stories import Conversation, spent

FLOW = "text_to_sql"
STATEMENT = "SELECT count(*) FROM orders WHERE status = 'pending'"
PLAIN = ("classify_prompt", "rewrite_prompt", "generate_sql", "validate_sql", "execute_sql", "format_final_response")
OUTPUTS: dict[str, dict[str, Any]] = {
    "classify_prompt": {"kind": "data", "reason": ""},
    "rewrite_prompt": {"question": "How many orders are pending?"},
    "get_relevant_tables": {"tables": [{"name": "orders", "reason": "it has them"}], "missing": ""},
    "generate_sql": {"sql": STATEMENT, "explanation": "counts", "cannot": ""},
    "validate_sql": {"valid": True, "problem": "", "sql_tables": ["orders"]},
    "execute_sql": {"result": {"columns": ["count"], "rows": [[3]]}, "problem": ""},
    "format_final_response": {"answer": "3", "chart": "none"},
}
WISH = NodeProposal(flow=FLOW, name="explain_result", description="Says why", reason="They ask why")


def specs(*nodes: str, turn: int = 1, flow: str = FLOW) -> tuple[ActionSpec, ...]:
    """One action per node, each depending on the one before."""
    return tuple(
        ActionSpec(id=f"{turn}.{n}", tool=f"{flow}.{node}", depends_on=(f"{turn}.{n - 1}",) if n > 1 else ())
        for n, node in enumerate(nodes, 1)
    )


def planned(*actions: ActionSpec, proposal: NodeProposal | None = None) -> c.PlanTurn:
    path = PathPlan(nodes=tuple(spec.tool for spec in actions), attempts=1, proposal=proposal)
    return c.PlanTurn(sub_goal="find out", actions=actions, final=True, path=path)


class Walk(Conversation):
    """Builds a session whose requests are answered by paths."""

    async def ask(self, request: str, *nodes: str, proposal: NodeProposal | None = None) -> Session:
        """Send a request, and record its planned path."""
        session = await self.commit(c.Say(text=request, workflow="flow"))
        return await self.commit(planned(*specs(*nodes or PLAIN, turn=session.counts.turns + 1), proposal=proposal))

    async def step(self, **outputs: Any) -> Session:
        """Run the next node, with its usual outputs updated by these."""
        session = await self.commit(c.Start())
        running = (
            next(action for action in session.turn.actions if action.status == "started") if session.turn else None
        )
        assert running is not None
        node = flow_paths.split_tool_name(running.spec.tool)[1]
        return await self.commit(
            finish_action(action_id=running.spec.id, ok=True, result=OUTPUTS.get(node, {}) | outputs, seconds=1)
        )

    async def walk(self) -> Session:
        """Run the rest of the path."""
        while (session := await self.load()).phase == "executing":
            await self.step()
        return session

    async def end(self, answer: str) -> Session:
        verdict = c.VerifyTurn(status="success", next_action="complete", rule="path_walked")
        return await self.commit(verdict, c.GiveAnswer(text=answer, confidence=1))

    async def answered(self, request: str, answer: str = "3", *nodes: str) -> Session:
        await self.ask(request, *nodes)
        await self.walk()
        return await self.end(answer)

    async def judge(self, *, accepted: bool = True, saved: bool = False) -> Session:
        return await self.commit(c.Judge(accepted=accepted, saved=saved))

    async def spend_on(self, action_id: str, tokens: int) -> None:
        """Record a model call for this action, with this many prompt tokens and one completion token."""
        await self.commit(
            spent(tokens, role="executor", cached_tokens=0, completion_tokens=1, cost=0.5, action_id=action_id)
        )
