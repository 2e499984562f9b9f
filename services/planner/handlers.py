"""Planner: when a session is due for planning, draft its plan or its next turn, or ask what is missing."""

from collections.abc import Awaitable, Callable

from services.planner.agentflow import Recalls, Tools, plan_turn
from services.planner.flow import PathPlanner
from services.planner.prompt import PlanDraft, PlanReply, brief, shown
from shared.domain import commands as c
from shared.domain.workers import WorkerCommand
from shared.events.values import Step
from shared.llm.dialogue import asks_again, offered, spoken
from shared.worker import Desk

type Plans = Callable[[Desk], Awaitable[WorkerCommand]]


class Planner:
    """Plans as the session's workflow does: with the tools and flows there are, and what earlier sessions came to."""

    def __init__(self, tools: Tools, recall: Recalls, paths: PathPlanner) -> None:
        self._by_workflow: dict[str, Plans] = {
            "conversation": draft_plan,
            "agentflow": lambda desk: plan_turn(desk, tools, recall),
            "flow": paths.plan,
        }

    async def plan(self, desk: Desk) -> WorkerCommand:
        wanted = desk.session.workflow
        if plans := self._by_workflow.get(wanted):
            return await plans(desk)
        known = ", ".join(self._by_workflow)
        reason = f"There is no workflow “{wanted}”: begin again with one of {known}."
        return c.Fail(reason=reason, retryable=False)


async def draft_plan(desk: Desk) -> c.DraftPlan | c.Ask | c.AnswerRemark:
    session = desk.session
    reply = await desk.ask(
        brief(session), offered(PlanReply, session), kind="plan", render=shown, refuse=asks_again(session)
    )
    plan = reply.reply
    if not isinstance(plan, PlanDraft):
        return spoken(plan, session)
    steps = tuple(Step(text=text.strip()[:2000]) for text in plan.steps if text.strip())
    return c.DraftPlan(goal=plan.goal, steps=steps, notes=plan.notes.strip())
