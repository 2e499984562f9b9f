"""What a service may report, and when: only on the work it was given, and the outcome of what it started."""

from typing import assert_never

from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ActionSpec, Option, content_hash
from shared.domain import commands as c
from shared.domain import paths, plan_turns, polling, waiting
from shared.domain.commands import By
from shared.domain.errors import Invalid, OutOfTurn, need
from shared.domain.expiry import expire
from shared.domain.for_each import MOST_ACTIONS, check_expanded
from shared.domain.plan_steps import GATHER, step_of, unresolved
from shared.domain.planned_turns import plan_turn, verify_turn
from shared.domain.policy import ruled, ruled_as, stricter
from shared.domain.session import Phase, Session
from shared.domain.stamp import stamp
from shared.domain.state import ActionStatus, Turn
from shared.domain.waves import find, ready, running, to_start
from shared.domain.wording import BUDGET_OPTIONS

WorkerCommand = (
    c.AnswerRemark
    | c.DraftPlan
    | c.BeginPlan
    | c.DraftCode
    | c.VerifyCode
    | c.Ask
    | c.PlanTurn
    | c.ChangeTurn
    | c.Wait
    | c.Start
    | c.Finish
    | c.StoreResult
    | c.LoseResult
    | c.Uncertain
    | c.VerifyTurn
    | c.GiveAnswer
    | c.RecordUsage
    | c.Fail
    | c.BeginFor
    | c.Expire
    | c.Wake
    | c.RecordLook
)


# What the executor may change of a step's action before it begins, and where its references are resolved.
_RULING: dict[str, object] = {"decision": "proceed", "decision_reason": "", "approval_reason": None}
_RESOLVES = _RULING | {"arguments": {}}
ASKERS: dict[str, tuple[Phase, ...]] = {"request": ("planning", "coding"), "action": ("executing",)}


def decide_worker(session: Session, command: WorkerCommand, by: By) -> SessionEvent:  # noqa: C901, PLR0911, PLR0912
    """One line a command."""
    match command:
        case c.RecordUsage():
            suffix = content_hash(command.model_dump_json())[:16]  # a work may record its calls more than once
            return facts.UsageRecorded(**stamp(session, by._replace(usage=command.calls), "usage.recorded", suffix))
        case c.Finish():
            return _finish(session, command, by)
        case c.Uncertain():
            return _uncertain(session, command, by)
        case c.StoreResult() | c.LoseResult():
            return _result(session, command, by)
        case c.Expire():
            return expire(session, command, by)
        case c.Wake():
            return waiting.wake(session, by)
        case c.RecordLook():
            return polling.look(session, command, by)
        case c.BeginFor():
            need(session.version == 0, "The session was begun before.")
            told = command.model_dump(exclude={"settings"})
            return facts.MessageReceived(
                **stamp(session, by, "message.received") | {"needs": 2},
                brings_plan=True,
                settings=command.settings,
                **told,
            )
        case c.Fail():
            _my_turn(session, by)
            return facts.SessionFailed(
                **stamp(session, by, "session.failed"),
                phase=session.phase,
                reason=command.reason.strip()[:5_000] or "no reason was given",
                retryable=command.retryable,
                model_reply=command.raw[:20_000],
            )
        case c.AnswerRemark():
            _my_turn(session, by)
            need(session.words.remark is not None, "No remark waits for an answer.")
            return facts.RemarkAnswered(**stamp(session, by, "remark.answered"), text=command.text)
        case c.DraftPlan():
            _my_turn(session, by, "planning")
            return plan_turns.draft(session, command, by)
        case c.BeginPlan():
            _my_turn(session, by, "planning")
            return plan_turns.begin_by_setting(session, by)
        case c.DraftCode():
            return _draft_code(session, command, by)
        case c.VerifyCode():
            return _verify_code(session, command, by)
        case c.Ask():
            return _ask(session, command, by)
        case c.PlanTurn():
            _my_turn(session, by, "planning")
            return plan_turn(session, command, by)
        case c.ChangeTurn():
            return _change_turn(session, command, by)
        case c.Wait():
            _my_turn(session, by, "executing")
            return waiting.wait(session, command, by)
        case c.Start():
            return _start(session, command, by)
        case c.VerifyTurn():
            _my_turn(session, by, "verifying")
            return verify_turn(session, command, by)
        case c.GiveAnswer():
            _my_turn(session, by, "answering")
            return facts.AnswerGiven(**stamp(session, by, "answer.given"), **dict(command))
    assert_never(command)


def _my_turn(session: Session, by: By, *phases: Phase) -> None:
    """The turn check: the work named is the session's, and of this kind."""
    if by.work is None or session.work != by.work:
        raise OutOfTurn("The work is no longer yours: it was stopped, done, or given to somebody else.")
    if phases and session.phase not in phases:
        raise OutOfTurn(f"This is not done while the session is {session.phase}.")


def _change_turn(session: Session, command: c.ChangeTurn, by: By) -> SessionEvent:
    """Between two nodes: where the next one is another one, or runs with what is now known."""
    _my_turn(session, by, "executing")
    need(not running(session), "An action is running: what comes next is changed between actions.")
    turn = session.turn
    if turn and turn.rules.by_step:
        return _turn_changed(session, turn, _resolved(session, turn, command), command.reason, by)
    if turn is None or not turn.rules.changeable:
        raise OutOfTurn("No path is being walked now.")
    specs = tuple(ruled(session, spec) for spec in paths.numbered(turn, command.actions, given=False))
    return _turn_changed(session, turn, specs, command.reason, by)


def _resolved(session: Session, turn: Turn, command: c.ChangeTurn) -> tuple[ActionSpec, ...]:
    """The steps that have not begun, those of the command with what their references stand for, or denied.

    Raises Invalid for anything else that would be another.
    """
    given = {spec.id: spec for spec in command.actions}
    left = [action.spec for action in turn.actions if action.status in paths.OPEN]
    rest: list[ActionSpec] = []
    for spec in left:
        new = given.get(spec.id, spec)
        if new.tool == GATHER != spec.tool:
            rest += (ruled(session, one) for one in check_expanded(session, spec, given))
            continue
        may_differ = _RESOLVES if unresolved(session, spec) else _RULING
        if new.model_copy(update=may_differ) != spec.model_copy(update=may_differ):
            raise Invalid(f"{spec.id} would be another step: only what its references stand for may come in.")
        rest.append(ruled(session, new) if spec.id in given else spec)
    if foreign := given.keys() - {spec.id for spec in rest}:
        raise Invalid(f"{min(foreign)} is no step that is still to begin.")
    if len(rest) > MOST_ACTIONS:
        raise Invalid(f"The plan would have {len(rest)} calls to come, and may have {MOST_ACTIONS}.")
    return tuple(rest)


def _turn_changed(session: Session, turn: Turn, actions: tuple[ActionSpec, ...], reason: str, by: By) -> SessionEvent:
    envelope = stamp(session, by, "turn.changed", str(session.version + 1))  # one work may change it several times
    return facts.TurnChanged(**envelope, turn=turn.number, actions=actions, reason=reason)


def _draft_code(session: Session, command: c.DraftCode, by: By) -> SessionEvent:
    _my_turn(session, by, "coding")
    if session.plan is None:
        raise Invalid("There is no plan to write code for.")
    return facts.CodeDrafted(**stamp(session, by, "code.drafted"), plan_version=session.plan.version, **dict(command))


def _verify_code(session: Session, command: c.VerifyCode, by: By) -> SessionEvent:
    _my_turn(session, by, "verifying")
    if session.code is None or session.turn is not None:
        raise OutOfTurn("There is no code to verify now.")
    return facts.CodeVerified(**stamp(session, by, "code.verified"), code_version=session.code.version, **dict(command))


def _ask(session: Session, command: c.Ask, by: By) -> SessionEvent:
    """A draft's question, the budget's, or one that an action of the wave is: asked before anything of it starts."""
    _my_turn(session, by, *ASKERS.get(command.about, ()))
    need(command.about in ("budget", *ASKERS), f"A service does not ask about “{command.about}”.")
    need(not running(session), "Actions are running: ask when they have ended.")
    action_id = f"{command.about}-{session.version + 1}"
    if command.about == "action":
        if command.action_id not in {action.spec.id for action in ready(session.turn)}:
            raise Invalid(f"Action {command.action_id} is not one that could run now.")
        action_id = command.action_id or ""
        asks = any(a.spec.waits_for == "person" for a in ready(session.turn) if a.spec.id == action_id)
        if step_of(session, action_id) and not asks:
            raise Invalid(f"Step {action_id} asks nobody.")
    own = tuple(Option(key=str(number), label=label) for number, label in enumerate(command.options, 1))
    options = BUDGET_OPTIONS if command.about == "budget" else own
    return facts.QuestionAsked(
        **stamp(session, by, "question.asked"),
        question_id=action_id,
        kind=command.about,
        text=command.text,
        options=options,
        form=command.form,
    )


def _start(session: Session, command: c.Start, by: By) -> SessionEvent:
    """The wave starts, unless its tools' own effects, or policies that hold by now, rule some of it more strictly."""
    _my_turn(session, by, "executing")
    wave = to_start(session)
    quiet = (action for action in running(session) if action.status == "running")
    ruled_now = (stricter(session, action, command.tools.get(action.spec.tool)) for action in (*quiet, *wave))
    anew = tuple(spec for spec in ruled_now if spec)
    if anew and session.turn:
        ruled_again = {spec.id: spec for spec in anew}
        actions = (a for a in session.turn.actions if a.status in paths.OPEN or a.spec.id in ruled_again)
        specs = tuple(ruled_again.get(action.spec.id, action.spec) for action in actions)
        return _turn_changed(session, session.turn, specs, ruled_as(anew), by)
    if blocked := [action.spec.id for action in wave if unresolved(session, action.spec)]:
        raise OutOfTurn(f"{', '.join(blocked)} cannot start before what its references stand for is known.")
    if waits := [action.spec.id for action in wave if action.spec.waits_for]:
        raise OutOfTurn(f"{', '.join(waits)} is no call: it waits.")
    if not wave:
        raise OutOfTurn("The wave is running already." if running(session) else "No wave is ready to start.")
    attempts = tuple(ActionAttempt(action_id=action.spec.id, attempt=action.attempt) for action in wave)
    return facts.ActionsStarted(**stamp(session, by, "actions.started", wave[0].spec.id), actions=attempts)


def _finish(session: Session, command: c.Finish, by: By) -> SessionEvent:
    """Accepted in any phase: what was started is always recorded, also after a stop, also when it was in doubt."""
    refusals = [_not_awaited(session, one.action_id, one.attempt) for one in command.outcomes]
    awaited = tuple(one for one, refusal in zip(command.outcomes, refusals, strict=True) if not refusal)
    if not awaited:
        raise OutOfTurn(refusals[0] if refusals else "There is no outcome to record.")
    envelope = stamp(session, by, "actions.finished", awaited[0].action_id)
    needs = {"needs": 2} if any(one.files for one in awaited) else {}
    return facts.ActionsFinished(**envelope, **needs, outcomes=awaited)


def _uncertain(session: Session, command: c.Uncertain, by: By) -> SessionEvent:
    if refusal := _not_awaited(session, command.action_id, command.attempt, "started"):
        raise OutOfTurn(refusal)
    return facts.ActionUncertain(**stamp(session, by, "action.uncertain", command.action_id), **dict(command))


def _result(session: Session, command: c.StoreResult | c.LoseResult, by: By) -> SessionEvent:
    """What becomes of a result whose outcome has only its beginning: accepted in any phase, once."""
    action = find(session, command.action_id)
    if action is None or not action.storing or action.attempt != command.attempt:
        raise OutOfTurn(f"No result of action {command.action_id} is being stored.")
    if isinstance(command, c.LoseResult):
        return facts.ResultLost(**stamp(session, by, "result.lost", command.action_id), **dict(command))
    return facts.ResultStored(**stamp(session, by, "result.stored", command.action_id), **dict(command))


def _not_awaited(session: Session, action_id: str, attempt: int, *statuses: ActionStatus) -> str:
    """Why nobody waits for what this attempt came to; "" where somebody does."""
    action = find(session, action_id)
    if action is None or action.status not in (statuses or ("running", "started", "uncertain")):
        return f"Action {action_id} is not running."
    if action.attempt != attempt:
        return f"Action {action_id} has been started again since."
    return ""
