"""How plans and code evolve: made, approved, refused, checked, put aside. Workflows say which phase follows."""

from shared.domain import workflows
from shared.domain.changing import replace
from shared.domain.paths import planned
from shared.domain.session import WISHES_KEPT, Session, newest, with_code, with_plan
from shared.domain.state import Code, Plan, PlanStatus, Turn
from shared.domain.waves import leave_turn
from shared.domain.workflow import unread_while_drafting
from shared.domain.workflows.conversation import repairable
from shared.events import facts


def plan_made(session: Session, event: facts.PlanDrafted | facts.PlanEdited) -> Session:
    plan = _plan(session, event)
    workflow = workflows.of_plan(plan.kind)
    code = session.code
    if code and code.status in ("checking", "review", "rejected"):
        code = replace(code, status="superseded")
    heard = workflow.takes_in(leave_turn(session))
    plan = plan if isinstance(event, facts.PlanDrafted) else workflow.edited(plan)
    return replace(heard, plan=plan, plans=plan.number, code=code, asked="", replan=False, problems=())


def _plan(session: Session, event: facts.PlanDrafted | facts.PlanEdited) -> Plan:
    before = session.plan
    if isinstance(event, facts.PlanDrafted):
        kind, path = event.kind, event.path
    else:
        kind, path = workflows.kind_of(before), before.path if before else None
    status: PlanStatus = "draft" if unread_while_drafting(session, event) else "pending_approval"
    return Plan(
        event.version,
        session.plans + 1,
        kind,
        event.goal,
        event.steps,
        event.notes,
        event.actor,
        status=status,
        path=path,
    )


def plan_approved(session: Session, event: facts.PlanApproved) -> Session:
    """Its steps are carried out, or a program is written for it."""
    plan = session.plan
    if plan is None or event.turn is None:
        return replace(with_plan(session, "approved"), wishes=(), problems=())
    workflow = workflows.of_plan(plan.kind)
    turn = Turn(
        event.turn,
        plan.goal,
        tuple(planned(spec) for spec in event.actions),
        plan.by,
        final=True,
        path=plan.path,
        workflow=workflow.name,
        rules=workflow.turn,
        made=len(event.actions),
    )
    return replace(leave_turn(with_plan(session, "executing")), turn=turn, turns=event.turn)


def plan_rejected(session: Session, event: facts.PlanRejected) -> Session:
    rejected = with_plan(session, "rejected")
    if rejected.code and rejected.code.status != "approved":
        rejected = with_code(rejected, status="superseded")
    return replace(leave_turn(rejected), replan=True, problems=()) if event.replan else rejected


def plan_cancelled(session: Session, _: facts.PlanCancelled) -> Session:
    return with_plan(session, "cancelled")


def plan_deleted(session: Session, _: facts.PlanDeleted) -> Session:
    return replace(session, plan=None, code=None)


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
    return replace(
        leave_turn(session),
        code=code,
        codes=code.number,
        wishes=newest(session.wishes + session.feedback, WISHES_KEPT),
        feedback=(),
        asked="",
        problems=(),
        replan=False,
    )


def code_verified(session: Session, event: facts.CodeVerified) -> Session:
    checked = with_code(session, checks=event.checks, tests=event.tests, status="review")
    if checked.code is None or session.unread or not repairable(session, event):
        return checked
    repair = with_code(checked, repairs=checked.code.repairs + 1, status="rejected")
    return replace(
        repair, problems=tuple(f"{check.name}: {check.detail}" for check in event.checks if check.ok is False)
    )


def code_approved(session: Session, _: facts.CodeApproved) -> Session:
    return with_code(with_plan(session, "completed"), status="approved")


def code_rejected(session: Session, event: facts.CodeRejected) -> Session:
    rejected = with_code(session, status="rejected")
    return replace(leave_turn(rejected), replan=True, problems=()) if event.replan else rejected
