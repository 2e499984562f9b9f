"""What folding refuses, whoever published it: a closed list.

Readers of the log call `admit` and park what it refuses. `decide` calls `admissible` on the event that it has decided.
The list is part of the rules of the format: a change of it needs the next number (`envelope.RULES`), and sessions that
were begun by older rules keep the older list. Everything else (policies, limits, texts) is `decide`'s alone.

All checks return why the event is refused, "" where it is not.
"""

from collections.abc import Callable, Mapping
from typing import Any

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec
from shared.domain import admissible_reports as reports
from shared.domain.admissible_reports import KEEPER, RELOAD, SCHEDULED, not_a_person, not_of_the_work
from shared.domain.consequences import followed
from shared.domain.evolve import evolve
from shared.domain.expiry import wrong_expiry
from shared.domain.paths import OPEN
from shared.domain.plan_approval import begins_by_setting, preapproval_problems
from shared.domain.plan_steps import already_done
from shared.domain.session import Session, Target, put_back, reviewing, undecided
from shared.domain.state import Action, Plan
from shared.domain.workflows import of_plan, of_turn

WRONG_CONSEQUENCES = (
    "its `denied`, `ended` and `begins` are not those that follow from it: complete it, or decide again"
)

type Decision = facts.PlanApproved | facts.PlanRejected | facts.CodeApproved | facts.CodeRejected


def admit(session: Session, event: SessionEvent) -> tuple[Session, str]:
    """The session after this event, and ""; or as it is, and why the event cannot be its next one."""
    if wrong := admissible(session, event):
        return session, wrong
    if _opens_session(event):
        return evolve(session, event), ""
    whole, after = followed(session, event)
    if whole is event or _consequences(whole) == _consequences(event):
        return after, ""
    return session, WRONG_CONSEQUENCES


def _consequences(event: SessionEvent) -> tuple[object, ...]:
    """What the event denies, ends and begins, as far as this release knows: a newer one may say more of each action."""
    denied = event.denied if isinstance(event, facts.ApprovalExpired) else ()
    return denied, event.begins, [(one.id, one.reason) for one in event.ended]


def admissible(session: Session, event: SessionEvent) -> str:
    """Why this event cannot be the next one of the session, whatever it ends and begins; "" if it can."""
    if _opens_session(event):
        return _wrong_opening(event)
    check = CHECKS.get(event.type)
    return check(session, event) if check else ""


def _opens_session(event: SessionEvent) -> bool:
    """Whether it can only be the first one of a session."""
    return event.version == 1 or event.type == "session.forked"


def _wrong_opening(event: SessionEvent) -> str:
    """A session begins with a person's request or as a fork, and is begun once."""
    match event:
        case facts.MessageReceived(intent="request", actor=actor) if actor == KEEPER:
            whole = event.owner and event.brings_plan and (event.via or "").startswith(SCHEDULED)
            return "" if whole else f"the {KEEPER} begins a session for its owner, with a plan, and says by what"
        case facts.MessageReceived(intent="request") | facts.SessionForked(version=1):
            return _begun_for(event) or not_a_person(event)
        case _:
            return f"{event.type} cannot be version {event.version}"


def _begun_for(event: SessionEvent) -> str:
    """Nobody but the keeper begins a session that is another's."""
    named = isinstance(event, facts.MessageReceived) and (event.owner or event.via)
    return f"only the {KEEPER} names an owner, and what it begins a session by" if named else ""


def _not_said_by_a_person(_: Session, event: SessionEvent) -> str:
    return not_a_person(event)


def _answered(session: Session, event: facts.QuestionAnswered) -> str:
    """Only a person may answer: an answer can have a write run again of which nobody knows whether it took effect."""
    question = session.question if session.phase == "awaiting_input" else None
    if question is None or question.action_id != event.question_id:
        return f"no question of {event.question_id} is open: {RELOAD}"
    return not_a_person(event)


# --- approvals and refusals


def _plan_approved(session: Session, event: facts.PlanApproved) -> str:
    plan = session.plan
    if plan is None:
        return "there is no plan"
    if wrong := _not_in_review(session, event, "text"):
        return wrong
    if event.hash != plan.hash:
        return f"its hash is not that of plan {plan.version}: {RELOAD}"
    if not _asks_nobody(session, plan) and (wrong := not_a_person(event)):
        return wrong
    return _options(plan, event) or _differs_from_plan(session, plan, event)


def _options(plan: Plan, event: facts.PlanApproved) -> str:
    """What an approval may say besides: which steps are preapproved, and that the plan is started later."""
    if event.deferred and not plan.task:
        return "only a plan that acts is started later than it is approved"
    return " ".join(preapproval_problems(plan, event.preapproved))


def _turn_planned(session: Session, event: facts.TurnPlanned) -> str:
    """In an execution plan only the turn of its steps, and only where the settings ask for no person's approval."""
    if wrong := not_of_the_work(session, event):
        return wrong
    if event.plan_version is None:
        by_step = of_turn(session, event).turn.by_step
        return "an execution plan has no turn but that of its steps" if by_step else ""
    plan = session.plan
    if plan is None or plan.version != event.plan_version or not begins_by_setting(session):
        return f"plan {event.plan_version} does not begin by the session's settings: {RELOAD}"
    return _differs_from_plan(session, plan, event)


def _asks_nobody(session: Session, plan: Plan) -> bool:
    """By the session's settings its plans need no approval of their own; their actions still do."""
    return of_plan(session, plan.kind).approves_itself(session.settings)


def _differs_from_plan(session: Session, plan: Plan, event: facts.PlanApproved | facts.TurnPlanned) -> str:
    """What the event lacks of what `decide` would give: the turn, and in it exactly the steps of this version."""
    actions = of_plan(session, plan.kind).actions(plan, session.counts.turns + 1)
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


def _plan_rejected(session: Session, event: facts.PlanRejected) -> str:
    return not_a_person(event) or _not_in_review(session, event, "text")


def _code_approved(session: Session, event: facts.CodeApproved) -> str:
    if wrong := not_a_person(event) or _not_in_review(session, event, "code"):
        return wrong
    matches = session.code is not None and event.hash == session.code.hash
    return "" if matches else f"its hash is not that of code {event.code_version}: {RELOAD}"


def _code_rejected(session: Session, event: facts.CodeRejected) -> str:
    if wrong := not_a_person(event) or _not_in_review(session, event, "code"):
        return wrong
    plan, code = session.plan, session.code
    of_the_plan = plan is not None and code is not None and code.plan_version == plan.version
    return "" if of_the_plan else f"code {event.code_version} is of an older plan: {RELOAD}"


def _not_in_review(session: Session, event: Decision, target: Target) -> str:
    """A refusal with `replan` names the newest version, in any phase; every other decision the version in review.

    What is in review stays so while a remark about it is being answered.
    """
    session = put_back(session)
    item, version = (
        (session.plan, event.plan_version)
        if isinstance(event, facts.PlanApproved | facts.PlanRejected)
        else (session.code, event.code_version)
    )
    if isinstance(event, facts.PlanRejected | facts.CodeRejected) and event.replan:
        newest = item is not None and item.version == version
        return "" if newest else f"version {version} is not the newest: {RELOAD}"
    reviewed = session.phase == "awaiting_approval" and reviewing(session) == target
    if item is None or not reviewed or item.version != version:
        return f"version {version} is not in review: {RELOAD}"
    return ""


def _action_decided(session: Session, event: facts.ApprovalGiven | facts.ApprovalDenied) -> str:
    waiting = undecided(session.turn) if put_back(session).phase == "awaiting_approval" else ()
    action = next((action for action in waiting if action.spec.id == event.action_id), None)
    if action is None:
        return f"action {event.action_id} does not wait for approval"
    if isinstance(event, facts.ApprovalGiven) and event.hash != action.hash:
        return f"its hash is not that of action {event.action_id}: {RELOAD}"
    return not_a_person(event)


def _skipped(session: Session, event: facts.ActionSkipped) -> str:
    """That a plan goes on without a step is a person's word. What runs, or has an outcome, is not skipped with it."""
    if (turn := session.turn) is None or not turn.rules.by_step:
        return ""
    known = {action.spec.id for action in turn.actions if action.status in OPEN or action.dead}
    wrong = [one for one in event.dependents if one not in known]
    return not_a_person(event) or (f"{wrong[0]} is no step that could be skipped" if wrong else "")


CHECKS: Mapping[str, Callable[[Session, Any], str]] = {
    "message.received": _not_said_by_a_person,
    "plan.approved": _plan_approved,
    "plan.rejected": _plan_rejected,
    "code.approved": _code_approved,
    "code.rejected": _code_rejected,
    "approval.given": _action_decided,
    "approval.denied": _action_decided,
    "action.skipped": _skipped,
    "turn.changed": reports.changed_turn,
    "turn.requested": _not_said_by_a_person,
    "question.asked": reports.asked_question,
    "question.answered": _answered,
    "actions.finished": reports.outcomes,
    "actions.waiting": reports.began_to_wait,
    "actions.woken": reports.woken,
    "action.polled": reports.polled,
    "approval.expired": wrong_expiry,
    "result.stored": reports.stored_result,
    "result.lost": reports.stored_result,
    "action.uncertain": reports.outcome,
    **dict.fromkeys(("policy.set", "budget.raised", "session.shared"), _not_said_by_a_person),
    **dict.fromkeys(("session.retried", "session.resumed"), _not_said_by_a_person),
    "turn.planned": _turn_planned,
    **dict.fromkeys(("remark.answered", "plan.drafted", "code.drafted"), not_of_the_work),
    **dict.fromkeys(("actions.started",), not_of_the_work),
    **dict.fromkeys(("code.verified", "turn.verified"), not_of_the_work),
    **dict.fromkeys(("answer.given", "session.failed"), not_of_the_work),
}
