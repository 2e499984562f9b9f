"""Plan and code: draft the plan in words, ask what is missing, or answer a remark."""

from parley.events.values import Step
from services.planner.conversation_prompt import PlanDraft, PlanReply, brief, shown
from services.planner.examples import Examples, no_examples
from shared.domain import commands as c
from shared.domain.said import drafting
from shared.llm.dialogue import refuse_repeated, reply_for, to_command
from shared.worker import WorkContext


async def draft_plan(context: WorkContext, examples: Examples = no_examples) -> c.DraftPlan | c.Ask | c.AnswerRemark:
    session = context.session
    reply = await context.ask(
        brief(session, await examples(drafting(session))),
        reply_for(PlanReply, session),
        kind="plan",
        render=shown,
        refuse=refuse_repeated(session),
    )
    plan = reply.reply
    if not isinstance(plan, PlanDraft):
        return to_command(plan, session)
    steps = tuple(Step(text=text.strip()[:2000]) for text in plan.steps if text.strip())
    return c.DraftPlan(goal=plan.goal, steps=steps, notes=plan.notes.strip())
