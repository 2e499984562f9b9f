"""What folding refuses, whoever published it: a closed list.

`accept` parks such an event (`admit`), and `decide` holds what it decided against the same list (`admissible`). It
belongs to the rules of the format and changes only with their number. Everything else (policies, limits, texts) is for
`decide` alone.
"""

from collections.abc import Callable, Mapping
from typing import Any

from shared.domain.consequences import followed
from shared.domain.evolve import evolve
from shared.domain.session import Session, Target, put_back, reviewing, undecided
from shared.domain.state import Action, ActionStatus, Plan
from shared.domain.waves import find
from shared.events import SessionEvent, facts
from shared.events.values import ActionAttempt, ActionSpec

PERSON = "user:"
KEEPER = "keeper"  # fails the work that a service gave up or lost
UNDER_WAY: frozenset[ActionStatus] = frozenset({"running", "started", "uncertain"})
AGAIN = "load the session and decide again"
UNSAID = "its `denied`, `ended` and `begins` are not those that follow from it: complete it, or decide again"

type Decision = facts.PlanApproved | facts.PlanRejected | facts.CodeApproved | facts.CodeRejected


def admit(session: Session, event: SessionEvent) -> tuple[Session, str]:
    """The session after this event, and ""; or as it is, and why the event cannot be its next one."""
    if wrong := admissible(session, event):
        return session, wrong
    if _begins(event):
        return evolve(session, event), ""
    whole, after = followed(session, event)
    if whole is event or _brings_about(whole) == _brings_about(event):
        return after, ""
    return session, UNSAID


def _brings_about(event: SessionEvent) -> tuple[object, ...]:
    """Only what this release knows of it: a newer one may say more of each action."""
    denied = event.denied if isinstance(event, facts.ApprovalExpired) else ()
    return denied, event.begins, [(one.id, one.reason) for one in event.ended]


def admissible(session: Session, event: SessionEvent) -> str:
    """Why this event cannot be the next one of the session, whatever it ends and begins; "" if it can."""
    if _begins(event):
        return _beginning(event)
    row = ROWS.get(event.type)
    return row(session, event) if row else ""


def _begins(event: SessionEvent) -> bool:
    """Whether it can only be the first one of a session."""
    return event.version == 1 or event.type == "session.forked"


def _beginning(event: SessionEvent) -> str:
    """A session begins with a person's request or as a fork, and is begun once."""
    match event:
        case facts.MessageReceived(intent="request") | facts.SessionForked(version=1):
            return _by_a_person(event)
        case _:
            return f"{event.type} cannot be version {event.version}"


def _by_a_person(event: SessionEvent) -> str:
    if event.actor.startswith(PERSON) and event.actor != PERSON:
        return ""
    return f"its actor is “{event.actor}”, but only a person ({PERSON}<id>) says this"


def _said(_: Session, event: SessionEvent) -> str:
    return _by_a_person(event)


def _answered(session: Session, event: facts.QuestionAnswered) -> str:
    """The answer may have an action run again of which nobody knows whether it took effect."""
    question = session.question if session.phase == "awaiting_input" else None
    if question is None or question.action_id != event.question_id:
        return f"no question of {event.question_id} is open: {AGAIN}"
    return _by_a_person(event)


# --- approvals and refusals


def _plan_approved(session: Session, event: facts.PlanApproved) -> str:
    plan = session.plan
    if plan is None or (wrong := _in_review(session, event, "text")):
        return wrong if plan else "there is no plan"
    if event.hash != plan.hash:
        return f"its hash is not that of plan {plan.version}: {AGAIN}"
    if not _asks_nobody(session, plan) and (wrong := _by_a_person(event)):
        return wrong
    return _incomplete(session, plan, event)


def _asks_nobody(session: Session, plan: Plan) -> bool:
    """By the session's settings a path needs no approval of its own; its nodes still do."""
    return plan.kind == "path" and session.settings.confirm != "path"


def _incomplete(session: Session, plan: Plan, event: facts.PlanApproved) -> str:
    """What the event lacks of what `decide` would give: the turn, and in it exactly the steps of this version."""
    actions = plan.actions(session.turns + 1)
    turn = session.turns + 1 if actions else None
    if event.turn != turn:
        return f"its turn is {event.turn}, but with this plan it must be {turn}: {AGAIN}"
    if [_what_runs(spec) for spec in event.actions] != [_what_runs(spec) for spec in actions]:
        return f"its actions are not the steps of plan {plan.version}: {AGAIN}"
    return ""


def _what_runs(spec: ActionSpec) -> tuple[object, ...]:
    return spec.id, spec.depends_on, Action(spec).hash


def _plan_rejected(session: Session, event: facts.PlanRejected) -> str:
    return _by_a_person(event) or _in_review(session, event, "text")


def _code_approved(session: Session, event: facts.CodeApproved) -> str:
    if wrong := _by_a_person(event) or _in_review(session, event, "code"):
        return wrong
    matches = session.code is not None and event.hash == session.code.hash
    return "" if matches else f"its hash is not that of code {event.code_version}: {AGAIN}"


def _code_rejected(session: Session, event: facts.CodeRejected) -> str:
    return _by_a_person(event) or _in_review(session, event, "code")


def _in_review(session: Session, event: Decision, target: Target) -> str:
    """The version is the one in review; of a replan, which is possible at rest too, the newest.

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
        return "" if newest else f"version {version} is not the newest: {AGAIN}"
    reviewed = session.phase == "awaiting_approval" and reviewing(session) == target
    if item is None or not reviewed or item.version != version:
        return f"version {version} is not in review: {AGAIN}"
    return ""


def _action_decided(session: Session, event: facts.ApprovalGiven | facts.ApprovalDenied) -> str:
    waiting = undecided(session.turn) if put_back(session).phase == "awaiting_approval" else ()
    action = next((action for action in waiting if action.spec.id == event.action_id), None)
    if action is None:
        return f"action {event.action_id} does not wait for approval"
    if isinstance(event, facts.ApprovalGiven) and event.hash != action.hash:
        return f"its hash is not that of action {event.action_id}: {AGAIN}"
    return _by_a_person(event)


# --- what services report


def _of_the_work(session: Session, event: SessionEvent) -> str:
    """It names the work at hand, and is by the service whose work that is."""
    work = session.work
    if work is None:
        return "no service is due"
    if not event.id.startswith(f"{session.id}:{work.version}:"):
        return f"its id does not begin with the work at hand, {session.id}:{work.version}: {AGAIN}"
    keeps = event.actor == KEEPER and isinstance(event, facts.SessionFailed)
    return "" if keeps or event.actor == work.service else f"its actor is “{event.actor}”, but {work.service} is due"


def _turn_changed(session: Session, event: facts.TurnChanged) -> str:
    """A person changes a path, too."""
    return "" if event.actor.startswith(PERSON) else _of_the_work(session, event)


def _asked(session: Session, event: facts.QuestionAsked) -> str:
    """A person has themselves asked what comes next."""
    own = event.kind == "continue" and event.actor.startswith(PERSON)
    return "" if own else _of_the_work(session, event)


def _outcomes(session: Session, event: facts.ActionsFinished) -> str:
    wrong = (_outcome(session, outcome) for outcome in event.outcomes)
    return next((one for one in wrong if one), "")


def _outcome(session: Session, attempt: ActionAttempt | facts.ActionUncertain) -> str:
    action = find(session, attempt.action_id)
    under_way = action is not None and action.status in UNDER_WAY and action.attempt == attempt.attempt
    return "" if under_way else f"attempt {attempt.attempt} of action {attempt.action_id} is not running"


def _result(session: Session, event: facts.ResultStored | facts.ResultLost) -> str:
    action = find(session, event.action_id)
    storing = action is not None and action.storing and action.attempt == event.attempt
    return "" if storing else f"no result of attempt {event.attempt} of action {event.action_id} is being stored"


ROWS: Mapping[str, Callable[[Session, Any], str]] = {
    "message.received": _said,
    "plan.approved": _plan_approved,
    "plan.rejected": _plan_rejected,
    "code.approved": _code_approved,
    "code.rejected": _code_rejected,
    "approval.given": _action_decided,
    "approval.denied": _action_decided,
    "turn.changed": _turn_changed,
    "turn.requested": _said,
    "question.asked": _asked,
    "question.answered": _answered,
    "actions.finished": _outcomes,
    "result.stored": _result,
    "result.lost": _result,
    "action.uncertain": _outcome,
    **dict.fromkeys(("policy.set", "budget.raised", "session.shared"), _said),
    **dict.fromkeys(("session.retried", "session.resumed"), _said),
    **dict.fromkeys(("remark.answered", "plan.drafted", "code.drafted", "turn.planned"), _of_the_work),
    **dict.fromkeys(("actions.started",), _of_the_work),
    **dict.fromkeys(("code.verified", "turn.verified"), _of_the_work),
    **dict.fromkeys(("answer.given", "session.failed"), _of_the_work),
}
