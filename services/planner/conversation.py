"""The workflow `conversation`: draft the plan in words, ask for what is missing, or answer a message."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from parley.events.values import Step
from parley.protocol.pages import LibraryEntry
from parley.reply import ONE_OF, AcceptedOffer, Kind, QuestionDraft, Reply, Text, WordsDraft, without_kinds
from services.planner.plan_changes import CHANGES_RULE, ChangesDraft, DraftedStep, refusal, streamed_steps, whole_plan
from services.planner.recall import Examples, example_line, no_examples
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.plan.text import plan_text
from shared.domain.steps.plan_steps import with_kept_ids
from shared.domain.transcript.messages import drafting_session
from shared.llm import Message
from shared.llm.dialogue import (
    ANSWER_RULE,
    CONVERSATION,
    KINDS,
    OFFER_RULE,
    QUESTION_RULE,
    SAY,
    code_section,
    knowledge_section,
    plan_section,
    refuse_repeated,
    reply_for,
    request_section,
    to_command,
    waiting_sections,
)
from shared.llm.sections import capabilities, prompt
from shared.settings import Settings
from shared.worker import WorkContext

EXAMPLE = (
    '{"reply": {"kind": "plan", "say": "The size can be given now; 10 stays the default.", "goal": "A program that '
    'draws a multiplication table.", "steps": [{"id": "s1", "text": "Take the size of the table from the arguments, '
    'or 10."}, {"id": "s2", "text": "Print the table with its columns aligned."}, {"id": "", "text": "Say what is '
    'wrong if the size is not a number above zero."}], "notes": "The table has whole numbers only."}}'
)
RULES = f"""
You are the planner of Parley. You and a person agree on a piece of work before it is done: you write the plan; they
read it, discuss it, change it and approve it. Then a programmer, who sees the plan and this conversation, writes one
Python program that carries it out. <capabilities> tells what such a program can do here and how its results reach the
person: plan nothing beyond that. If they want more, say so and plan what comes nearest.
Write what will be done as short, concrete steps in plain language: no code, no step without a visible result.

{CONVERSATION}

<plan> is the plan as it is now, with the ids of its steps, and <code> the program. Write or change it with all that was
said since; keep word for word the steps that nobody questioned, and those that the person wrote. After "wants
another one, from scratch" plan differently instead of revising it. What is also wanted
becomes part of the steps. <examples> are plans that the person accepted for similar requests.

{KINDS}
1. plan: say ({SAY}),
   goal (one sentence), steps (a list of {{id, text}}: the id that a step has, also when you reword it; "" for a new
   one; the person sees numbers, so write step 1, step 2 … in say), notes (assumptions that the person should check,
   or "").
2. {CHANGES_RULE}
3. {QUESTION_RULE}
4. {ANSWER_RULE}
5. {OFFER_RULE}

A good reply: {EXAMPLE}
"""


class TextStep(DraftedStep):
    """A step in words."""

    text: str

    @model_validator(mode="before")  # a model that is not held to the schema may give the words alone
    @classmethod
    def _words(cls, data: Any) -> Any:
        return {"text": data} if isinstance(data, str) else data


class PlanDraft(Kind):
    """A plan that the person can approve."""

    usable = ("goal", "steps")
    notes_in = "say"

    kind: Literal["plan"] = "plan"
    say: str = ""
    goal: Text
    steps: list[TextStep] = Field(min_length=1, max_length=100)
    notes: str = ""

    @field_validator("steps")
    @classmethod
    def _some_step(cls, steps: list[TextStep]) -> list[TextStep]:
        """Reject a plan without steps, so that the model corrects it as any invalid reply."""
        if not any(step.text.strip() for step in steps):
            raise ValueError("no step says anything")
        return steps


class TextChanges(ChangesDraft[TextStep]):
    """Changes of the plan in words."""


class PlanReply(Reply):
    """The planner's reply."""

    reply: Annotated[PlanDraft | TextChanges | QuestionDraft | WordsDraft | AcceptedOffer, ONE_OF]


def build_prompt(session: Session, settings: Settings, examples: Sequence[LibraryEntry] = ()) -> list[Message]:
    return prompt(
        "planner",
        "text_plan",
        RULES,
        {
            "original_request": request_section(session),
            "examples": map(example_line, examples),
            "plan": plan_section(session, ids=True),
            "code": code_section(session),
            **waiting_sections(session),
        },
        system={"capabilities": capabilities(settings)},
        opening={"knowledge": knowledge_section(session)},
        transcript=session.transcript,
        due="Plan what the person asks for, or answer them.",
        zone=session.time_zone,
    )


def render_partial(partial: Mapping[str, Any]) -> str:
    """The part of the reply that has been streamed so far, as Markdown."""
    if words := partial.get("text"):
        return str(words)
    goal = str(partial.get("goal") or "")
    written = [step.get("text") if isinstance(step, Mapping) else step for step in streamed_steps(partial)]
    texts = [text for text in written if isinstance(text, str) and text]
    return plan_text(goal, tuple(Step(text=text[:2000]) for text in texts)) if goal else "\n".join(texts)


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
