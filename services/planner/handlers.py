"""The planner's handler: plan as the session's workflow does, begin a plan that its settings approve, or ask whether to
go on after many turns.
"""

from collections.abc import Awaitable, Callable

from services.planner.agentflow import Recall, plan_turn
from services.planner.conversation import draft_plan
from services.planner.examples import Examples
from services.planner.execution_plan import draft_steps
from services.planner.flow import PathPlanner
from services.planner.tool_choice import ToolLookup
from shared.domain import commands as c
from shared.domain import wording
from shared.domain.plan_approval import starts_by_setting
from shared.domain.session import Session
from shared.domain.worker_commands import WorkerCommand
from shared.llm.dialogue import agreement_reply
from shared.worker import WorkContext

PLANS_TURNS = ("agentflow", "flow")  # workflows in which turn after turn is planned
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
        if reply := agreement_reply(context.session):
            return reply
        workflow = context.session.workflow
        if workflow in PLANS_TURNS and not context.answers_message and (asks := _ask_to_go_on(context.session)):
            return asks
        if handler := self._by_workflow.get(workflow):
            return await handler(context)
        known = ", ".join(self._by_workflow)
        reason = f"There is no workflow “{workflow}”: begin again with one of {known}."
        return c.Fail(reason=reason, retryable=False)


def _ask_to_go_on(session: Session) -> c.Ask | None:
    """The question once as many turns as the settings allow were taken since the person's last word; None before."""
    taken = session.counts.turns - session.counts.turns_before_words
    if taken < session.settings.max_turns:
        return None
    left = [sub_goal.goal for sub_goal in session.memory.sub_goals if sub_goal.status == "pending"]
    return c.Ask(about="turns", text=wording.turns_taken(taken, left))
