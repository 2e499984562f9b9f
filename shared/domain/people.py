"""What a person may do, and when."""

from typing import assert_never

from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.errors import Invalid, OutOfTurn, Stale
from shared.domain.session import SERVICE_OF, Session, reviewing, undecided
from shared.domain.stamp import stamp
from shared.domain.state import Action, Code, Plan
from shared.domain.waves import find
from shared.events import SessionEvent, facts
from shared.events.values import ActionSpec

PersonCommand = (
    c.Say
    | c.Approve
    | c.Reject
    | c.EditPlan
    | c.EditCode
    | c.Answer
    | c.Continue
    | c.Run
    | c.Complete
    | c.Stop
    | c.Pause
    | c.Resume
    | c.Retry
    | c.Skip
    | c.CancelPlan
    | c.DeletePlan
    | c.TakeOver
    | c.Remember
    | c.RaiseBudget
    | c.Rename
    | c.Share
    | c.ChooseWorkflow
    | c.Fork
)
RAISE, GIVE_UP = "Raise the budget by half", "Stop here"


def decide_person(session: Session, command: PersonCommand, by: By) -> SessionEvent:  # noqa: C901, PLR0911, PLR0912
    """One line a command; a session that does not exist yet takes a message or a fork only."""
    if session.version == 0 and not isinstance(command, (c.Say, c.Fork)):
        raise OutOfTurn("There is no such session yet: begin it with a user_message.")
    match command:
        case c.Say():
            return _say(session, command, by)
        case c.Approve():
            return _approve(session, command, by)
        case c.Reject():
            return _reject(session, command, by)
        case c.EditPlan():
            return _edit_plan(session, command, by)
        case c.EditCode():
            return _edit_code(session, command, by)
        case c.Answer():
            return _answer(session, command, by)
        case c.Continue():
            return _continue(session, by)
        case c.Run():
            return _run(session, command, by)
        case c.Complete():
            return _complete(session, by)
        case c.Stop():
            return _stop(session, command, by)
        case c.Pause():
            _need(not session.paused and session.phase not in ("resting", "failed"), "There is nothing to pause now.")
            return facts.SessionPaused(**stamp(session, by, "session.paused"))
        case c.Resume():
            _need(session.paused, "The session is not paused.")
            return facts.SessionResumed(**stamp(session, by, "session.resumed"))
        case c.Retry():
            _need(session.halted is not None and session.phase in ("failed", "resting"), "There is nothing to retry.")
            return facts.SessionRetried(**stamp(session, by, "session.retried"))
        case c.Skip():
            return _skip(session, command, by)
        case c.CancelPlan() | c.DeletePlan():
            return _drop_plan(session, command, by)
        case c.TakeOver():
            return _take_over(session, command, by)
        case c.Remember():
            kind = "policy.remembered"
            return facts.PolicyRemembered(**stamp(session, by, kind), tool=command.tool, policy=command.policy)
        case c.RaiseBudget():
            kind = "budget.raised"
            return facts.BudgetRaised(**stamp(session, by, kind), tokens=command.tokens, cost=command.cost)
        case c.Rename():
            return facts.SessionRenamed(**stamp(session, by, "session.renamed"), title=command.title)
        case c.Share():
            kind = "session.shared"
            return facts.SessionShared(**stamp(session, by, kind), user=command.user, write=command.write)
        case c.ChooseWorkflow():
            _need(session.phase == "resting", "The workflow can be chosen while the session rests.")
            return facts.WorkflowChosen(**stamp(session, by, "session.workflow_chosen"), workflow=command.workflow)
        case c.Fork():
            return _fork(session, command, by)
    assert_never(command)


def _need(condition: bool, otherwise: str) -> None:
    if not condition:
        raise OutOfTurn(otherwise)


def _say(session: Session, command: c.Say, by: By) -> SessionEvent:
    if not command.text.strip():
        raise Invalid("The message is empty.")
    if session.phase == "awaiting_input" and session.question:
        return _answer(session, c.Answer(text=command.text), by)
    if session.phase in SERVICE_OF:
        intent: facts.Intent = "steer"
    else:
        intent = "feedback" if session.asking else "request"
    return facts.MessageReceived(
        **stamp(session, by, "message.received"),
        text=command.text,
        intent=intent,
        workflow=command.workflow if intent == "request" else None,
        settings=command.settings if intent == "request" else None,
        knowledge=command.knowledge if intent == "request" else (),
    )


def _in_review(session: Session, version: int | None, hash_: str | None = None) -> Plan | Code:
    """The plan or code in review, if it is the one the person means."""
    target = reviewing(session)
    item = session.code if target == "code" else session.plan if target == "text" else None
    if session.phase != "awaiting_approval" or item is None:
        raise OutOfTurn(f"There is no plan or code in review now: the session is {session.phase}.")
    if version is not None and version != item.version:
        raise Stale(
            f"Version {version} is not the one in review; version {item.version} is. Look at it and decide again."
        )
    if hash_ is not None and hash_ != item.hash:
        raise Stale(f"The content differs from version {item.version} as it is stored. Look at it and decide again.")
    return item


def _approve(session: Session, command: c.Approve, by: By) -> SessionEvent:
    if command.action_id is not None or (reviewing(session) == "actions" and session.phase == "awaiting_approval"):
        action = _waiting_action(session, command.action_id)
        if command.hash is not None and command.hash != action.hash:
            raise Stale("The action's arguments differ from what you saw. Look at them and decide again.")
        kind = "approval.given"
        return facts.ApprovalGiven(
            **stamp(session, by, kind, action.spec.id), action_id=action.spec.id, hash=action.hash
        )
    item = _in_review(session, command.version, command.hash)
    if isinstance(item, Code):
        return facts.CodeApproved(**stamp(session, by, "code.approved"), code_version=item.version, hash=item.hash)
    return facts.PlanApproved(**stamp(session, by, "plan.approved"), plan_version=item.version, hash=item.hash)


def _waiting_action(session: Session, action_id: str | None) -> Action:
    waiting = undecided(session.turn) if session.phase == "awaiting_approval" else ()
    if action_id is None and len(waiting) > 1:
        raise Invalid("Several actions wait for approval: name one with action_id.")
    for action in waiting:
        if action_id in (None, action.spec.id):
            return action
    raise OutOfTurn(f"No action {action_id or ''} waits for approval.".replace("  ", " "))


def _reject(session: Session, command: c.Reject, by: By) -> SessionEvent:
    if command.action_id is not None or (reviewing(session) == "actions" and not command.replan):
        action = _waiting_action(session, command.action_id)
        kind = "approval.denied"
        return facts.ApprovalDenied(
            **stamp(session, by, kind, action.spec.id), action_id=action.spec.id, reason=command.reason
        )
    if command.replan:
        return _replan(session, command, by)
    item = _in_review(session, command.version)
    if isinstance(item, Code):
        return facts.CodeRejected(**stamp(session, by, "code.rejected"), code_version=item.version)
    return facts.PlanRejected(**stamp(session, by, "plan.rejected"), plan_version=item.version)


def _replan(session: Session, command: c.Reject, by: By) -> SessionEvent:
    """Something else instead: at a review, after a refusal, and at rest; never during work."""
    if session.phase in SERVICE_OF:
        raise OutOfTurn(f"The session is {session.phase}: stop it first, or say what to change.")
    target = command.target or ("code" if reviewing(session) == "code" else "text")
    item = session.code if target == "code" else session.plan
    if item is None:
        raise OutOfTurn(f"There is no {'code' if target == 'code' else 'plan'} to replace yet.")
    if command.version is not None and command.version != item.version:
        raise Stale(f"Version {command.version} is no longer the newest; version {item.version} is.")
    if isinstance(item, Code):
        if session.plan is None or session.plan.version != item.plan_version:
            raise OutOfTurn("The plan has changed since this code was written: approve the plan first.")
        return facts.CodeRejected(**stamp(session, by, "code.rejected"), code_version=item.version, replan=True)
    return facts.PlanRejected(**stamp(session, by, "plan.rejected"), plan_version=item.version, replan=True)


def _edit_plan(session: Session, command: c.EditPlan, by: By) -> SessionEvent:
    plan = session.plan
    if plan is None or session.phase in SERVICE_OF:
        raise OutOfTurn("A plan can be edited while it is in review or the session rests.")
    if command.base != plan.version:
        raise Stale(f"You edited version {command.base}, but version {plan.version} is the newest.")
    goal = plan.goal if command.goal is None else command.goal.strip() or plan.goal
    notes = plan.notes if command.notes is None else command.notes
    if not command.steps:
        raise Invalid("A plan needs at least one step.")
    if (goal, command.steps, notes) == (plan.goal, plan.steps, plan.notes):
        raise Invalid("The edit changes nothing.")
    kind = "plan.edited"
    return facts.PlanEdited(**stamp(session, by, kind), base=plan.version, goal=goal, steps=command.steps, notes=notes)


def _edit_code(session: Session, command: c.EditCode, by: By) -> SessionEvent:
    code = session.code
    if code is None or session.phase in SERVICE_OF or code.status == "superseded":
        raise OutOfTurn("Code can be edited while it is in review or the session rests.")
    if command.base != code.version:
        raise Stale(f"You edited version {command.base}, but version {code.version} is the newest.")
    if not command.code.strip():
        raise Invalid("The program is empty.")
    if command.code == code.code:
        raise Invalid("The edit changes nothing.")
    return facts.CodeEdited(**stamp(session, by, "code.edited"), base=code.version, code=command.code)


def _answer(session: Session, command: c.Answer, by: By) -> SessionEvent:
    question = session.question
    if session.phase != "awaiting_input" or question is None:
        raise OutOfTurn("No question is open now.")
    if command.action_id is not None and command.action_id != question.action_id:
        raise Stale("That question is no longer open; another one is.")
    if not command.text.strip():
        raise Invalid("The answer is empty.")
    if question.about == "budget":
        return _about_budget(session, command.text, by)
    kind = "question.answered"
    return facts.QuestionAnswered(
        **stamp(session, by, kind, question.action_id), action_id=question.action_id, text=command.text
    )


def _about_budget(session: Session, text: str, by: By) -> SessionEvent:
    if text == GIVE_UP:
        return facts.SessionStopped(**stamp(session, by, "session.stopped"), reason="the budget is spent")
    if text != RAISE:
        raise Invalid(f"Answer “{RAISE}” or “{GIVE_UP}”, or raise it by an amount of your own.")
    tokens = max(session.settings.token_budget or 0, session.spent.tokens) // 2
    cost = max(session.settings.cost_budget or 0.0, session.spent.cost) / 2
    return facts.BudgetRaised(**stamp(session, by, "budget.raised"), tokens=tokens, cost=cost)


def _continue(session: Session, by: By) -> SessionEvent:
    _need(session.phase == "resting" and session.version > 0, "The session has not come to rest yet.")
    return facts.QuestionAsked(
        **stamp(session, by, "question.asked"),
        action_id=f"continue-{session.version + 1}",
        about="continue",
        text="What would you like to change, or to do next?",
    )


def _run(session: Session, command: c.Run, by: By) -> SessionEvent:
    code = session.code
    if code is None or code.status != "approved" or session.phase not in ("resting", "failed"):
        raise OutOfTurn("Only approved code is run, while the session rests.")
    turn = session.turns + 1
    arguments = {"code_version": code.version, "hash": code.hash, "stdin": command.stdin, "args": list(command.args)}
    action = ActionSpec(id=f"{turn}.1", tool="run_code", arguments=arguments, text="Run the approved code")
    kind = "turn.planned"
    return facts.TurnPlanned(
        **stamp(session, by, kind),
        turn=turn,
        sub_goal="Run the approved code",
        actions=(action,),
        selected_tool="run_code",
    )


def _complete(session: Session, by: By) -> SessionEvent:
    asked = session.question is not None and session.question.about == "continue" and session.asking
    rests = session.phase in ("resting", "failed") and session.reason != "completed"
    _need(asked or rests, "The session can be completed when it rests.")
    return facts.SessionCompleted(**stamp(session, by, "session.completed"))


def _stop(session: Session, command: c.Stop, by: By) -> SessionEvent:
    _need(session.phase not in ("resting", "failed"), "Nothing is going on: there is nothing to stop.")
    return facts.SessionStopped(**stamp(session, by, "session.stopped"), reason=command.reason)


def _skip(session: Session, command: c.Skip, by: By) -> SessionEvent:
    action = find(session, command.action_id)
    if action is None:
        raise Invalid(f"There is no action {command.action_id}.")
    _need(
        action.status in ("planned", "approved"), f"Action {command.action_id} is {action.status}: too late to skip it."
    )
    kind = "action.skipped"
    return facts.ActionSkipped(
        **stamp(session, by, kind, action.spec.id), action_id=action.spec.id, reason="skipped by the person"
    )


def _drop_plan(session: Session, command: c.CancelPlan | c.DeletePlan, by: By) -> SessionEvent:
    if session.plan is None:
        raise OutOfTurn("There is no plan.")
    if isinstance(command, c.DeletePlan):
        _need(session.phase not in SERVICE_OF, "The plan is being worked on: stop or cancel it first.")
        return facts.PlanDeleted(**stamp(session, by, "plan.deleted"), plan_version=session.plan.version)
    _need(
        session.plan.status not in ("completed", "cancelled", "failed"), f"The plan is {session.plan.status} already."
    )
    return facts.PlanCancelled(**stamp(session, by, "plan.cancelled"), plan_version=session.plan.version)


def _take_over(session: Session, command: c.TakeOver, by: By) -> SessionEvent:
    _need(session.phase == "escalated", "A person takes over when the session is escalated to one.")
    turn = session.turns + 1
    kind = "turn.planned"
    return facts.TurnPlanned(**stamp(session, by, kind), turn=turn, sub_goal=command.sub_goal, actions=command.actions)


def _fork(session: Session, command: c.Fork, by: By) -> SessionEvent:
    if session.version:
        raise OutOfTurn("A fork begins a new session.")
    kind = "session.forked"
    return facts.SessionForked(**stamp(session, by, kind), parent=command.parent, parent_version=command.parent_version)
