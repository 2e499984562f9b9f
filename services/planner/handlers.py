"""Planner: when a session is due for planning, plan as its workflow does, or begin what its settings approve."""

from collections.abc import Awaitable, Callable

from services.planner.agentflow import Recalls, Tools, plan_turn
from services.planner.conversation import draft_plan
from services.planner.examples import Examples
from services.planner.execution_plan import draft_steps
from services.planner.flow import PathPlanner
from shared.domain import commands as c
from shared.domain.plan_approval import begins_by_setting
from shared.domain.workers import WorkerCommand
from shared.worker import WorkContext

type Plans = Callable[[WorkContext], Awaitable[WorkerCommand]]


class Planner:
    """Plans as the session's workflow does: with the tools and flows there are, and what earlier sessions came to.

    `examples`: what the person accepted before. `draft` drafts execution plans.
    """

    def __init__(
        self, tools: Tools, recall: Recalls, paths: PathPlanner, examples: Examples, draft: Plans | None = None
    ) -> None:
        self._by_workflow: dict[str, Plans] = {
            "conversation": lambda desk: draft_plan(desk, examples),
            "agentflow": lambda desk: plan_turn(desk, tools, recall, examples),
            "flow": paths.plan,
            "execution_plan": draft or (lambda desk: draft_steps(desk, tools, examples)),
        }

    async def plan(self, context: WorkContext) -> WorkerCommand:
        if begins_by_setting(context.session):
            return c.BeginPlan()
        wanted = context.session.workflow
        if plans := self._by_workflow.get(wanted):
            return await plans(context)
        known = ", ".join(self._by_workflow)
        reason = f"There is no workflow “{wanted}”: begin again with one of {known}."
        return c.Fail(reason=reason, retryable=False)
