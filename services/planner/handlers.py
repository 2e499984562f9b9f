"""Planner: when a session is due for planning, draft its plan, or ask what is missing."""

from services.planner.prompt import PlanReply, brief, shown
from shared.domain import commands as c
from shared.events.values import Step
from shared.worker import Desk


async def draft_plan(desk: Desk) -> c.DraftPlan | c.Ask | c.Fail:
    if desk.session.workflow != "conversation":
        reason = f"The workflow “{desk.session.workflow}” is not available yet: begin again with “conversation”."
        return c.Fail(reason=reason, retryable=False)
    reply = await desk.ask(brief(desk.session), PlanReply, kind="plan", render=shown)
    if reply.question and reply.question.strip():
        return c.Ask(text=reply.question.strip())
    steps = tuple(Step(text=text.strip()[:2000]) for text in reply.steps if text.strip())
    return c.DraftPlan(goal=reply.goal.strip(), steps=steps, notes=reply.notes.strip())
