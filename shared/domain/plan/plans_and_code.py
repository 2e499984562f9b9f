"""How plans and code evolve: drafted, edited, approved, rejected, checked. Workflows say which phase follows."""

from parley.events import facts
from shared.domain import workflows
from shared.domain.kernel.actors import author_of
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import NextDraft, Session, with_code, with_next_draft, with_plan
from shared.domain.kernel.state import Code, Plan, PlanStatus, Turn
from shared.domain.kernel.workflow import repairable, unread, unread_while_drafting
from shared.domain.plan.versions import with_next_attempt
from shared.domain.transcript import messages
from shared.domain.turn.batches import leave_turn
from shared.domain.turn.flow_paths import from_spec

MAX_WISHES = 20  # that a plan keeps, the newest
MAX_WISH = 500  # characters of each


def plan_written(session: Session, event: facts.PlanDrafted | facts.PlanEdited) -> Session:
    plan = _plan(session, event)
    workflow = workflows.workflow_of_plan(session, plan.kind)
    code = session.code
    if code and code.status in ("checking", "review", "rejected"):
        code = replace(code, status="superseded")
    base = messages.without_program(leave_turn(replace(session, code=code)), event.version)
    plan = plan if isinstance(event, facts.PlanDrafted) else workflow.edited(plan)
    return replace(
        base,
        plan=plan,
        task=plan.task,
        next_draft=NextDraft(),
        counts=replace(base.counts, plans=plan.number),
    )


def _plan(session: Session, event: facts.PlanDrafted | facts.PlanEdited) -> Plan:
    before = session.plan
    if isinstance(event, facts.PlanDrafted):
        kind, path, task = event.kind, event.path, event.task or ""
    else:
        kind, path = workflows.kind_of_plan(session), before.path if before else None
        acts = workflows.workflow_of_plan(session, kind).turn.by_step
        task = before.task if before else f"t{event.version}" if acts else ""
    status: PlanStatus = "draft" if unread_while_drafting(session, event) else "pending_approval"
    return Plan(
        event.version,
        session.counts.plans + 1,
        kind,
        event.goal,
        event.steps,
        event.notes,
        author_of(event),
        status=status,
        path=path,
        task=task,
        checks=event.checks,
        own_steps=_own_steps(before, event),
        wishes=before.wishes if before and isinstance(event, facts.PlanEdited) else (),  # a draft has them as steps
    )


def _own_steps(before: Plan | None, event: facts.PlanDrafted | facts.PlanEdited) -> tuple[str, ...]:
    """The ids of the steps that users wrote or changed, in this version or in one before it of the same request."""
    if before is None or (isinstance(event, facts.PlanDrafted) and event.begins_round):
        return ()
    known = {step.id: step for step in before.steps}
    edited = event.steps if isinstance(event, facts.PlanEdited) else ()
    own = {*before.own_steps, *(step.id for step in edited if step != known.get(step.id))}
    return tuple(step.id for step in event.steps if step.id and step.id in own)


def plan_approved(session: Session, event: facts.PlanApproved | facts.TurnPlanned) -> Session:
    """Approves the plan. Its steps become a turn, started at once or later; a text plan gets code written for it."""
    plan = session.plan
    if plan is None or event.turn is None:
        return with_next_draft(with_plan(session, "approved"), problems=())
    if isinstance(event, facts.TurnPlanned):
        return _with_steps(session, replace(plan, status="executing", approved_by_setting=True), event, event.turn)
    status: PlanStatus = "approved" if event.deferred else "executing"
    return _with_steps(session, replace(plan, status=status, preapproved=event.preapproved), event, event.turn)


def _with_steps(session: Session, plan: Plan, event: facts.PlanApproved | facts.TurnPlanned, number: int) -> Session:
    """The session with this plan and the turn of its steps. Steps that an earlier version finished stay finished."""
    workflow = workflows.workflow_of_plan(session, plan.kind)
    base = leave_turn(replace(session, plan=plan))
    done = {action.spec.id: action for action in base.begun_steps if action.spec.id in event.already_done}
    turn = Turn(
        number,
        plan.goal,
        tuple(done.get(spec.id) or with_next_attempt(base, from_spec(spec)) for spec in event.actions),
        plan.by,
        final=True,
        path=plan.path,
        workflow=workflow.name,
        rules=workflow.turn,
        made=len(event.actions),
    )
    return replace(base, turn=turn, counts=replace(base.counts, turns=number))


def plan_rejected(session: Session, event: facts.PlanRejected) -> Session:
    rejected = with_plan(session, "rejected")
    if rejected.code and rejected.code.status != "approved":
        rejected = with_code(rejected, status="superseded")
    return _declined(rejected, replan=event.replan)


def _declined(session: Session, *, replan: bool) -> Session:
    left = leave_turn(session) if replan else session
    return replace(left, next_draft=NextDraft(another=replan, after_decline=True))


def plan_deleted(session: Session, event: facts.PlanDeleted) -> Session:
    return messages.without_program(replace(session, plan=None, code=None), event.version)


def code_written(session: Session, event: facts.CodeDrafted | facts.CodeEdited) -> Session:
    plan_version = session.plan.version if session.plan else event.version
    before, disputes = session.code, event.disputes if isinstance(event, facts.CodeDrafted) else ""
    is_repair = isinstance(event, facts.CodeDrafted) and bool(session.next_draft.problems)
    repairs = before.repairs if before and is_repair else 0
    code = Code(
        event.version,
        session.counts.codes + 1,
        plan_version,
        event.code,
        event.explanation if isinstance(event, facts.CodeDrafted) else "",
        author_of(event),
        checks=before.checks if before and disputes else (),
        earlier_tests=(before.tests or before.earlier_tests) if before else "",
        reruns_tests=bool(before and repairs and not disputes and (before.tests or before.reruns_tests)),
        tested_steps=before.tested_steps if before else (),
        unreachable=before.unreachable if before else (),
        disputes=disputes,
        repairs=repairs,
    )
    wish, plan = event.wish[:MAX_WISH] if isinstance(event, facts.CodeDrafted) else "", session.plan
    if plan and wish and wish not in plan.wishes:
        plan = replace(plan, wishes=(*plan.wishes, wish)[-MAX_WISHES:])
    return replace(
        leave_turn(session),
        plan=plan,
        code=code,
        next_draft=NextDraft(),
        counts=replace(session.counts, codes=code.number),
    )


def code_verified(session: Session, event: facts.CodeVerified) -> Session:
    steps = session.plan.steps if session.plan else ()
    tested = {"tested_steps": steps, "unreachable": event.unreachable} if event.tests else {}
    checked = with_code(session, checks=event.checks, tests=event.tests, status="review", **tested)
    if checked.code is None or unread(session, event) or not repairable(session, event):
        return checked
    repair = with_code(checked, repairs=checked.code.repairs + 1, status="rejected")
    return with_next_draft(
        repair, problems=tuple(f"{check.name}: {check.detail}" for check in event.checks if check.ok is False)
    )


def code_rejected(session: Session, event: facts.CodeRejected) -> Session:
    return _declined(with_code(session, status="rejected"), replan=event.replan)
