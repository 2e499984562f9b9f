"""Execution plans as the REST API shows them: steps with their outcomes, and the overall status. Pure."""

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from parley.events.values import Effect, Step
from parley.protocol.execution_plans import ExecutionPlan, PlanStatus, PlanStep, Progress
from parley.protocol.screen import PollView, StepSection
from parley.protocol.words import JOURNAL, REVIEW
from services.gateway.api_errors import ApiError
from services.gateway.views import input_sections
from services.gateway.views.step_sections import step_actions, step_sections
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Plan
from shared.domain.steps.plan_steps import task_status
from shared.domain.steps.references import ITEM, Reference, references
from shared.domain.transcript.queries import said_with
from shared.domain.turn.action_ids import ActionId
from shared.journal.phrases import polling_text
from shared.journal.summary import summarize
from shared.store_api import PlanRecord

CHANGES: dict[Effect | None, str] = {
    "write": "Changes data.",
    "irreversible": "Changes data and cannot be undone.",
}
PREAPPROVED = "Allowed with whatever values it gets."
_DOUBT = {"uncertain": " (unknown whether it was done)"}
APPROVED = ("approved", "executing", "completed", "failed")  # statuses that a version has only after its approval


def task_id(session: Session) -> str:
    return f"{session.id}.{session.task}" if session.task else session.id


def execution_plan(session: Session, versions: Sequence[PlanRecord] = (), *, current: bool = True) -> ExecutionPlan:
    """The plan of the session's task. `versions` give its times. Without `current` it shows no open work or question.

    Raises ApiError(not_found) in a session without such plans.
    """
    plan = current_plan(session)
    first = int(session.task[1:]) if session.task else session.version + 1
    own_versions = [version for version in versions if first <= version.version <= session.version]
    status, steps = task_status(session), _steps(session, plan)
    return ExecutionPlan(
        task_id=task_id(session),
        session_id=session.id,
        version=plan.version if plan else None,
        number=plan.number if plan else None,
        hash=plan.hash if plan else None,
        description=plan.goal if plan else session.words.request,
        notes=plan.notes if plan else "",
        steps=steps,
        status=status,
        user_approved=plan is not None and plan.status in APPROVED and not plan.approved_by_setting,
        created_at=min((version.at for version in own_versions), default=None),
        updated_at=session.plan_changed_at or max((version.at for version in own_versions), default=None),
        working=current and session.is_working,
        question=session.question.text if session.question and current else "",
        problem=session.failure.reason if session.failure else "",
        result=session.answer.text,
        text=plan_markdown(session),
        current=current,
        checks=plan.checks if plan else (),
        progress=_progress(steps),
        reply=_reply(session) if current else "",
        offer=input_sections.offer(session) if current else None,
    )


def _reply(session: Session) -> str:
    """What the planner said about the last message: its reply in words, or the words with its offer."""
    offered = said_with(session.transcript, session.offer.version) if session.offer else ""
    return session.words.reply or offered


def progress_text(session: Session) -> str:
    """Which steps are done, running and not done, in words; "" without an execution plan."""
    if session.plan is None or not session.plan.task or session.plan.task != session.task:
        return ""
    return _progress(_steps(session, session.plan)).text


def _progress(steps: Sequence[PlanStep]) -> Progress:
    done = tuple(step.id for step in steps if step.status == "finished")
    running = tuple(step.id for step in steps if step.status in ("started", "uncertain"))
    others = tuple(step.id for step in steps if step.id not in (*done, *running))
    labels = {step.id: f"{step.number}. {step.description}{_DOUBT.get(step.status, '')}" for step in steps}
    parts = (("Done", done), ("Still running", running), ("Not done", others))
    text = " ".join(f"{word}: {'; '.join(labels[step_id] for step_id in ids)}." for word, ids in parts if ids)
    return Progress(done=done, running=running, not_done=others, text=text)


def plan_status(session: Session) -> PlanStatus:
    steps = step_sections(session) if current_plan(session) else {}
    statuses = {step_id: step.status for step_id, step in steps.items()}
    return PlanStatus(task_id=task_id(session), status=task_status(session), steps=statuses)


def current_plan(session: Session) -> Plan | None:
    """The plan of the current task; None while there is none. Raises ApiError(not_found)."""
    if session.workflow != "execution_plan" and not (session.plan and session.plan.task):
        raise ApiError("not_found", f"The session {session.id} has no execution plan.", session_id=session.id)
    if session.plan is None and session.task and session.phase == "resting":
        hint = f"Its journal stays: /api/sessions/{session.id}/journal."
        raise ApiError("not_found", f"The plan {task_id(session)} was deleted.", hint, session_id=session.id)
    return session.plan if session.plan and session.plan.task == session.task else None


def step_statuses(session: Session) -> dict[str, str]:
    """The status of each started or planned step by id, including steps that a later version removed."""
    return {ActionId.parse(name).within: action.shown_status for name, action in step_actions(session).items()}


def _steps(session: Session, plan: Plan | None) -> tuple[PlanStep, ...]:
    """The steps with what the view says of them, and with their outputs."""
    sections, actions = step_sections(session), step_actions(session)
    return tuple(
        _step(number, step, section, actions.get(section.action_id))
        for number, step in enumerate(plan.steps if plan else (), 1)
        if (section := sections.get(step.id or ""))
    )


def _step(number: int, step: Step, section: StepSection, action: Action | None) -> PlanStep:
    return PlanStep(
        **{name: value for name, value in section if name in PlanStep.model_fields},
        id=step.id or "",
        number=number,
        tool=step.tool or "",
        description=step.text,
        parameters=step.arguments or {},
        after=step.after,
        for_each=step.for_each,
        effect=step.effect,
        attempt=action.attempt if action else 1,
        output=action.result if action and action.has_output else None,
        error=action.explanation if action else "",
    )


def plan_markdown(session: Session) -> str:
    """The plan with its steps and their outcomes, as Markdown."""
    plan = current_plan(session)
    if plan is None:
        return ""
    lines = [f"# {plan.goal}", "", f"Status: {task_status(session).replace('_', ' ')}", ""]
    steps = _steps(session, plan)
    numbers = {step.id: step.number for step in steps}
    for step in steps:
        lines += _step_lines(step, numbers)
    notes = [line for check in plan.checks if check.ok is not True for line in check.detail.splitlines()]
    lines += ["", "Worth a look:", *(f"- {line}" for line in notes)] if notes else []
    return "\n".join([*lines, *(["", plan.notes] if plan.notes else [])]) + "\n"


def _step_lines(step: PlanStep, numbers: Mapping[str, int]) -> list[str]:
    """`numbers`: of all steps, by id."""
    before = [str(number) for step_id, number in numbers.items() if step_id in step.after]
    after = f" (after {', '.join(before)})" if before else ""
    each = f" for each of {_value_text(step.for_each, numbers)}" if step.for_each else ""
    arguments = ", ".join(f"{name}={_value_text(value, numbers)}" for name, value in step.parameters.items())
    lines = [f"{step.number}. [{step.status}] {step.description}{each}{after}", f"   `{step.tool}({arguments})`"]
    if step.effect in CHANGES:
        lines.append(f"   {CHANGES[step.effect]} {PREAPPROVED if step.preapproved else ''}".rstrip())
    lines += [f"   {step.error}"] if step.error else []
    lines += [f"   {_poll_text(step.poll)}"] if step.poll and step.status == "waiting" else []
    lines += [f"   Until {step.until:%Y-%m-%d %H:%M} UTC"] if step.until else []
    if step.given:
        lines.append(f"   Given output: {json.dumps(step.output, ensure_ascii=False)}")
    elif step.output is not None:
        lines.append(f"   Output: {summarize(step.output)}")
    return lines


def _value_text(value: JsonValue, numbers: Mapping[str, int]) -> str:
    """The value as JSON, with its references in words: `order id of step 2`, and in braces inside a text."""
    text = json.dumps(value, ensure_ascii=False)
    for reference in references(value):
        words = _reference_text(reference, numbers)
        text = text.replace(f'"{reference.text}"', words).replace(reference.text, f"{{{words}}}")
    return text


def _reference_text(reference: Reference, numbers: Mapping[str, int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in reference.path)
    what = "".join(parts).removeprefix(".").replace("_", " ")
    if reference.step == ITEM:
        return REVIEW["part_of_item"].format(what=what) if what else REVIEW["item"]
    number = numbers.get(reference.step, reference.step)
    return REVIEW["part_of_step" if what else "result_of_step"].format(what=what, number=number)


def _poll_text(poll: PollView) -> str:
    """How a step polls, and its last value."""
    last_value = JOURNAL["poll_failed"].format(error=poll.error) if poll.error else summarize(poll.value)
    return f"{polling_text(poll.every, poll.polls)}{f': {last_value}' if poll.polls else ''}"
