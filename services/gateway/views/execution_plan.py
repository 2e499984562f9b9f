"""Execution plans as the REST API shows them: steps with their outcomes, and the overall status. Pure."""

import json
from collections.abc import Sequence

from parley.events.values import Effect, TaskStatus
from parley.protocol.execution_plans import ExecutionPlan, PlanStatus, PlanStep, Progress
from parley.protocol.screen import PollView
from parley.protocol.words import JOURNAL
from services.gateway.api_errors import ApiError
from services.gateway.views import input_sections
from services.gateway.views.phrases import polling_text
from services.gateway.views.step_sections import poll_view
from services.gateway.views.summary import summarize
from shared.domain.plan_approval import is_preapprovable
from shared.domain.plan_steps import action_id, task_status
from shared.domain.session import Session
from shared.domain.state import Action, Plan
from shared.domain.transcript_queries import said_with
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
    plan = _plan(session)
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
    plan = _plan(session)
    steps = {step.id: step.status for step in _steps(session, plan)}
    return PlanStatus(task_id=task_id(session), status=task_status(session), steps=steps)


def plan_markdown(session: Session) -> str:
    """The plan with its steps and their outcomes, as Markdown."""
    plan = _plan(session)
    if plan is None:
        return ""
    lines = [f"# {plan.goal}", "", f"Status: {_status_text(task_status(session))}", ""]
    for step in (steps := _steps(session, plan)):
        arguments = ", ".join(f"{name}={value!r}" for name, value in step.parameters.items())
        numbers = [str(other.number) for other in steps if other.id in step.after]
        after = f" (after {', '.join(numbers)})" if numbers else ""
        each = f" for each of {step.for_each}" if step.for_each else ""
        lines.append(f"{step.number}. [{step.status}] {step.description}{each}{after}")
        lines.append(f"   `{step.tool}({arguments})`")
        lines += [f"   {_effect_text(step)}"] if step.effect in CHANGES else []
        lines += [f"   {step.error}"] if step.error else []
        lines += [f"   {_poll_text(step.poll)}"] if step.poll and step.status == "waiting" else []
        lines += [f"   Until {step.until:%Y-%m-%d %H:%M} UTC"] if step.until else []
        if step.given:
            lines.append(f"   Given output: {json.dumps(step.output, ensure_ascii=False)}")
        elif step.output is not None:
            lines.append(f"   Output: {summarize(step.output)}")
    notes = [line for check in plan.checks if check.ok is not True for line in check.detail.splitlines()]
    lines += ["", "Worth a look:", *(f"- {line}" for line in notes)] if notes else []
    return "\n".join([*lines, *(["", plan.notes] if plan.notes else [])]) + "\n"


def _effect_text(step: PlanStep) -> str:
    return f"{CHANGES[step.effect]} {PREAPPROVED if step.preapproved else ''}".rstrip()


def _plan(session: Session) -> Plan | None:
    """The plan of the current task; None while there is none. Raises ApiError(not_found)."""
    if session.workflow != "execution_plan" and not (session.plan and session.plan.task):
        raise ApiError("not_found", f"The session {session.id} has no execution plan.", session_id=session.id)
    if session.plan is None and session.task and session.phase == "resting":
        hint = f"Its journal stays: /api/sessions/{session.id}/journal."
        raise ApiError("not_found", f"The plan {task_id(session)} was deleted.", hint, session_id=session.id)
    return session.plan if session.plan and session.plan.task == session.task else None


def step_statuses(session: Session) -> dict[str, str]:
    """The status of each started or planned step by id, including steps that a later version removed."""
    return {name.partition(".")[2]: action.shown_status for name, action in _actions_by_id(session).items()}


def _actions_by_id(session: Session) -> dict[str, Action]:
    """Actions by id; the current version's action replaces one of an earlier version."""
    turn = session.turn
    now = turn.actions if turn and turn.rules.by_step else ()
    return {action.spec.id: action for action in (*session.begun_steps, *now)}


def _steps(session: Session, plan: Plan | None) -> tuple[PlanStep, ...]:
    actions = _actions_by_id(session)
    return tuple(
        PlanStep(
            id=step.id or "",
            number=number,
            tool=step.tool or "",
            description=step.text,
            parameters=step.arguments or {},
            after=step.after,
            for_each=step.for_each,
            effect=step.effect,
            preapprovable=is_preapprovable(step),
            preapproved=step.id in plan.preapproved,
            **_step_outcome(actions.get(action_id(plan, step))),
        )
        for number, step in enumerate(plan.steps if plan else (), 1)
        if plan
    )


def _step_outcome(action: Action | None) -> dict[str, object]:
    if action is None:
        return {"status": "planned", "attempt": 1, "output": None, "error": "", "seconds": 0.0}
    return {
        "status": action.shown_status,
        "attempt": action.attempt,
        "output": action.result if action.has_output else None,
        "error": action.explanation,
        "seconds": action.seconds,
        "poll": poll_view(action),
        "given": action.given,
        "until": action.until if action.status == "waiting" else None,
    }


def _poll_text(poll: PollView) -> str:
    """How a step polls, and its last value."""
    last_value = JOURNAL["poll_failed"].format(error=poll.error) if poll.error else summarize(poll.value)
    return f"{polling_text(poll.every, poll.polls)}{f': {last_value}' if poll.polls else ''}"


def _status_text(status: TaskStatus) -> str:
    return status.replace("_", " ")
