"""The checks that every reader of the log makes before it folds an event, no matter which program published it.

Readers call `admit` and quarantine what it refuses. `decide` calls `admissible` on the event that it has decided.
Everything else (policies, limits, texts) only `decide` checks. The list of checks is part of the log's format: with
another list, a release admits other events than the releases beside it.

Each check returns why the event is refused, "" if it is not.
"""

from collections.abc import Callable, Mapping
from typing import Any

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec
from shared.domain.kernel.actors import KEEPER, TEMPLATE_PREFIX
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session, decidable_actions, item_in_review
from shared.domain.kernel.state import Action, Plan
from shared.domain.plan.approval import preapproval_problems, starts_by_setting
from shared.domain.rules import service_event_checks
from shared.domain.rules.consequences import with_consequences
from shared.domain.rules.expiry import check_expiry
from shared.domain.rules.permissions import denial
from shared.domain.rules.service_event_checks import RELOAD, check_is_own_work, check_is_user
from shared.domain.steps.plan_steps import already_done
from shared.domain.transcript.offers import DraftEvent, check_taken
from shared.domain.turn.flow_paths import OPEN_STATUSES
from shared.domain.workflows import workflow_of_plan, workflow_of_turn

WRONG_CONSEQUENCES = (
    "its `denied`, `ended` and `begins` are not those that follow from it: complete it, or decide again"
)

type Decision = facts.PlanApproved | facts.PlanRejected | facts.CodeApproved | facts.CodeRejected


def admit(session: Session, event: SessionEvent) -> tuple[Session, str]:
    """The session after the event and ""; or the unchanged session and why the event cannot be its next one."""
    if wrong := admissible(session, event):
        return session, wrong
    if _opens_session(event):
        return evolve(session, event), ""
    whole, after = with_consequences(session, event)
    if whole is event or _consequences(whole) == _consequences(event):
        return after, ""
    return session, WRONG_CONSEQUENCES


def _consequences(event: SessionEvent) -> tuple[object, ...]:
    """What the event denies, ends and begins, without fields that a newer release may have added."""
    denied = event.denied if isinstance(event, facts.ApprovalExpired) else ()
    return denied, event.begins, [(ended.id, ended.reason) for ended in event.ended]


def admissible(session: Session, event: SessionEvent) -> str:
    """Why the event cannot be the session's next one, apart from what it ends and begins; "" if it can."""
    if _opens_session(event):
        return _check_opening(event)
    check = CHECKS.get(event.type)
    return (check(session, event) if check else "") or denial(session, event)


def _opens_session(event: SessionEvent) -> bool:
    """Whether the event can only be a session's first one."""
    return event.version == 1 or event.type == "session.forked"


def _check_opening(event: SessionEvent) -> str:
    """A session begins once, with a request or as a fork."""
    match event:
        case facts.MessageReceived(intent="request", actor=actor) if actor == KEEPER:
            whole = event.owner and event.brings_plan and (event.via or "").startswith(TEMPLATE_PREFIX)
            return "" if whole else f"the {KEEPER} begins a session for its owner, with a plan, and says by what"
        case facts.MessageReceived(intent="request") | facts.SessionForked(version=1):
            return _check_unowned(event) or check_is_user(event)
        case _:
            return f"{event.type} cannot be version {event.version}"


def _check_unowned(event: SessionEvent) -> str:
    """Only the keeper begins a session for another user."""
    named = isinstance(event, facts.MessageReceived) and (event.owner or event.via)
    return f"only the {KEEPER} names an owner, and what it begins a session by" if named else ""


def _check_user(_: Session, event: SessionEvent) -> str:
    return check_is_user(event)


def _check_answer(session: Session, event: facts.QuestionAnswered) -> str:
    """Only a user may answer: an answer can make an uncertain write run again."""
    question = session.question if session.phase == "awaiting_input" else None
    if question is None or question.action_id != event.question_id:
        return f"no question of {event.question_id} is open: {RELOAD}"
    return check_is_user(event)


# --- approvals and rejections


def _check_plan_approved(session: Session, event: facts.PlanApproved) -> str:
    plan = session.plan
    if plan is None:
        return "there is no plan"
    if wrong := _check_in_review(session, event):
        return wrong
    if event.hash != plan.hash:
        return f"its hash is not that of plan {plan.version}: {RELOAD}"
    if not _needs_no_approval(session, plan) and (wrong := check_is_user(event)):
        return wrong
    return _check_options(plan, event) or _check_steps(session, plan, event)


def _check_options(plan: Plan, event: facts.PlanApproved) -> str:
    """The options of an approval: which steps are preapproved, and whether the plan is started later."""
    if event.deferred and not plan.task:
        return "only a plan that acts is started later than it is approved"
    return " ".join(preapproval_problems(plan, event.preapproved))


def _check_turn_planned(session: Session, event: facts.TurnPlanned) -> str:
    """An execution plan has only the turn of its steps, planned only if the settings require no approval."""
    if wrong := _check_draft(session, event):
        return wrong
    if event.plan_version is None:
        by_step = workflow_of_turn(session, event).turn.by_step
        return "an execution plan has no turn but that of its steps" if by_step else ""
    plan = session.plan
    if plan is None or plan.version != event.plan_version or not starts_by_setting(session):
        return f"plan {event.plan_version} does not begin by the session's settings: {RELOAD}"
    return _check_steps(session, plan, event)


def _needs_no_approval(session: Session, plan: Plan) -> bool:
    """Whether the session's settings approve its plans; their actions may still need approval."""
    return workflow_of_plan(session, plan.kind).approves_itself(session.settings)


def _check_steps(session: Session, plan: Plan, event: facts.PlanApproved | facts.TurnPlanned) -> str:
    """The event must hold the turn with exactly the steps of this version of the plan."""
    actions = workflow_of_plan(session, plan.kind).actions(plan, session.counts.turns + 1)
    turn = session.counts.turns + 1 if actions else None
    if event.turn != turn:
        return f"its turn is {event.turn}, but with this plan it must be {turn}: {RELOAD}"
    if [_what_runs(spec) for spec in event.actions] != [_what_runs(spec) for spec in actions]:
        return f"its actions are not the steps of plan {plan.version}: {RELOAD}"
    if event.already_done != already_done(session, event.actions):
        return f"what it counts as done is not what was done of plan {plan.version}: {RELOAD}"
    return ""


def _what_runs(spec: ActionSpec) -> tuple[object, ...]:
    return spec.id, spec.depends_on, Action(spec).hash


def _check_plan_rejected(session: Session, event: facts.PlanRejected) -> str:
    return check_is_user(event) or _check_in_review(session, event)


def _check_code_approved(session: Session, event: facts.CodeApproved) -> str:
    if wrong := check_is_user(event) or _check_in_review(session, event):
        return wrong
    matches = session.code is not None and event.hash == session.code.hash
    return "" if matches else f"its hash is not that of code {event.code_version}: {RELOAD}"


def _check_code_rejected(session: Session, event: facts.CodeRejected) -> str:
    if wrong := check_is_user(event) or _check_in_review(session, event):
        return wrong
    plan, code = session.plan, session.code
    of_the_plan = plan is not None and code is not None and code.plan_version == plan.version
    return "" if of_the_plan else f"code {event.code_version} is of an older plan: {RELOAD}"


def _check_in_review(session: Session, event: Decision) -> str:
    """A rejection with `replan` names the newest version, in any phase; any other decision the version in review.

    It stays in review while a message about it is being answered.
    """
    item, version = (
        (session.plan, event.plan_version)
        if isinstance(event, facts.PlanApproved | facts.PlanRejected)
        else (session.code, event.code_version)
    )
    if isinstance(event, facts.PlanRejected | facts.CodeRejected) and event.replan:
        newest = item is not None and item.version == version
        return "" if newest else f"version {version} is not the newest: {RELOAD}"
    if item is None or item is not item_in_review(session) or item.version != version:
        return f"version {version} is not in review: {RELOAD}"
    return ""


def _check_action_decided(session: Session, event: facts.ApprovalGiven | facts.ApprovalDenied) -> str:
    waiting = decidable_actions(session)
    action = next((action for action in waiting if action.spec.id == event.action_id), None)
    if action is None:
        return f"action {event.action_id} does not wait for approval"
    if isinstance(event, facts.ApprovalGiven) and event.hash != action.hash:
        return f"its hash is not that of action {event.action_id}: {RELOAD}"
    return check_is_user(event)


def _check_skipped(session: Session, event: facts.ActionSkipped) -> str:
    """Only a user skips a plan's step. Dependents that run or have an outcome cannot be skipped with it."""
    if (turn := session.turn) is None or not turn.rules.by_step:
        return ""
    known = {action.spec.id for action in turn.actions if action.status in OPEN_STATUSES or action.is_dead}
    wrong = [action_id for action_id in event.dependents if action_id not in known]
    return check_is_user(event) or (f"{wrong[0]} is not a step that can be skipped" if wrong else "")


def _check_draft(session: Session, event: DraftEvent) -> str:
    """A worker drafts, or takes the open offer because the person said yes; a user can only take it."""
    if event.offer is not None and (wrong := check_taken(session, event)):
        return f"{wrong}: {RELOAD}"
    by_user = event.offer is not None and not check_is_user(event)
    return "" if by_user else check_is_own_work(session, event)


def _check_offer_kept(session: Session, event: facts.OfferKept) -> str:
    is_open = session.offer is not None and session.offer.version == event.offer
    return check_is_user(event) or ("" if is_open else f"no offer of version {event.offer} is open: {RELOAD}")


CHECKS: Mapping[str, Callable[[Session, Any], str]] = {
    "message.received": _check_user,
    "plan.approved": _check_plan_approved,
    "plan.rejected": _check_plan_rejected,
    "code.approved": _check_code_approved,
    "code.rejected": _check_code_rejected,
    "approval.given": _check_action_decided,
    "approval.denied": _check_action_decided,
    "action.skipped": _check_skipped,
    "turn.changed": service_event_checks.check_turn_changed,
    "turn.requested": _check_user,
    "question.asked": service_event_checks.check_question_asked,
    "question.answered": _check_answer,
    "actions.finished": service_event_checks.check_outcomes,
    "actions.waiting": service_event_checks.check_waiting,
    "action.waited": service_event_checks.check_waited,
    "approval.expired": check_expiry,
    "result.stored": service_event_checks.check_stored_result,
    "result.lost": service_event_checks.check_stored_result,
    "action.uncertain": service_event_checks.check_outcome,
    **dict.fromkeys(("policy.set", "budget.raised", "session.shared"), _check_user),
    **dict.fromkeys(("session.retried", "session.resumed"), _check_user),
    "turn.planned": _check_turn_planned,
    "offer.kept": _check_offer_kept,
    **dict.fromkeys(("plan.drafted", "code.drafted"), _check_draft),
    **dict.fromkeys(("remark.answered", "offer.made"), check_is_own_work),
    **dict.fromkeys(("actions.started",), check_is_own_work),
    **dict.fromkeys(("code.verified", "turn.verified"), check_is_own_work),
    **dict.fromkeys(("answer.given", "session.failed"), check_is_own_work),
}
