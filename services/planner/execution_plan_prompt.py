"""The prompt for an execution plan, and the replies it accepts. Pure: session in, text out."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley.events.values import Step
from parley.protocol.pages import LibraryEntry
from parley.protocol.tools import ToolPage, ToolSpec
from parley.reply import ONE_OF, JsonText, Kind, QuestionDraft, Reply, Text, WordsDraft
from services.planner.agentflow_prompt import MoreTools
from services.planner.examples import example_line
from shared.domain.messages import drafting_session
from shared.domain.session import Session
from shared.llm import Message
from shared.llm.dialogue import ANSWER_RULE, QUESTION_RULE
from shared.llm.remark import remark_sections
from shared.llm.sections import prompt
from shared.plan_checks.schemas import outline

MAX_EARLIER_REQUESTS, MAX_OUTCOME = 3, 200  # earlier requests in the prompt; characters of each outcome
EXAMPLE = (
    '{"reply": {"kind": "plan", "goal": "Pay back what order A-17 cost", "steps": ['
    '{"id": "s1", "tool": "get_order", "arguments": {"id": "A-17"}, "text": "Look up order A-17", "after": []}, '
    '{"id": "s2", "tool": "refund", "arguments": {"id": "A-17", "amount": "{{steps.s1.output.price}}"}, '
    '"text": "Pay its price back", "after": []}], "notes": ""}}'
)
RULES = f"""
You are the planner of Parley. You write a plan of tool calls that a person reads, changes and approves as a whole, and
that is then carried out exactly as it stands. You never carry anything out yourself.
Use only the tools under <tools>, with arguments that their schemas allow, and only ids and facts that people said:
never invent one. Keep the <rules> of the business you work for. What an earlier step will give is not known yet; what
its tool `returns` says its shape ("*" stands for any name). Refer to it as {{{{steps.s1.output}}}}, or to a part of it
as {{{{steps.s1.output.orders[0].id}}}}. A reference may stand for a whole value or within a text; it cannot compute,
and has no place in the name of a tool or of an argument, in SQL, in program code or in the host of a URL. A step
with for_each, one reference to a list, is done once for each item of it: its arguments refer to the item as
{{{{item}}}} or {{{{item.id}}}}, and what it gives is the list of the results. Steps that do not depend on each other
run side by side: say in `after` only which steps must have ended well before. Do not ask for permission in words:
nothing runs before the person has approved the plan.
<plan> is the plan as it is now, with ids: change it as <feedback> asks, keep the ids of steps that stay, and never give
an id to another step. <executed> is what its steps have come to. <problems> say why your last proposal was not taken.
<examples> are plans that the person accepted for similar requests: their ids and values are not those of this one.
<instructions> are what the person wants every version of the plan to keep to, as far as these rules allow it.
Reply in one of these ways, whichever of them are offered:
1. plan: goal in a sentence; steps: a list of {{id, tool, arguments, text, after, for_each}} where text says in plain
   words what the step is for; notes: what the person should know, or nothing.
2. more_tools: none of these tools can do what is needed; words say in a few words what you look for.
3. {QUESTION_RULE}
4. {ANSWER_RULE}
A good reply: {EXAMPLE}
"""


class StepDraft(BaseModel):
    """One step that the model proposes. Arguments of any shape are taken: they are put right or refused by name."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field("", max_length=32)
    tool: str = Field(min_length=1, max_length=500)
    arguments: JsonText = None  # a reference need not have the type that the tool's schema demands
    text: str = ""
    after: list[str] = Field(default_factory=list, max_length=100)
    for_each: str | None = None


class StepsDraft(Kind):
    """A plan of tool calls."""

    usable = ("steps",)
    notes_in = "notes"

    kind: Literal["plan"] = "plan"
    goal: Text
    steps: list[StepDraft] = Field(min_length=1, max_length=100)
    notes: str = ""


class StepsReply(Reply):
    """The planner's reply."""

    reply: Annotated[StepsDraft | MoreTools | QuestionDraft | WordsDraft, ONE_OF]


def build_prompt(
    session: Session, page: ToolPage, problems: Sequence[str] = (), examples: Sequence[LibraryEntry] = ()
) -> list[Message]:
    whole_session, remark, session = session, remark_sections(session), drafting_session(session)
    plan = session.plan if session.plan and session.plan.task == session.task else None
    answers = {entry.answer for entry in session.words.dialogue}
    others = page.total - len(page.tools)
    return prompt(
        "planner",
        "execution_plan",
        RULES,
        {
            "rules": page.rules,
            "tools": [_tool_line(spec) for spec in page.tools],
            "more_tools": f"There are {others} other tools; ask for them by words." if others else None,
            "previous": [
                f"- {past.request} ({past.outcome[:MAX_OUTCOME]})"
                for past in session.words.earlier[-MAX_EARLIER_REQUESTS:]
            ],
            "examples": [example_line(entry) for entry in examples],
            "knowledge": [f"# {known.name}\n{known.text}" for known in session.words.knowledge],
            "instructions": session.settings.instructions or None,
            "request": session.words.request,
            "plan": [plan.goal, *map(_step_line, plan.steps)] if plan and plan.task else None,
            "executed": _executed_lines(whole_session),
            "dialogue": [f"Q: {entry.question}\nA: {entry.answer}" for entry in session.words.dialogue],
            "feedback": [words for words in session.words.feedback if words not in answers],
            "replan": "Another plan, from scratch." if session.next_draft.another else None,
            "problems": problems,
            "review": remark.get("review"),
            "remark": remark.get("remark"),
        },
        due="Write the plan for the request.",
        zone=session.time_zone,
    )


def _tool_line(spec: ToolSpec) -> str:
    """A tool as one line of the prompt, with the shape of its result for references into it."""
    fields = {name: getattr(spec, name) for name in ("name", "description", "effect", "parameters")}
    if spec.returns is not None:
        fields["returns"] = outline(spec.returns, spec.returns)
    return json.dumps(fields, ensure_ascii=False)


def _step_line(step: Step) -> str:
    fields = {"id": step.id, "tool": step.tool, "arguments": step.arguments, "text": step.text, "after": step.after}
    if step.for_each:
        fields["for_each"] = step.for_each
    return json.dumps(fields, ensure_ascii=False)


def _executed_lines(session: Session) -> list[str]:
    """The outcomes of the plan's steps, including those of its earlier versions."""
    current = session.turn.actions if session.turn and session.turn.rules.by_step else ()
    names = {action.spec.id for action in current}
    actions = (*(action for action in session.begun_steps if action.spec.id not in names), *current)
    return [f"- {a.spec.id} {a.spec.tool}: {a.shown_status}. {a.explanation}".rstrip(". ") for a in actions]


def render_partial(partial: Mapping[str, Any]) -> str:
    """The part of the reply that has been streamed so far, as Markdown."""
    lines = [str(partial.get("text") or partial.get("goal") or "")]
    for number, step in enumerate(partial.get("steps") or (), 1):
        if isinstance(step, Mapping) and step.get("tool"):
            lines.append(f"{number}. {step.get('text') or ''} `{step['tool']}`")
    return "\n".join(lines).strip()
