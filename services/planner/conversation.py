"""The workflow `conversation`: draft the plan in words, ask for what is missing, or answer a remark."""

from parley.events.values import Step
from services.planner.conversation_prompt import PlanDraft, PlanReply, build_prompt, render_partial
from services.planner.examples import Examples, no_examples
from shared.domain import commands as c
from shared.domain.messages import drafting_session
from shared.llm.dialogue import refuse_repeated, reply_for, to_command
from shared.worker import WorkContext


async def draft_plan(context: WorkContext, examples: Examples = no_examples) -> c.DraftPlan | c.Ask | c.AnswerRemark:
    session = context.session
    reply = await context.ask(
        build_prompt(session, await examples(drafting_session(session))),
        reply_for(PlanReply, session),
        kind="plan",
        render=render_partial,
        refuse=refuse_repeated(session),
    )
    plan = reply.reply
    if not isinstance(plan, PlanDraft):
        return to_command(plan, session)
    steps = tuple(Step(text=text.strip()[:2000]) for text in plan.steps if text.strip())
    return c.DraftPlan(goal=plan.goal, steps=steps, notes=plan.notes.strip())
