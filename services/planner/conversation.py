"""The workflow `conversation`: draft the plan in words, ask for what is missing, or answer a message."""

from parley.events.values import Step
from services.planner.conversation_prompt import PlanDraft, PlanReply, build_prompt, render_partial
from services.planner.examples import Examples, no_examples
from shared.domain import commands as c
from shared.domain.messages import begins_round, drafting_session
from shared.domain.plan_steps import with_kept_ids
from shared.llm.dialogue import refuse_repeated, reply_for, to_command
from shared.worker import WorkContext


async def draft_plan(context: WorkContext, examples: Examples = no_examples) -> c.DraftPlan | c.NoDraft:
    session = context.session
    reply = await context.ask(
        build_prompt(context.prompt_session, context.deps.settings, await examples(drafting_session(session))),
        reply_for(PlanReply, session),
        kind="plan",
        render=render_partial,
        refuse=refuse_repeated(session),
    )
    plan = reply.reply
    if not isinstance(plan, PlanDraft):
        return to_command(plan)
    before = session.plan.steps if session.plan and not begins_round(session) else ()
    ids = {step.id: step.id for step in before}
    steps = (Step(id=ids.get(step.id), text=step.text.strip()[:2000]) for step in plan.steps if step.text.strip())
    return c.DraftPlan(
        say=plan.say.strip(), goal=plan.goal, steps=with_kept_ids(tuple(steps), before), notes=plan.notes.strip()
    )
