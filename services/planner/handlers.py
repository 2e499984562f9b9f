"""The planner's handler: plan as the session's workflow does, or begin a plan that its settings approve."""

from collections.abc import Awaitable, Callable

from services.planner.agentflow import Recall, plan_turn
from services.planner.conversation import draft_plan
from services.planner.examples import Examples
from services.planner.execution_plan import draft_steps
from services.planner.flow import PathPlanner
from services.planner.tool_choice import ToolLookup
from shared.domain import commands as c
from shared.domain.plan_approval import starts_by_setting
from shared.domain.worker_commands import WorkerCommand
from shared.worker import WorkContext

type PlanHandler = Callable[[WorkContext], Awaitable[WorkerCommand]]


class Planner:
    """Dispatches planning work by workflow.

    `examples` finds what the user accepted before. `draft` drafts execution plans.
    """

    def __init__(
        self,
        tools: ToolLookup,
        recall: Recall,
        paths: PathPlanner,
        examples: Examples,
        draft: PlanHandler | None = None,
    ) -> None:
        self._by_workflow: dict[str, PlanHandler] = {
            "conversation": lambda context: draft_plan(context, examples),
            "agentflow": lambda context: plan_turn(context, tools, recall, examples),
            "flow": paths.plan,
            "execution_plan": draft or (lambda context: draft_steps(context, tools, examples)),
        }

    async def plan(self, context: WorkContext) -> WorkerCommand:
        if starts_by_setting(context.session):
            return c.BeginPlan()
        workflow = context.session.workflow
        if handler := self._by_workflow.get(workflow):
            return await handler(context)
        known = ", ".join(self._by_workflow)
        reason = f"There is no workflow “{workflow}”: begin again with one of {known}."
        return c.Fail(reason=reason, retryable=False)
