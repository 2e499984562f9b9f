"""What a service may report, and when: only on the work it was given, and the outcome of what it started."""

from typing import assert_never

from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ActionSpec, Option, content_hash
from shared.domain import commands as c
from shared.domain import paths, plan_turns, polling, waiting
from shared.domain.commands import CommandMeta
from shared.domain.errors import Invalid, OutOfTurn, need
from shared.domain.event_meta import event_meta
from shared.domain.expiry import expire
from shared.domain.for_each import MOST_ACTIONS, check_expanded
from shared.domain.plan_steps import GATHER, step_of, unresolved
from shared.domain.planned_turns import plan_turn, verify_turn
from shared.domain.policy import ruled, ruled_as, stricter
from shared.domain.session import Phase, Session
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


def decide_worker(session: Session, command: WorkerCommand, meta: CommandMeta) -> SessionEvent:  # noqa: C901, PLR0911, PLR0912
    """One line a command."""
    match command:
        case c.RecordUsage():
            suffix = content_hash(command.model_dump_json())[:16]  # a work may record its calls more than once
            return facts.UsageRecorded(
                **event_meta(session, meta._replace(usage=command.calls), facts.UsageRecorded, suffix)
            )
        case c.Finish():
            return _finish(session, command, meta)
        case c.Uncertain():
            return _uncertain(session, command, meta)
        case c.StoreResult() | c.LoseResult():
            return _result(session, command, meta)
        case c.Expire():
            return expire(session, command, meta)
        case c.Wake():
            return waiting.wake(session, meta)
        case c.RecordLook():
            return polling.look(session, command, meta)
        case c.BeginFor():
            need(session.version == 0, "The session was begun before.")
            return facts.MessageReceived(
                **event_meta(session, meta, facts.MessageReceived, needs=2),
                brings_plan=True,
                owner=command.owner,
                via=command.via,
                text=command.text,
                workflow=command.workflow,
                settings=command.settings,
            )
        case c.Fail():
            _my_turn(session, meta)
            return facts.SessionFailed(
                **event_meta(session, meta, facts.SessionFailed),
                phase=session.phase,
                reason=command.reason.strip()[:5_000] or "no reason was given",
                retryable=command.retryable,
                model_reply=command.raw[:20_000],
            )
        case c.AnswerRemark():
            _my_turn(session, meta)
            need(session.words.remark is not None, "No remark waits for an answer.")
            return facts.RemarkAnswered(**event_meta(session, meta, facts.RemarkAnswered), text=command.text)
        case c.DraftPlan():
            _my_turn(session, meta, "planning")
            return plan_turns.draft(session, command, meta)
        case c.BeginPlan():
            _my_turn(session, meta, "planning")
            return plan_turns.begin_by_setting(session, meta)
        case c.DraftCode():
            return _draft_code(session, command, meta)
        case c.VerifyCode():
            return _verify_code(session, command, meta)
        case c.Ask():
            return _ask(session, command, meta)
        case c.PlanTurn():
            _my_turn(session, meta, "planning")
            return plan_turn(session, command, meta)
        case c.ChangeTurn():
            return _change_turn(session, command, meta)
        case c.Wait():
            _my_turn(session, meta, "executing")
            return waiting.wait(session, command, meta)
        case c.Start():
            return _start(session, command, meta)
        case c.VerifyTurn():
            _my_turn(session, meta, "verifying")
            return verify_turn(session, command, meta)
        case c.GiveAnswer():
            _my_turn(session, meta, "answering")
            return facts.AnswerGiven(
                **event_meta(session, meta, facts.AnswerGiven),
                text=command.text,
                confidence=command.confidence,
                evidence=command.evidence,
            )
    assert_never(command)


def _my_turn(session: Session, meta: CommandMeta, *phases: Phase) -> None:
    """The turn check: the work named is the session's, and of this kind."""
    if meta.work is None or session.work != meta.work:
        raise OutOfTurn("The work is no longer yours: it was stopped, done, or given to somebody else.")
    if phases and session.phase not in phases:
        raise OutOfTurn(f"This is not done while the session is {session.phase}.")


def _change_turn(session: Session, command: c.ChangeTurn, meta: CommandMeta) -> SessionEvent:
    """Between two nodes: where the next one is another one, or runs with what is now known."""
    _my_turn(session, meta, "executing")
    need(not running(session), "An action is running: what comes next is changed between actions.")
    turn = session.turn
    if turn and turn.rules.by_step:
        return _turn_changed(session, turn, _resolved(session, turn, command), command.reason, meta)
    if turn is None or not turn.rules.changeable:
        raise OutOfTurn("No path is being walked now.")
    specs = tuple(ruled(session, spec) for spec in paths.numbered(turn, command.actions, given=False))
    return _turn_changed(session, turn, specs, command.reason, meta)


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


def _turn_changed(
    session: Session, turn: Turn, actions: tuple[ActionSpec, ...], reason: str, meta: CommandMeta
) -> SessionEvent:
    suffix = str(session.version + 1)  # one piece of work may change the turn several times
    return facts.TurnChanged(
        **event_meta(session, meta, facts.TurnChanged, suffix), turn=turn.number, actions=actions, reason=reason
    )


def _draft_code(session: Session, command: c.DraftCode, meta: CommandMeta) -> SessionEvent:
    _my_turn(session, meta, "coding")
    if session.plan is None:
        raise Invalid("There is no plan to write code for.")
    return facts.CodeDrafted(
        **event_meta(session, meta, facts.CodeDrafted),
        plan_version=session.plan.version,
        code=command.code,
        explanation=command.explanation,
    )


def _verify_code(session: Session, command: c.VerifyCode, meta: CommandMeta) -> SessionEvent:
    _my_turn(session, meta, "verifying")
    if session.code is None or session.turn is not None:
        raise OutOfTurn("There is no code to verify now.")
    return facts.CodeVerified(
        **event_meta(session, meta, facts.CodeVerified),
        code_version=session.code.version,
        checks=command.checks,
        tests=command.tests,
    )


def _ask(session: Session, command: c.Ask, meta: CommandMeta) -> SessionEvent:
    """A draft's question, the budget's, or one that an action of the wave is: asked before anything of it starts."""
    _my_turn(session, meta, *ASKERS.get(command.about, ()))
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
        **event_meta(session, meta, facts.QuestionAsked),
        question_id=action_id,
        kind=command.about,
        text=command.text,
        options=options,
        form=command.form,
    )


def _start(session: Session, command: c.Start, meta: CommandMeta) -> SessionEvent:
    """The wave starts, unless its tools' own effects, or policies that hold by now, rule some of it more strictly."""
    _my_turn(session, meta, "executing")
    wave = to_start(session)
    quiet = (action for action in running(session) if action.status == "running")
    ruled_now = (stricter(session, action, command.tools.get(action.spec.tool)) for action in (*quiet, *wave))
    anew = tuple(spec for spec in ruled_now if spec)
    if anew and session.turn:
        ruled_again = {spec.id: spec for spec in anew}
        actions = (a for a in session.turn.actions if a.status in paths.OPEN or a.spec.id in ruled_again)
        specs = tuple(ruled_again.get(action.spec.id, action.spec) for action in actions)
        return _turn_changed(session, session.turn, specs, ruled_as(anew), meta)
    if blocked := [action.spec.id for action in wave if unresolved(session, action.spec)]:
        raise OutOfTurn(f"{', '.join(blocked)} cannot start before what its references stand for is known.")
    if waits := [action.spec.id for action in wave if action.spec.waits_for]:
        raise OutOfTurn(f"{', '.join(waits)} is no call: it waits.")
    if not wave:
        raise OutOfTurn("The wave is running already." if running(session) else "No wave is ready to start.")
    attempts = tuple(ActionAttempt(action_id=action.spec.id, attempt=action.attempt) for action in wave)
    return facts.ActionsStarted(**event_meta(session, meta, facts.ActionsStarted, wave[0].spec.id), actions=attempts)


def _finish(session: Session, command: c.Finish, meta: CommandMeta) -> SessionEvent:
    """Accepted in any phase: what was started is always recorded, also after a stop, also when it was in doubt."""
    refusals = [_not_awaited(session, one.action_id, one.attempt) for one in command.outcomes]
    awaited = tuple(one for one, refusal in zip(command.outcomes, refusals, strict=True) if not refusal)
    if not awaited:
        raise OutOfTurn(refusals[0] if refusals else "There is no outcome to record.")
    needs = 2 if any(outcome.files for outcome in awaited) else 1
    return facts.ActionsFinished(
        **event_meta(session, meta, facts.ActionsFinished, awaited[0].action_id, needs=needs), outcomes=awaited
    )


def _uncertain(session: Session, command: c.Uncertain, meta: CommandMeta) -> SessionEvent:
    if refusal := _not_awaited(session, command.action_id, command.attempt, "started"):
        raise OutOfTurn(refusal)
    return facts.ActionUncertain(
        **event_meta(session, meta, facts.ActionUncertain, command.action_id),
        action_id=command.action_id,
        attempt=command.attempt,
        reason=command.reason,
    )


def _result(session: Session, command: c.StoreResult | c.LoseResult, meta: CommandMeta) -> SessionEvent:
    """What becomes of a result whose outcome has only its beginning: accepted in any phase, once."""
    action = find(session, command.action_id)
    if action is None or not action.storing or action.attempt != command.attempt:
        raise OutOfTurn(f"No result of action {command.action_id} is being stored.")
    if isinstance(command, c.LoseResult):
        return facts.ResultLost(
            **event_meta(session, meta, facts.ResultLost, command.action_id),
            action_id=command.action_id,
            attempt=command.attempt,
            reason=command.reason,
        )
    return facts.ResultStored(
        **event_meta(session, meta, facts.ResultStored, command.action_id),
        action_id=command.action_id,
        attempt=command.attempt,
        artefact=command.artefact,
    )


def _not_awaited(session: Session, action_id: str, attempt: int, *statuses: ActionStatus) -> str:
    """Why nobody waits for what this attempt came to; "" where somebody does."""
    action = find(session, action_id)
    if action is None or action.status not in (statuses or ("running", "started", "uncertain")):
        return f"Action {action_id} is not running."
    if action.attempt != attempt:
        return f"Action {action_id} has been started again since."
    return ""
