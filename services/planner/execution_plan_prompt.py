"""The prompt for an execution plan, and the replies it accepts. Pure: session in, text out."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from parley.events.values import Step
from parley.protocol.pages import LibraryEntry
from parley.protocol.tools import ToolSpec
from parley.reply import ONE_OF, AcceptedOffer, JsonText, Kind, QuestionDraft, Reply, Text, WordsDraft
from services.planner.agentflow_prompt import MoreTools, found_sections, tool_sections
from services.planner.plan_changes import CHANGES_RULE, ChangesDraft, DraftedStep, streamed_steps
from services.planner.recall import example_line
from services.planner.tools import ToolChoice
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Plan
from shared.llm import Message
from shared.llm.dialogue import (
    ANSWER_RULE,
    CONVERSATION,
    KINDS,
    OFFER_RULE,
    QUESTION_RULE,
    SAY,
    is_told,
    knowledge_section,
    request_section,
    waiting_sections,
)
from shared.llm.sections import capabilities, prompt
from shared.repair.reader import outline
from shared.settings import Settings

EXAMPLE = (
    '{"reply": {"kind": "plan", "say": "", "goal": "Pay back what order A-17 cost", "steps": ['
    '{"id": "s1", "tool": "get_order", "arguments": "{\\"id\\": \\"A-17\\"}", "text": "Look up order A-17", "after": '
    '[], "for_each": null}, {"id": "s2", "tool": "refund", "arguments": "{\\"id\\": \\"A-17\\", \\"amount\\": '
    '\\"{{steps.s1.output.price}}\\"}", "text": "Pay its price back", "after": [], "for_each": null}], "notes": ""}}'
)
RULES = f"""
You are the planner of Parley. You write a plan of tool calls that a person reads, changes and approves as a whole, and
that is then carried out exactly as it stands. You never carry anything out yourself.
Use only the tools under <tools> and <found_tools>, with arguments that their schemas allow, and only ids and facts that
people said: never invent one. Keep the <rules> of the business you work for. What an earlier step will give is not
known yet; `returns` of its tool tells its shape ("*" stands for any name). Refer to it as {{{{steps.s1.output}}}}, or
to a part of it as {{{{steps.s1.output.orders[0].id}}}}. A reference may stand for a whole value or within a text. It
cannot compute, and must not stand in the name of a tool or of an argument, in SQL, in program code or in the host of a
URL. A step with for_each, one reference to a list, is done once for each item of it: its arguments refer to the item as
{{{{item}}}} or {{{{item.id}}}}, and its output is the list of the results. Steps that do not depend on each other run
side by side: `after` lists only the steps that must have succeeded before. An empty list does nothing, so a step can
depend on a condition. Do not ask for permission in words: nothing runs before the person has approved the plan, which
is the clear yes that <rules> may demand.

{CONVERSATION}

<plan> is the plan as it is now, with ids: change it as the person asks, keep the ids of the steps that stay, never give
the id of a step to another one, and keep steps that are written_by the person as they are, unless they ask otherwise.
<executed> tells how far its steps have come. <problems> tell why your last proposal was not accepted. <examples> are
plans that the person accepted for similar requests; their ids and values are not those of this one. <instructions> are
the person's wishes for every version of the plan; follow them as far as these rules allow.

{KINDS}
1. plan: say ({SAY});
   goal in a sentence; steps: a list of {{id, tool, arguments, text, after, for_each}}, where arguments is a JSON object
   as text and text says in plain words what the step is for; notes: assumptions that the person should check, or "".
2. {CHANGES_RULE}
3. more_tools: none of these tools does what is needed; words: names from <more_tools>, or what you look for.
4. {QUESTION_RULE}
5. {ANSWER_RULE}
6. {OFFER_RULE}

A good reply: {EXAMPLE}
"""


class StepDraft(DraftedStep):
    """One step: a call, what it is for, and what comes before it."""

    # Arguments of any shape are read: they are repaired, or rejected with a reason.

    id: str = Field("", max_length=32)
    tool: str = Field(min_length=1, max_length=500)
    arguments: JsonText = None  # a reference need not have the type that the tool's schema demands
    text: str = ""
    after: list[str] = Field(default_factory=list, max_length=100)
    for_each: str | None = None


class StepsDraft(Kind):
    """A plan of tool calls."""

    usable = ("steps",)
    notes_in = "say"

    kind: Literal["plan"] = "plan"
    say: str = ""
    goal: Text
    steps: list[StepDraft] = Field(min_length=1, max_length=100)
    notes: str = ""


class StepChanges(ChangesDraft[StepDraft]):
    """Changes of the plan of tool calls."""


class StepsReply(Reply):
    """The planner's reply."""

    reply: Annotated[StepsDraft | StepChanges | MoreTools | QuestionDraft | WordsDraft | AcceptedOffer, ONE_OF]


def build_prompt(
    session: Session,
    settings: Settings,
    tools: ToolChoice,
    problems: Sequence[str] = (),
    examples: Sequence[LibraryEntry] = (),
) -> list[Message]:
    plan = session.plan if session.plan and session.plan.task else None
    return prompt(
        "planner",
        "execution_plan",
        RULES,
        {
            "original_request": request_section(session),
            "examples": map(example_line, examples),
            **found_sections(tools, _tool_line),
            "plan": _plan_lines(session, plan) if plan else None,
            "executed": _executed_lines(session),
            "problems": problems,
            **waiting_sections(session),
        },
        system={
            "capabilities": capabilities(settings),
            **tool_sections(tools, _tool_line),
            "instructions": session.settings.instructions or None,
        },
        opening={"knowledge": knowledge_section(session)},
        transcript=session.transcript,
        due="Write the plan, or answer the person.",
        zone=session.time_zone,
    )


def _tool_line(spec: ToolSpec) -> str:
    """A tool as one line of the prompt, with the shape of its result for references into it."""
    fields = {name: getattr(spec, name) for name in ("name", "description", "effect", "parameters")}
    if spec.returns is not None:
        fields["returns"] = outline(spec.returns, spec.returns)
    return json.dumps(fields, ensure_ascii=False)


def _plan_lines(session: Session, plan: Plan) -> list[str]:
    goal = [] if is_told(session, plan) else [plan.goal]
    return [*goal, *(_step_line(step, own=step.id in plan.own_steps) for step in plan.steps)]


def _step_line(step: Step, *, own: bool) -> str:
    fields: dict[str, object] = {"id": step.id, "tool": step.tool, "arguments": step.arguments}
    fields |= {"text": step.text, "after": step.after}
    if step.for_each:
        fields["for_each"] = step.for_each
    if own:
        fields["written_by"] = "person"
    return json.dumps(fields, ensure_ascii=False)


def _executed_lines(session: Session) -> list[str]:
    """The outcomes of the plan's steps, including those of its earlier versions."""
    current = session.turn.actions if session.turn and session.turn.rules.by_step else ()
    names = {action.spec.id for action in current}
    actions = (*(action for action in session.begun_steps if action.spec.id not in names), *current)
    return [_executed_line(action) for action in actions]


def _executed_line(action: Action) -> str:
    until = f" until {action.until:%Y-%m-%d %H:%M:%S} UTC" if action.status == "waiting" and action.until else ""
    line = (
        f"- {action.spec.id.partition('.')[2]} {action.spec.tool}: {action.shown_status}{until}. {action.explanation}"
    )
    return line.rstrip(". ")


def render_partial(partial: Mapping[str, Any]) -> str:
    """The part of the reply that has been streamed so far, as Markdown."""
    lines = [str(partial.get("text") or partial.get("goal") or "")]
    for number, step in enumerate(streamed_steps(partial), 1):
        if isinstance(step, Mapping) and step.get("tool"):
            lines.append(f"{number}. {step.get('text') or ''} `{step['tool']}`")
    return "\n".join(lines).strip()
