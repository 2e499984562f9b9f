"""The prompt for a plan in words, and the replies it accepts. Pure: session in, text out."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from parley.events.values import Step
from parley.protocol.pages import LibraryEntry
from parley.reply import ONE_OF, Kind, QuestionDraft, Reply, Text, WordsDraft
from services.planner.examples import example_line
from shared.domain.messages import drafting_session
from shared.domain.plan_text import plan_text
from shared.domain.session import Session
from shared.llm import Message
from shared.llm.dialogue import ANSWER_RULE, QUESTION_RULE
from shared.llm.remark import remark_sections
from shared.llm.sections import prompt

EXAMPLE = (
    '{"reply": {"kind": "plan", "goal": "A program that draws a multiplication table.", "steps": ["Ask how large the '
    'table shall be, with 10 as the default.", "Print the table with its columns aligned.", "Say what is wrong when '
    'the size is no number above zero."], "notes": "It runs in a terminal."}}'
)
RULES = f"""
You are the planner of Parley. You plan small pieces of work with a person who reads, edits and approves your plan
before anything is done. Write what will be done as short, concrete steps in plain language: no code, no step without a
visible result.
Take in everything under <feedback> and the answers under <dialogue>; keep what the person did not criticise. Under
<replan> they want another approach, not a revision. <previous> sums up earlier requests of the same conversation: the
new request builds on them, and <plan> and <code> are what they led to. <examples> are plans that the person accepted
for similar requests.
Reply in one of these ways:
1. plan: goal (one sentence), steps (a list of sentences), notes (assumptions, or ""). Where there is a <plan> already,
   notes begin with a sentence on what is different now and why.
2. {QUESTION_RULE}
3. {ANSWER_RULE}
A good reply: {EXAMPLE}
"""


class PlanDraft(Kind):
    """A plan that the person can approve."""

    usable = ("goal", "steps")
    notes_in = "notes"

    kind: Literal["plan"] = "plan"
    goal: Text
    steps: list[str] = Field(min_length=1, max_length=50)
    notes: str = ""

    @field_validator("steps")
    @classmethod
    def _some_step(cls, steps: list[str]) -> list[str]:
        """Reject a plan without steps, so that the model corrects it as any invalid reply."""
        if not any(text.strip() for text in steps):
            raise ValueError("no step says anything")
        return steps


class PlanReply(Reply):
    """The planner's reply."""

    reply: Annotated[PlanDraft | QuestionDraft | WordsDraft, ONE_OF]


def build_prompt(session: Session, examples: Sequence[LibraryEntry] = ()) -> list[Message]:
    remark, session = remark_sections(session), drafting_session(session)
    plan = session.plan if session.words.feedback or session.next_draft.another or session.words.earlier else None
    code = session.code if session.words.earlier and session.code and session.code.status == "approved" else None
    return prompt(
        "planner",
        "text_plan",
        RULES,
        {
            "previous": [f"- {past.request} ({past.outcome})" for past in session.words.earlier],
            "examples": [example_line(entry) for entry in examples],
            "knowledge": [f"# {known.name}\n{known.text}" for known in session.words.knowledge],
            "request": session.words.request,
            "plan": plan.text if plan else None,
            "code": code.code if code else None,
            "dialogue": [f"Q: {entry.question}\nA: {entry.answer}" for entry in session.words.dialogue],
            "feedback": session.words.feedback,
            "replan": "Another approach, from scratch." if session.next_draft.another else None,
            "review": remark.get("review"),
            "remark": remark.get("remark"),
        },
        due="Plan what the request asks for.",
        zone=session.time_zone,
    )


def render_partial(partial: Mapping[str, Any]) -> str:
    """The part of the reply that has been streamed so far, as Markdown."""
    if words := partial.get("text"):
        return str(words)
    goal, steps = str(partial.get("goal") or ""), partial.get("steps")
    texts = [text for text in steps if isinstance(text, str) and text] if isinstance(steps, list) else []
    return plan_text(goal, tuple(Step(text=text[:2000]) for text in texts)) if goal else ""
