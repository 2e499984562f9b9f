"""Commands about plans: a user's version, checked against the tools; its start; and answers, also by option. Pure."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from pydantic import JsonValue

from parley.events.values import Step
from parley.protocol import client as m
from parley.protocol.client import ClientMessage
from services.gateway.messages.tools import Tools
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.session import Session, review_target
from shared.domain.kernel.state import Plan
from shared.domain.kernel.state_names import OPTION_COMPLETE, OPTION_FEEDBACK, OPTION_KEEP, OPTION_RUN, OPTION_TAKE
from shared.domain.plan.policy import outdated_reason
from shared.domain.plan.text import plan_text
from shared.domain.plan.validation import refusal
from shared.domain.rules.user_commands import UserCommand
from shared.domain.steps.plan_steps import changes_made, known_steps, step_label, task_status
from shared.plan_checks.steps import check_plan, with_ids
from shared.repair.repairer import repair
from shared.repair.schema import properties

NUMBERED_LINE = re.compile(r"^\s*(?:\d{1,3}[.)]|[-*•])\s+(?P<text>\S.*)$")
LABELLED_LINE = re.compile(r"^\s*(?:\*\*|#+\s*)?(?P<label>goal|notes)\s*:(?:\*\*)?\s*(?P<text>.*)$", re.IGNORECASE)
MAX_STEPS, MAX_STEP_CHARS = 100, 2_000


def edited_steps(
    edit: c.EditPlan, tools: Tools, *, session: Session | None = None, allowed: Collection[str] = ()
) -> c.EditPlan:
    """The edit with each tool's effect, ids for new steps, and the results of its checks.

    `session` has the plan that is edited, if there is one. `allowed`: the tools that the plan may use; empty: all.
    Raises Invalid with every problem, by step.
    """
    before, earlier_changes = (known_steps(session), changes_made(session)) if session else ((), {})
    checked_plan = check_plan(with_ids(edit.steps, before), tools, allowed=allowed, earlier_changes=earlier_changes)
    if checked_plan.problems:
        raise refusal(checked_plan.steps, checked_plan.problems)
    return edit.model_copy(update={"steps": checked_plan.steps, "checks": checked_plan.checks})


def check_current(steps: Sequence[Step], tools: Tools) -> None:
    """Raises Invalid, by step, if a tool has changed since the plan was made, or no longer exists."""
    specs = [tools.get(step.tool or "") for step in steps]
    changes = [outdated_reason(step, spec.rule if spec else None) for step, spec in zip(steps, specs, strict=True)]
    if any(changes):
        labels = [step_label(number, step) for number, step in enumerate(steps, 1)]
        raise refusal(steps, [f"{name}: {text}" for name, text in zip(labels, changes, strict=True) if text])


class PlanText(NamedTuple):
    """A parsed plan. `goal` None: unchanged. Notes that the text does not have are deleted."""

    goal: str | None
    steps: tuple[Step, ...]
    notes: str


def read_plan(content: str, plan: Plan | None = None) -> PlanText:
    """Parse numbered or bulleted lines as steps, and `Goal:` and `Notes:`; other lines continue the previous one.

    A step whose line is unchanged from `plan` keeps its tool and arguments. Raises Invalid.
    """
    goal: list[str] = []
    notes: list[str] = []
    steps: list[list[str]] = []
    part: list[str] | None = None
    for line in content.splitlines():
        if labelled := LABELLED_LINE.match(line):
            part = goal if labelled["label"].lower() == "goal" else notes
            part.append(labelled["text"].strip())
        elif part is not notes and (match := NUMBERED_LINE.match(line)):
            part = [match["text"].strip()]
            steps.append(part)
        elif part is not None:
            part.append(line.strip())
    known = {_step_line(step): step for step in plan.steps} if plan else {}
    texts = [_join_lines(lines) for lines in steps]
    _check_steps(texts)
    return PlanText(
        _join_lines(goal) or None, tuple(known.get(t) or Step(text=t) for t in texts), "\n".join(notes).strip()
    )


def _check_steps(texts: list[str]) -> None:
    if not texts:
        raise Invalid("The plan has no steps: write each as a numbered line.")
    if len(texts) > MAX_STEPS or any(len(text) > MAX_STEP_CHARS for text in texts):
        raise Invalid(f"A plan has at most {MAX_STEPS} steps of {MAX_STEP_CHARS} characters each.")


def _join_lines(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _step_line(step: Step) -> str:
    """The step's line in the plan's text, without its number."""
    return _join_lines([plan_text("", (step,)).splitlines()[2].removeprefix("1.")])


def answer_command(message: m.QuestionReply | m.AnswerReply, session: Session) -> UserCommand:
    """The answer to the open question. Without an id it may be an option of the open offer."""
    names_question = message.question_id is not None
    if not names_question and (decision := _offer_decision(message.content, session)):
        return decision
    return c.Answer(text=answer_text(session, message.content), action_id=message.question_id, more=message.more)


def _offer_decision(text: str, session: Session) -> c.TakeOffer | c.KeepOffer | None:
    """The decision about the open offer that the text names, as protocol 1 offers it; None if it is anything else."""
    if session.offer is None:
        return None
    match text.strip().lower():
        case choice if choice == OPTION_TAKE.lower():
            return c.TakeOffer(version=session.offer.version)
        case choice if choice == OPTION_KEEP.lower():
            return c.KeepOffer(version=session.offer.version)
    return None


def continue_command(message: m.ContinueChoice, session: Session) -> UserCommand:
    """The command of an option, case-insensitive; "" asks what to do next; any other text is a new request."""
    if decision := _offer_decision(message.content, session):
        return decision
    options: dict[str, UserCommand] = {
        "": c.Continue(),
        OPTION_FEEDBACK.lower(): c.Continue(),
        OPTION_RUN.lower(): c.Run(),
        OPTION_COMPLETE.lower(): c.Complete(),
    }
    content = message.content.strip()
    return options.get(content.lower()) or c.Say(text=content)


def answer_text(session: Session, text: str) -> str:
    """The answer to record: an object that fits the question's form, or any text if it has none. Raises Invalid."""
    form = session.question.form if session.question else None
    if form is None or form.get("type") != "object":
        return text
    answer = _parse_object(text)
    if answer is None:
        names = ", ".join(properties(form)) or "anything"
        raise Invalid(f"This question has a form: answer with a JSON object of its fields ({names}).")
    checked = repair(answer, form)
    if checked.problems:
        raise Invalid(f"The answer does not fit the form: {'; '.join(checked.problems)}.")
    return json.dumps(checked.arguments, ensure_ascii=False)


def _parse_object(text: str) -> dict[str, JsonValue] | None:
    def reject_constant(name: str) -> None:
        raise ValueError(f"{name} is not a JSON number")

    try:
        value = json.loads(text, parse_constant=reject_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Execute(ClientMessage):
    """Start the approved execution plan; with `retry`, continue one that failed or was stopped. Not on /ws."""

    type: Literal["execute"] = "execute"
    retry: bool = False


def approves_plan(message: ClientMessage, session: Session) -> bool:
    """Whether the message approves an execution plan."""
    plan = session.plan
    if plan is None or not plan.task or not isinstance(message, m.Approval):
        return False
    names_plan = message.action_id is None and message.version in (None, plan.version)
    return message.approved and names_plan and review_target(session) == "text"


def execution_commands(message: Execute, session: Session) -> tuple[UserCommand, ...]:
    """Nothing while a service works on the plan, and nothing for a plan that has ended or needs the user."""
    match task_status(session):
        case "draft" | "pending_approval":
            raise OutOfTurn("The plan is not approved. Approve it: that starts it, too.")
        case "cancelled":
            raise OutOfTurn("The plan was cancelled. Generate or store another one.")
        case "paused" if session.paused and message.retry:
            return (c.Resume(),)
        case "approved" if not session.is_working:
            return (c.Retry(),)
        case "paused" | "failed" if message.retry and not session.is_working:
            return (c.Retry(),)
    return ()
