"""How plans and code evolve: made, approved, refused, checked, put aside."""

from shared.domain.changing import replace
from shared.domain.paths import planned
from shared.domain.session import MAX_REPAIRS, WISHES_KEPT, Session, begin, newest, settle
from shared.domain.state import Code, Plan, PlanStatus, Turn
from shared.domain.waves import advance, leave_turn
from shared.events import facts
from shared.events.values import PathPlan


def with_plan(session: Session, status: PlanStatus) -> Session:
    return replace(session, plan=replace(session.plan, status=status)) if session.plan else session


def with_code(session: Session, **changes: object) -> Session:
    return replace(session, code=replace(session.code, **changes)) if session.code else session  # type: ignore[arg-type]


def plan_made(session: Session, event: facts.PlanDrafted | facts.PlanEdited) -> Session:
    drafted = isinstance(event, facts.PlanDrafted)
    kind = event.kind if isinstance(event, facts.PlanDrafted) else session.plan.kind if session.plan else "text"
    number = session.plans + 1
    plan = Plan(
        event.version, number, kind, event.goal, event.steps, event.notes, event.actor, path=_path(session, event)
    )
    code = session.code
    if code and code.status in ("checking", "review", "rejected"):
        code = replace(code, status="superseded")
    left = leave_turn(session)
    if plan.path:  # its nodes have yet to take in what was said; for the next request it has been heard
        left = replace(left, memory=replace(left.memory, heard=session.feedback))
    else:
        left = replace(left, feedback=())
    made = replace(left, plan=plan, plans=number, code=code, asked="", replan=False, problems=())
    if drafted and session.unread:
        return begin(with_plan(made, "draft"), "planning", event.version)
    return settle(made, "awaiting_approval")


def _path(session: Session, event: facts.PlanDrafted | facts.PlanEdited) -> PathPlan | None:
    """A path that a person edited is theirs, whatever it was planned as."""
    if isinstance(event, facts.PlanDrafted):
        return event.path
    path = session.plan.path if session.plan else None
    nodes = tuple(step.tool for step in event.steps if step.tool)
    return (
        path.model_copy(update={"nodes": nodes, "fallback": False, "fallback_reason": ""}) if path and nodes else path
    )


def plan_approved(session: Session, event: facts.PlanApproved) -> Session:
    plan = session.plan
    if plan is None or event.turn is None:
        return begin(replace(with_plan(session, "approved"), wishes=(), problems=()), "coding", event.version)
    actions = tuple(planned(spec) for spec in event.actions)
    turn = Turn(event.turn, plan.goal, actions, plan.by, final=plan.path is not None, path=plan.path, made=len(actions))
    carried_out = replace(leave_turn(with_plan(session, "executing")), turn=turn, turns=event.turn)
    return advance(carried_out, event.version)


def plan_rejected(session: Session, event: facts.PlanRejected) -> Session:
    rejected = with_plan(session, "rejected")
    if rejected.code and rejected.code.status != "approved":
        rejected = with_code(rejected, status="superseded")
    if not event.replan:
        return settle(rejected, "awaiting_input")
    again = replace(leave_turn(rejected), replan=True, problems=())
    return begin(again, "planning", event.version)


def plan_put_aside(session: Session) -> Session:
    """Given up or deleted: a session at work stops; one that rests keeps the reason why it does."""
    return settle(session, "resting", session.reason if session.phase == "resting" else "stopped")


def code_made(session: Session, event: facts.CodeDrafted | facts.CodeEdited) -> Session:
    plan_version = session.plan.version if session.plan else event.version
    drafted = isinstance(event, facts.CodeDrafted)
    repairs = session.code.repairs if drafted and session.code and session.problems else 0
    code = Code(
        event.version,
        session.codes + 1,
        plan_version,
        event.code,
        event.explanation if isinstance(event, facts.CodeDrafted) else "",
        event.actor,
        repairs=repairs,
    )
    made = replace(
        leave_turn(session),
        code=code,
        codes=code.number,
        wishes=newest(session.wishes + session.feedback, WISHES_KEPT),
        feedback=(),
        asked="",
        problems=(),
        replan=False,
    )
    return begin(made, "coding" if drafted and session.unread else "verifying", event.version)


def code_verified(session: Session, event: facts.CodeVerified) -> Session:
    checked = with_code(session, checks=event.checks, tests=event.tests, status="review")
    problems = tuple(f"{check.name}: {check.detail}" for check in event.checks if check.ok is False)
    code = checked.code
    if session.unread:
        return begin(checked, "coding", event.version)
    if problems and code and code.by == "generator" and code.repairs < MAX_REPAIRS:
        repair = with_code(checked, repairs=code.repairs + 1, status="rejected")
        return begin(replace(repair, problems=problems), "coding", event.version)
    return settle(checked, "awaiting_approval")


def code_approved(session: Session) -> Session:
    return settle(with_code(with_plan(session, "completed"), status="approved"), "resting", "answered")


def code_rejected(session: Session, event: facts.CodeRejected) -> Session:
    rejected = with_code(session, status="rejected")
    if not event.replan:
        return settle(rejected, "awaiting_input")
    return begin(replace(leave_turn(rejected), replan=True, problems=()), "coding", event.version)
