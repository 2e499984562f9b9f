"""What folding refuses, whoever published it: a closed list.

Readers of the log call `admit` and park what it refuses. `decide` calls `admissible` on the event that it has decided.
The list is part of the rules of the format: a change of it needs the next number (`envelope.RULES`), and sessions that
were begun by older rules keep the older list. Everything else (policies, limits, texts) is `decide`'s alone.

All checks return why the event is refused, "" where it is not.
"""

from collections.abc import Callable, Mapping
from typing import Any

from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ActionSpec
from shared.domain.consequences import followed
from shared.domain.evolve import evolve
from shared.domain.expiry import wrong_expiry
from shared.domain.paths import OPEN
from shared.domain.plan_approval import begins_by_setting, preapproval_problems
from shared.domain.plan_steps import already_done
from shared.domain.polling import wrong_look
from shared.domain.session import Session, Target, put_back, reviewing, undecided
from shared.domain.state import Action, ActionStatus, Plan
from shared.domain.waiting import due, waits_for
from shared.domain.waves import find, ready
from shared.domain.workflows import of_plan, of_turn

PERSON = "user:"
KEEPER = "keeper"  # fails the work that a service gave up or lost, and begins sessions by schedule
SCHEDULED = "template/"
TAKES_OUTCOME: frozenset[ActionStatus] = frozenset({"running", "started", "uncertain"})
RELOAD = "load the session and decide again"
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
            return _begun_for(event) or _not_a_person(event)
        case _:
            return f"{event.type} cannot be version {event.version}"


def _begun_for(event: SessionEvent) -> str:
    """Nobody but the keeper begins a session that is another's."""
    named = isinstance(event, facts.MessageReceived) and (event.owner or event.via)
    return f"only the {KEEPER} names an owner, and what it begins a session by" if named else ""


def _not_a_person(event: SessionEvent) -> str:
    if event.actor.startswith(PERSON) and event.actor != PERSON:
        return ""
    return f"its actor is “{event.actor}”, but only a person ({PERSON}<id>) says this"


def _not_said_by_a_person(_: Session, event: SessionEvent) -> str:
    return _not_a_person(event)


def _answered(session: Session, event: facts.QuestionAnswered) -> str:
    """Only a person may answer: an answer can have a write run again of which nobody knows whether it took effect."""
    question = session.question if session.phase == "awaiting_input" else None
    if question is None or question.action_id != event.question_id:
        return f"no question of {event.question_id} is open: {RELOAD}"
    return _not_a_person(event)


# --- approvals and refusals


def _plan_approved(session: Session, event: facts.PlanApproved) -> str:
    plan = session.plan
    if plan is None:
        return "there is no plan"
    if wrong := _not_in_review(session, event, "text"):
        return wrong
    if event.hash != plan.hash:
        return f"its hash is not that of plan {plan.version}: {RELOAD}"
    if not _asks_nobody(session, plan) and (wrong := _not_a_person(event)):
        return wrong
    return _options(plan, event) or _differs_from_plan(session, plan, event)


def _options(plan: Plan, event: facts.PlanApproved) -> str:
    """What an approval may say besides: which steps are preapproved, and that the plan is started later."""
    if event.deferred and not plan.task:
        return "only a plan that acts is started later than it is approved"
    return " ".join(preapproval_problems(plan, event.preapproved))


def _turn_planned(session: Session, event: facts.TurnPlanned) -> str:
    """In an execution plan only the turn of its steps, and only where the settings ask for no person's approval."""
    if wrong := _not_of_the_work(session, event):
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
    return _not_a_person(event) or _not_in_review(session, event, "text")


def _code_approved(session: Session, event: facts.CodeApproved) -> str:
    if wrong := _not_a_person(event) or _not_in_review(session, event, "code"):
        return wrong
    matches = session.code is not None and event.hash == session.code.hash
    return "" if matches else f"its hash is not that of code {event.code_version}: {RELOAD}"


def _code_rejected(session: Session, event: facts.CodeRejected) -> str:
    if wrong := _not_a_person(event) or _not_in_review(session, event, "code"):
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
    return _not_a_person(event)


def _skipped(session: Session, event: facts.ActionSkipped) -> str:
    """That a plan goes on without a step is a person's word. What runs, or has an outcome, is not skipped with it."""
    if (turn := session.turn) is None or not turn.rules.by_step:
        return ""
    known = {action.spec.id for action in turn.actions if action.status in OPEN or action.dead}
    wrong = [one for one in event.dependents if one not in known]
    return _not_a_person(event) or (f"{wrong[0]} is no step that could be skipped" if wrong else "")


# --- what services report


def _not_of_the_work(session: Session, event: SessionEvent) -> str:
    """The event must name the work at hand, and come from the service whose work that is."""
    work = session.work
    if work is None:
        return "no service is due"
    if not event.id.startswith(f"{session.id}:{work.version}:"):
        return f"its id does not begin with the work at hand, {session.id}:{work.version}: {RELOAD}"
    keeps = event.actor == KEEPER and isinstance(event, facts.SessionFailed)
    return "" if keeps or event.actor == work.service else f"its actor is “{event.actor}”, but {work.service} is due"


def _turn_changed(session: Session, event: facts.TurnChanged) -> str:
    """Besides the service that is due, a person may change what can be changed."""
    own = session.turn is not None and session.turn.rules.changeable and not _not_a_person(event)
    return "" if own else _not_of_the_work(session, event)


def _asked(session: Session, event: facts.QuestionAsked) -> str:
    """A person may have themselves asked what comes next; every other question comes from the service that is due."""
    own = event.kind == "continue" and not _not_a_person(event)
    return "" if own else _not_of_the_work(session, event)


def _outcomes(session: Session, event: facts.ActionsFinished) -> str:
    wrong = (_outcome(session, outcome) for outcome in event.outcomes)
    return next((one for one in wrong if one), "")


def _outcome(session: Session, attempt: ActionAttempt | facts.ActionUncertain) -> str:
    action = find(session, attempt.action_id)
    under_way = action is not None and action.status in TAKES_OUTCOME and action.attempt == attempt.attempt
    return "" if under_way else f"attempt {attempt.attempt} of action {attempt.action_id} is not running"


def _result(session: Session, event: facts.ResultStored | facts.ResultLost) -> str:
    action = find(session, event.action_id)
    storing = action is not None and action.storing and action.attempt == event.attempt
    return "" if storing else f"no result of attempt {event.attempt} of action {event.action_id} is being stored"


def _waiting(session: Session, event: facts.ActionsWaiting) -> str:
    """Only a step that the plan says waits for a time, or polls, can do so."""
    waits = {action.spec.id: action.spec.waits_for for action in ready(session.turn)}
    wrong = [one for one in event.actions if waits.get(one.action_id) != waits_for(one)]
    if wrong:
        return f"{wrong[0].action_id} is no step that could wait for a {waits_for(wrong[0])} now"
    return _not_of_the_work(session, event)


def _woken(session: Session, event: facts.ActionsWoken) -> str:
    known = {action.spec.id for action in due(session, event.at)}
    if wrong := [one for one in event.actions if one not in known]:
        return f"{wrong[0]} does not wait for a time that has come"
    return "" if event.actor == KEEPER else f"its actor is “{event.actor}”, but only the {KEEPER} wakes a step"


def _polled(session: Session, event: facts.ActionPolled) -> str:
    if wrong := wrong_look(session, event):
        return wrong
    return "" if event.actor == KEEPER else f"its actor is “{event.actor}”, but only the {KEEPER} polls"


CHECKS: Mapping[str, Callable[[Session, Any], str]] = {
    "message.received": _not_said_by_a_person,
    "plan.approved": _plan_approved,
    "plan.rejected": _plan_rejected,
    "code.approved": _code_approved,
    "code.rejected": _code_rejected,
    "approval.given": _action_decided,
    "approval.denied": _action_decided,
    "action.skipped": _skipped,
    "turn.changed": _turn_changed,
    "turn.requested": _not_said_by_a_person,
    "question.asked": _asked,
    "question.answered": _answered,
    "actions.finished": _outcomes,
    "actions.waiting": _waiting,
    "actions.woken": _woken,
    "action.polled": _polled,
    "approval.expired": wrong_expiry,
    "result.stored": _result,
    "result.lost": _result,
    "action.uncertain": _outcome,
    **dict.fromkeys(("policy.set", "budget.raised", "session.shared"), _not_said_by_a_person),
    **dict.fromkeys(("session.retried", "session.resumed"), _not_said_by_a_person),
    "turn.planned": _turn_planned,
    **dict.fromkeys(("remark.answered", "plan.drafted", "code.drafted"), _not_of_the_work),
    **dict.fromkeys(("actions.started",), _not_of_the_work),
    **dict.fromkeys(("code.verified", "turn.verified"), _not_of_the_work),
    **dict.fromkeys(("answer.given", "session.failed"), _not_of_the_work),
}
