"""The workflow `conversation`: draft the plan in words, ask for what is missing, or answer a message."""

from parley.events.values import Step
from parley.reply import without_kinds
from services.planner.conversation_prompt import (
    PlanDraft,
    PlanReply,
    TextChanges,
    TextStep,
    build_prompt,
    render_partial,
)
from services.planner.examples import Examples, no_examples
from services.planner.plan_changes import refusal, whole_plan
from shared.domain import commands as c
from shared.domain.messages import drafting_session
from shared.domain.plan_steps import with_kept_ids
from shared.llm.dialogue import refuse_repeated, reply_for, to_command
from shared.worker import WorkContext

WITHOUT_CHANGES = without_kinds(PlanReply, "changes")


async def draft_plan(context: WorkContext, examples: Examples = no_examples) -> c.DraftPlan | c.NoDraft:
    session = context.session
    plan = session.plan if session.plan and session.plan.kind == "text" else None
    before = plan.steps if plan else ()
    known = [TextStep(id=step.id or str(number), text=step.text) for number, step in enumerate(before, 1)]
    repeated = refuse_repeated(session)

    def refuse(reply: PlanReply) -> str:
        return repeated(reply) or refusal(reply.reply, plan, known, PlanDraft)

    reply = await context.ask(
        build_prompt(context.prompt_session, context.deps.settings, await examples(drafting_session(session))),
        reply_for(PlanReply if plan else WITHOUT_CHANGES, session),
        kind="plan",
        render=render_partial,
        refuse=refuse,
    )
    draft = reply.reply
    if isinstance(draft, TextChanges):
        draft = whole_plan(draft, plan, known, PlanDraft)
    if not isinstance(draft, PlanDraft):
        return to_command(draft)
    ids = {step.id: step.id for step in before}
    steps = (Step(id=ids.get(step.id), text=step.text.strip()[:2000]) for step in draft.steps if step.text.strip())
    by_place = not isinstance(reply.reply, TextChanges)  # changes name each step that stays
    kept = with_kept_ids(tuple(steps), before, by_place=by_place)
    return c.DraftPlan(say=draft.say.strip(), goal=draft.goal, steps=kept, notes=draft.notes.strip())
