"""An execution plan as REST tells of it: its steps, what has come of each, and where the whole of it stands. Pure."""

from collections.abc import Sequence

from parley.protocol.execution_plans import ExecutionPlan, PlanStatus, PlanStep, TaskStatus
from services.gateway.trouble import Trouble
from shared.domain.plan_steps import action_id, task_status
from shared.domain.session import SERVICE_OF, Session
from shared.domain.state import Action, Plan
from shared.store_api import PlanRecord

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
    status = task_status(session)
    return ExecutionPlan(
        task_id=task_id(session),
        session_id=session.id,
        version=plan.version if plan else None,
        number=plan.number if plan else None,
        hash=plan.hash if plan else None,
        description=plan.goal if plan else session.words.request,
        notes=plan.notes if plan else "",
        steps=_steps(session, plan),
        status=status,
        user_approved=plan is not None and plan.status in APPROVED,
        created_at=min((one.at for one in mine), default=None),
        updated_at=max((one.at for one in mine), default=None),
        working=current and session.phase in SERVICE_OF,
        question=session.question.text if session.question and current else "",
        problem=session.failure.reason if session.failure else "",
        result=session.answer.text,
        text=formatted(session),
        current=current,
    )


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
        lines += [f"   {step.error}"] if step.error else []
    return "\n".join([*lines, *(["", plan.notes] if plan.notes else [])]) + "\n"


def _plan(session: Session) -> Plan | None:
    """The plan of the task at hand, None while there is none."""
    if session.workflow != "execution_plan" and not (session.plan and session.plan.task):
        raise Trouble("not_found", f"The session {session.id} has no execution plan.", session_id=session.id)
    return session.plan if session.plan and session.plan.task == session.task else None


def _steps(session: Session, plan: Plan | None) -> tuple[PlanStep, ...]:
    turn = session.turn
    now = turn.actions if turn and turn.rules.by_step else ()
    stands = {action.spec.id: action for action in (*session.begun_steps, *now)}
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
            **_came_of(stands.get(action_id(plan, step))),
        )
        for number, step in enumerate(plan.steps if plan else (), 1)
        if plan
    )


def _came_of(action: Action | None) -> dict[str, object]:
    if action is None:
        return {"status": "planned", "attempt": 1, "output": None, "error": "", "seconds": 0.0}
    done = action.status == "finished"
    return {
        "status": action.shown_status,
        "attempt": action.attempt,
        "output": action.result if done else None,
        "error": "" if done else action.explanation,
        "seconds": action.seconds,
        "until": action.until if action.status == "waiting" else None,
    }


def _in_words(status: TaskStatus) -> str:
    return status.replace("_", " ")
