"""Planner: when a session is due for planning, draft its plan or its next turn, or ask what is missing."""

from services.planner.agentflow import Recalls, Tools, plan_turn
from services.planner.flow import PathPlanner
from services.planner.prompt import PlanReply, brief, shown
from shared.domain import commands as c
from shared.domain.workers import WorkerCommand
from shared.events.values import Step
from shared.worker import Desk


class Planner:
    """What turns and paths are planned with: the tools and flows there are, and what earlier sessions came to."""

    def __init__(self, tools: Tools, recall: Recalls, paths: PathPlanner) -> None:
        self._tools = tools
        self._recall = recall
        self._paths = paths

    async def plan(self, desk: Desk) -> WorkerCommand:
        match desk.session.workflow:
            case "conversation":
                return await draft_plan(desk)
            case "agentflow":
                return await plan_turn(desk, self._tools, self._recall)
            case "flow":
                return await self._paths.plan(desk)
            case other:
                reason = f"There is no workflow “{other}”: begin again with conversation, agentflow or flow."
                return c.Fail(reason=reason, retryable=False)


async def draft_plan(desk: Desk) -> c.DraftPlan | c.Ask | c.AnswerRemark:
    reply = await desk.ask(brief(desk.session), PlanReply, kind="plan", render=shown)
    if spoken := reply.spoken(desk.session, planned=reply.steps):
        return spoken
    steps = tuple(Step(text=text.strip()[:2000]) for text in reply.steps if text.strip())
    return c.DraftPlan(goal=reply.goal.strip(), steps=steps, notes=reply.notes.strip())
