"""Decides users' commands: what a user may do, and when."""

from typing import assert_never

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import AlreadyDone, Invalid, OutOfTurn, Stale, require
from shared.domain.kernel.session import SERVICE_OF, Session
from shared.domain.plan import reviews
from shared.domain.plan.policy import with_ruling
from shared.domain.rules import budgets
from shared.domain.rules.event_meta import event_meta
from shared.domain.steps.plan_steps import is_unfinished
from shared.domain.steps.skipping import skip
from shared.domain.transcript import offers
from shared.domain.transcript.answers import answer, is_answer
from shared.domain.transcript.messages import drafts_at_once, programmed_plan
from shared.domain.turn import flow_paths
from shared.domain.turn.commands import new_actions

UserCommand = (
    c.Say
    | c.Approve
    | c.Reject
    | c.EditPlan
    | c.EditCode
    | c.Answer
    | c.Continue
    | c.Run
    | c.Complete
    | c.TakeOffer
    | c.KeepOffer
    | c.Stop
    | c.Pause
    | c.Resume
    | c.Retry
    | c.Skip
    | c.CancelPlan
    | c.DeletePlan
    | c.TakeOver
    | c.EditPath
    | c.Judge
    | c.Remember
    | c.RaiseBudget
    | c.Rename
    | c.Share
    | c.ChooseWorkflow
    | c.Fork
)
PATH_PHASES = ("executing", "awaiting_approval", "awaiting_input")
RUN_CODE = "run_code"  # the tool that runs approved code


def decide_user_command(session: Session, command: UserCommand, meta: CommandMeta) -> SessionEvent:  # noqa: C901, PLR0911, PLR0912
    """The event for a user's command. Raises CommandRefused."""
    match command:
        case c.Say():
            return _say(session, command, meta)
        case c.Approve():
            return reviews.approve(session, command, meta)
        case c.Reject():
            return reviews.reject(session, command, meta)
        case c.EditPlan():
            return reviews.edit_plan(session, command, meta)
        case c.EditCode():
            return reviews.edit_code(session, command, meta)
        case c.Answer():
            return answer(session, command, meta)
        case c.Continue():
            return _continue(session, meta)
        case c.Run():
            return _run(session, command, meta)
        case c.TakeOffer():
            return offers.take_offer(session, command.version, meta)
        case c.KeepOffer():
            return offers.keep_offer(session, command.version, meta)
        case c.Complete():
            return _complete(session, meta)
        case c.Stop():
            return _stop(session, command, meta)
        case c.Pause():
            require(not session.paused and session.phase not in ("resting", "failed"), "There is nothing to pause now.")
            return facts.SessionPaused(**event_meta(session, meta, facts.SessionPaused))
        case c.Resume():
            require(session.paused, "The session is not paused.")
            return facts.SessionResumed(**event_meta(session, meta, facts.SessionResumed))
        case c.Retry():
            require(
                session.phase in ("failed", "resting") and (session.resume_phase is not None or is_unfinished(session)),
                "There is nothing to retry.",
            )
            return facts.SessionRetried(**event_meta(session, meta, facts.SessionRetried))
        case c.Skip():
            return skip(session, command, meta)
        case c.CancelPlan() | c.DeletePlan():
            return _drop_plan(session, command, meta)
        case c.TakeOver():
            return _take_over(session, command, meta)
        case c.EditPath():
            return _edit_path(session, command, meta)
        case c.Judge():
            return _judge(session, command, meta)
        case c.Remember():
            return facts.PolicySet(
                **event_meta(session, meta, facts.PolicySet), tool=command.tool, policy=command.policy
            )
        case c.RaiseBudget():
            return budgets.raise_budget(session, command, meta)
        case c.Rename():
            return facts.SessionRenamed(**event_meta(session, meta, facts.SessionRenamed), title=command.title)
        case c.Share():
            return facts.SessionShared(
                **event_meta(session, meta, facts.SessionShared), user=command.user, role=command.role
            )
        case c.ChooseWorkflow():
            require(session.phase == "resting", "The workflow can be chosen while the session rests.")
            return facts.WorkflowChanged(**event_meta(session, meta, facts.WorkflowChanged), workflow=command.workflow)
        case c.Fork():
            return _fork(session, command, meta)
    assert_never(command)


def _say(session: Session, command: c.Say, meta: CommandMeta) -> SessionEvent:
    if not command.text.strip():
        raise Invalid("The message is empty.")
    if session.question and is_answer(session.question, command):
        return answer(session, c.Answer(text=command.text), meta)
    intent = _intent(session, command)
    if command.brings_plan and session.version:
        raise OutOfTurn("A plan of your own begins a session: in this one, change the plan that is there.")
    return facts.MessageReceived(
        **event_meta(session, meta, facts.MessageReceived),
        brings_plan=command.brings_plan,
        text=command.text,
        intent=intent,
        workflow=command.workflow if intent == "request" else None,
        settings=command.settings if intent == "request" else None,
        knowledge=command.knowledge,
        time_zone=None if command.time_zone == session.time_zone else command.time_zone,
    )


def _intent(session: Session, command: c.Say) -> facts.Intent:
    """How a message counts in the session's phase. At rest, another workflow or other settings make it a request.

    Feedback has a plan or code in review drafted anew; about anything else it is a message like any other.
    """
    if session.question:
        intents: dict[str, facts.Intent] = {"continue": "request", "request": "feedback", "turns": "feedback"}
        return intents.get(session.question.about, "remark")
    if session.phase in SERVICE_OF:
        return "guidance"
    if session.phase in ("awaiting_approval", "waiting"):
        return "feedback" if command.feedback and drafts_at_once(session) else "remark"
    if session.phase == "resting" and session.version:
        as_it_is = command.workflow in (None, session.workflow) and command.settings in (None, session.settings)
        return "remark" if as_it_is else "request"
    return "feedback" if session.is_awaiting_user else "request"


def _continue(session: Session, meta: CommandMeta) -> SessionEvent:
    require(session.phase == "resting" and session.version > 0, "The session has not come to rest yet.")
    return facts.QuestionAsked(
        **event_meta(session, meta, facts.QuestionAsked),
        question_id=f"continue-{session.version + 1}",
        kind="continue",
        text="What would you like to change, or to do next?",
    )


def _run(session: Session, command: c.Run, meta: CommandMeta) -> SessionEvent:
    code = session.code
    if code is None or code.status != "approved" or session.phase not in ("resting", "failed"):
        raise OutOfTurn("Only approved code is run, while the session rests.")
    turn = session.counts.turns + 1
    arguments = {"code_version": code.version, "hash": code.hash, "stdin": command.stdin, "args": list(command.args)}
    action = ActionSpec(id=f"{turn}.1", tool=RUN_CODE, arguments=arguments, description="Run the approved code")
    return _turn_requested(session, "Run the approved code", (action,), meta)


def _complete(session: Session, meta: CommandMeta) -> SessionEvent:
    asked = session.question is not None and session.question.about == "continue" and session.is_awaiting_user
    rests = session.phase == "failed" or (session.phase == "resting" and session.rest_reason != "completed")
    require(asked or rests, "The session can be completed when it rests.")
    return facts.SessionCompleted(**event_meta(session, meta, facts.SessionCompleted))


def _stop(session: Session, command: c.Stop, meta: CommandMeta) -> SessionEvent:
    going_on = session.reply is not None or session.phase not in ("resting", "failed")
    require(going_on, "Nothing is going on: there is nothing to stop.")
    return facts.SessionStopped(**event_meta(session, meta, facts.SessionStopped), reason=command.reason)


def _drop_plan(session: Session, command: c.CancelPlan | c.DeletePlan, meta: CommandMeta) -> SessionEvent:
    if session.plan is None:
        raise OutOfTurn("There is no plan.")
    if isinstance(command, c.DeletePlan):
        require(session.phase not in SERVICE_OF, "The plan is being worked on: stop or cancel it first.")
        return facts.PlanDeleted(**event_meta(session, meta, facts.PlanDeleted), plan_version=session.plan.version)
    over = session.plan.status in ("completed", "cancelled", "failed") and not is_unfinished(session)
    require(not over, f"The plan is {session.plan.status} already.")
    return facts.PlanCancelled(**event_meta(session, meta, facts.PlanCancelled), plan_version=session.plan.version)


def _take_over(session: Session, command: c.TakeOver, meta: CommandMeta) -> SessionEvent:
    require(session.phase == "escalated", "A person takes over when the session is escalated to one.")
    if not command.actions:
        raise Invalid("Name at least one action; to hand the session back, say so in a message.")
    return _turn_requested(session, command.sub_goal, new_actions(session, command.actions), meta)


def _turn_requested(
    session: Session, sub_goal: str, actions: tuple[ActionSpec, ...], meta: CommandMeta
) -> facts.TurnRequested:
    return facts.TurnRequested(
        **event_meta(session, meta, facts.TurnRequested),
        turn=session.counts.turns + 1,
        sub_goal=sub_goal,
        actions=actions,
    )


def _edit_path(session: Session, command: c.EditPath, meta: CommandMeta) -> SessionEvent:
    """Replaces the part of a path that has not started, before it runs or while it does."""
    turn = session.turn
    about = session.question.about if session.question else "action"
    if turn is None or not turn.rules.changeable or session.phase not in PATH_PHASES or about != "action":
        raise OutOfTurn("No path is being walked now.")
    walked = flow_paths.started(turn)
    if command.after != (walked[-1].spec.id if walked else ""):
        raise Stale("The path has gone on since you looked at it. Look at what is left of it and change that.")
    if not command.actions and not walked:
        raise Invalid("The path needs at least one node; to give it up, stop.")
    # the executor sets a node's effect and arguments right before it starts
    rest = tuple(flow_paths.as_action(spec.tool, spec.description) for spec in command.actions)
    specs = tuple(
        with_ruling(session, spec) for spec in flow_paths.with_ids(turn, rest, after_override=bool(command.given))
    )
    return facts.TurnChanged(
        **event_meta(session, meta, facts.TurnChanged), turn=turn.number, actions=specs, overrides=command.given
    )


def _judge(session: Session, command: c.Judge, meta: CommandMeta) -> SessionEvent:
    answered = session.answer.text or (session.rest_reason == "answered" and programmed_plan(session))
    require(session.phase == "resting" and bool(answered), "There is no answer to judge now.")
    if (command.accepted, command.saved) == (session.answer.accepted, session.answer.saved):
        raise AlreadyDone("The answer is judged like that already.")
    if command.saved and not command.accepted:
        raise Invalid("Only an accepted answer is saved.")
    return facts.AnswerJudged(
        **event_meta(session, meta, facts.AnswerJudged), accepted=command.accepted, saved=command.saved
    )


def _fork(session: Session, command: c.Fork, meta: CommandMeta) -> SessionEvent:
    if session.version:
        raise OutOfTurn("A fork begins a new session.")
    return facts.SessionForked(
        **event_meta(session, meta, facts.SessionForked),
        parent_id=command.parent_id,
        parent_version=command.parent_version,
        carried=command.carried,
    )
