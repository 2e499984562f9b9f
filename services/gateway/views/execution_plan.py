"""An execution plan as REST tells of it: its steps, what has come of each, and where the whole of it stands. Pure."""

import json
from collections.abc import Sequence

from parley.events.values import Effect
from parley.protocol.execution_plans import ExecutionPlan, PlanStatus, PlanStep, Progress, TaskStatus
from parley.protocol.screen import PollView
from parley.protocol.words import JOURNAL
from services.gateway.trouble import Trouble
from services.gateway.views.gist import gist
from services.gateway.views.phrases import looking
from services.gateway.views.sections import poll_view
from shared.domain.plan_approval import preapprovable
from shared.domain.plan_steps import action_id, task_status
from shared.domain.session import SERVICE_OF, Session
from shared.domain.state import Action, Plan
from shared.store_api import PlanRecord

CHANGES: dict[Effect | None, str] = {
    "write": "Changes data.",
    "irreversible": "Changes data and cannot be undone.",
}
PREAPPROVED = "Allowed with whatever values it gets."
_DOUBT = {"uncertain": " (nobody knows whether it was done)"}
APPROVED = ("approved", "executing", "completed", "failed")  # statuses that a version has only after its approval


def task_id(session: Session) -> str:
    return f"{session.id}.{session.task}" if session.task else session.id


def execution_plan(session: Session, versions: Sequence[PlanRecord] = (), *, current: bool = True) -> ExecutionPlan:
    """`versions` tell when the plan was made and changed. Nothing is worked on or asked where it is not `current`.

    Raises Trouble(not_found) in a session without such plans.
    """
    plan = _plan(session)
    first = int(session.task[1:]) if session.task else session.version + 1
    mine = [one for one in versions if first <= one.version <= session.version]
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
        created_at=min((one.at for one in mine), default=None),
        updated_at=max((one.at for one in mine), default=None),
        working=current and session.phase in SERVICE_OF,
        question=session.question.text if session.question and current else "",
        problem=session.failure.reason if session.failure else "",
        result=session.answer.text,
        text=formatted(session),
        current=current,
        checks=plan.checks if plan else (),
        progress=_progress(steps),
        reply=session.words.reply if current else "",
    )


def come_to(session: Session) -> str:
    """In words, which steps were done, which ones run still, and which ones were not done; "" without such a plan."""
    if session.plan is None or not session.plan.task or session.plan.task != session.task:
        return ""
    return _progress(_steps(session, session.plan)).text


def _progress(steps: Sequence[PlanStep]) -> Progress:
    done = tuple(step.id for step in steps if step.status == "finished")
    running = tuple(step.id for step in steps if step.status in ("started", "uncertain"))
    others = tuple(step.id for step in steps if step.id not in (*done, *running))
    named = {step.id: f"{step.number}. {step.description}{_DOUBT.get(step.status, '')}" for step in steps}
    parts = (("Done", done), ("Still running", running), ("Not done", others))
    text = " ".join(f"{word}: {'; '.join(named[one] for one in ids)}." for word, ids in parts if ids)
    return Progress(done=done, running=running, not_done=others, text=text)


def plan_status(session: Session) -> PlanStatus:
    plan = _plan(session)
    steps = {step.id: step.status for step in _steps(session, plan)}
    return PlanStatus(task_id=task_id(session), status=task_status(session), steps=steps)


def formatted(session: Session) -> str:
    """The plan with all its steps and what has come of them, as Markdown."""
    plan = _plan(session)
    if plan is None:
        return ""
    lines = [f"# {plan.goal}", "", f"Status: {_in_words(task_status(session))}", ""]
    for step in (steps := _steps(session, plan)):
        arguments = ", ".join(f"{name}={value!r}" for name, value in step.parameters.items())
        numbers = [str(one.number) for one in steps if one.id in step.after]
        after = f" (after {', '.join(numbers)})" if numbers else ""
        each = f" for each of {step.for_each}" if step.for_each else ""
        lines.append(f"{step.number}. [{step.status}] {step.description}{each}{after}")
        lines.append(f"   `{step.tool}({arguments})`")
        lines += [f"   {_change(step)}"] if step.effect in CHANGES else []
        lines += [f"   {step.error}"] if step.error else []
        lines += [f"   {_looks(step.poll)}"] if step.poll and step.status == "waiting" else []
        lines += [f"   Given output: {json.dumps(step.output, ensure_ascii=False)}"] if step.given else []
    notes = [line for check in plan.checks if check.ok is not True for line in check.detail.splitlines()]
    lines += ["", "Worth a look:", *(f"- {line}" for line in notes)] if notes else []
    return "\n".join([*lines, *(["", plan.notes] if plan.notes else [])]) + "\n"


def _change(step: PlanStep) -> str:
    return f"{CHANGES[step.effect]} {PREAPPROVED if step.preapproved else ''}".rstrip()


def _plan(session: Session) -> Plan | None:
    """The plan of the task at hand, None while there is none."""
    if session.workflow != "execution_plan" and not (session.plan and session.plan.task):
        raise Trouble("not_found", f"The session {session.id} has no execution plan.", session_id=session.id)
    return session.plan if session.plan and session.plan.task == session.task else None


def statuses(session: Session) -> dict[str, str]:
    """What has come of the steps that were begun or are planned now, by id, also of those that a version left out."""
    return {name.partition(".")[2]: action.shown_status for name, action in _stands(session).items()}


def _stands(session: Session) -> dict[str, Action]:
    """By action; what a step has come to in the version at hand goes before what it came to in one before."""
    turn = session.turn
    now = turn.actions if turn and turn.rules.by_step else ()
    return {action.spec.id: action for action in (*session.begun_steps, *now)}


def _steps(session: Session, plan: Plan | None) -> tuple[PlanStep, ...]:
    stands = _stands(session)
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
            preapprovable=preapprovable(step),
            preapproved=step.id in plan.preapproved,
            **_came_of(stands.get(action_id(plan, step))),
        )
        for number, step in enumerate(plan.steps if plan else (), 1)
        if plan
    )


def _came_of(action: Action | None) -> dict[str, object]:
    if action is None:
        return {"status": "planned", "attempt": 1, "output": None, "error": "", "seconds": 0.0}
    return {
        "status": action.shown_status,
        "attempt": action.attempt,
        "output": action.result if action.settled else None,
        "error": "" if action.status == "finished" else action.explanation,
        "seconds": action.seconds,
        "poll": poll_view(action),
        "given": action.given,
        "until": action.until if action.status == "waiting" else None,
    }


def _looks(poll: PollView) -> str:
    """How a step polls, and what it saw last."""
    seen = JOURNAL["look_failed"].format(error=poll.error) if poll.error else gist(poll.value)
    return f"{looking(poll.every, poll.looks)}{f': {seen}' if poll.looks else ''}"


def _in_words(status: TaskStatus) -> str:
    return status.replace("_", " ")
