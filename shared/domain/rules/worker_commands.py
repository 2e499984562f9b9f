"""Decides workers' commands: a service may report on its current work, and the outcomes of what it started."""

from collections.abc import Sequence
from typing import assert_never

from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ActionSpec, ToolRule, content_hash
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid, OutOfTurn, require
from shared.domain.kernel.session import Phase, Session
from shared.domain.kernel.state import Action, Turn
from shared.domain.plan import commands as plan_commands
from shared.domain.plan.policy import describe_rulings, stricter_ruling, with_ruling
from shared.domain.rules.event_meta import event_meta, require_own_work
from shared.domain.rules.expiry import expire
from shared.domain.steps import polling, waiting_steps
from shared.domain.steps.for_each import MAX_OPEN_ACTIONS, check_expanded
from shared.domain.steps.plan_steps import GATHER, is_unresolved
from shared.domain.transcript.answers import ask
from shared.domain.transcript.offers import accept_offer, offered
from shared.domain.turn import flow_paths, outcome_commands
from shared.domain.turn.batches import actions_to_start, next_batch, running_actions
from shared.domain.turn.commands import plan_turn, verify_turn

WorkerCommand = (
    c.AnswerRemark
    | c.AcceptOffer
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
    | c.ReportUncertain
    | c.VerifyTurn
    | c.GiveAnswer
    | c.RecordUsage
    | c.Fail
    | c.BeginFor
    | c.Expire
    | c.Wake
    | c.RecordPoll
)

# The fields of a step's action that the executor may change before it starts; arguments only to resolve references.
_RULING: dict[str, object] = {"decision": "proceed", "decision_reason": "", "approval_reason": None}
_RESOLVES = _RULING | {"arguments": {}}
type Rules = Sequence[tuple[Action, ToolRule | None]]


def decide_worker_command(session: Session, command: WorkerCommand, meta: CommandMeta) -> SessionEvent:  # noqa: C901, PLR0911, PLR0912
    """The event for a worker's command. Raises CommandRefused."""
    match command:
        case c.RecordUsage():
            suffix = content_hash(command.model_dump_json())[:16]  # one piece of work may record calls several times
            return facts.UsageRecorded(
                **event_meta(session, meta._replace(usage=command.calls), facts.UsageRecorded, suffix)
            )
        case c.Finish():
            return outcome_commands.finish(session, command, meta)
        case c.ReportUncertain():
            return outcome_commands.report_uncertain(session, command, meta)
        case c.StoreResult() | c.LoseResult():
            return outcome_commands.store_result(session, command, meta)
        case c.Expire():
            return expire(session, command, meta)
        case c.Wake():
            return waiting_steps.wake(session, meta)
        case c.RecordPoll():
            return polling.record_poll(session, command, meta)
        case c.BeginFor():
            require(session.version == 0, "The session exists already.")
            return facts.MessageReceived(
                **event_meta(session, meta, facts.MessageReceived),
                brings_plan=True,
                owner=command.owner,
                via=command.via,
                text=command.text,
                workflow=command.workflow,
                settings=command.settings,
                time_zone=command.time_zone,
            )
        case c.Fail() if session.reply is not None and meta.work == session.reply:
            reason = command.reason.strip().rstrip(".")[:5_000] or "no reason was given"
            text = wording.NOT_ANSWERED.format(reason=reason)
            return facts.RemarkAnswered(**event_meta(session, meta, facts.RemarkAnswered), text=text)
        case c.Fail():
            require_own_work(session, meta)
            return facts.SessionFailed(
                **event_meta(session, meta, facts.SessionFailed),
                phase=session.phase,
                reason=command.reason.strip()[:5_000] or "no reason was given",
                retryable=command.retryable,
                model_reply=command.raw[:20_000],
            )
        case c.AnswerRemark():
            require_own_work(session, meta)
            require(
                meta.work == session.reply or session.phase in ("planning", "coding"), "No message waits for words."
            )
            return facts.RemarkAnswered(**event_meta(session, meta, facts.RemarkAnswered), text=command.text)
        case c.AcceptOffer():
            require_own_work(session, meta)
            return accept_offer(session, command.say, meta)
        case c.DraftPlan():
            _require_draft(session, meta, "planning")
            return offered(session, plan_commands.draft(session, command, meta), meta)
        case c.BeginPlan():
            require_own_work(session, meta, "planning")
            return plan_commands.start_by_setting(session, meta)
        case c.DraftCode():
            return offered(session, _draft_code(session, command, meta), meta)
        case c.VerifyCode():
            return _verify_code(session, command, meta)
        case c.Ask():
            return ask(session, command, meta)
        case c.PlanTurn():
            _require_draft(session, meta, "planning")
            return offered(session, plan_turn(session, command, meta), meta)
        case c.ChangeTurn():
            return _change_turn(session, command, meta)
        case c.Wait():
            require_own_work(session, meta, "executing")
            return _wait(session, command, meta)
        case c.Start():
            return _start(session, command, meta)
        case c.VerifyTurn():
            require_own_work(session, meta, "verifying")
            return verify_turn(session, command, meta)
        case c.GiveAnswer():
            require_own_work(session, meta, "answering")
            return facts.AnswerGiven(**event_meta(session, meta, facts.AnswerGiven), **dict(command))
    assert_never(command)


def _require_draft(session: Session, meta: CommandMeta, phase: Phase) -> None:
    """Raises OutOfTurn unless the worker drafts in this phase, or in reply to a message."""
    if session.reply is None or meta.work != session.reply:
        require_own_work(session, meta, phase)


def _change_turn(session: Session, command: c.ChangeTurn, meta: CommandMeta) -> SessionEvent:
    """Changes the open actions between two actions: another next node, or arguments that are known now."""
    require_own_work(session, meta, "executing")
    require(not running_actions(session), "An action is running: change what comes next when it has ended.")
    turn = session.turn
    if turn is None:
        raise OutOfTurn("No turn is carried out now.")
    if not turn.rules.changeable:
        return _turn_changed(session, turn, _resolved_calls(session, turn, command), command.reason, meta)
    specs = tuple(
        with_ruling(session, spec) for spec in flow_paths.with_ids(turn, command.actions, after_override=False)
    )
    return _turn_changed(session, turn, specs, command.reason, meta)


def _resolved_calls(session: Session, turn: Turn, command: c.ChangeTurn) -> tuple[ActionSpec, ...]:
    """The open steps or calls, with the command's resolved references and denials.

    Raises Invalid if the command changes anything else.
    """
    by_id = {spec.id: spec for spec in command.actions}
    open_specs = [action.spec for action in turn.actions if action.status in flow_paths.OPEN_STATUSES]
    rest: list[ActionSpec] = []
    for spec in open_specs:
        new = by_id.get(spec.id, spec)
        if new.tool == GATHER != spec.tool:
            rest += (with_ruling(session, call) for call in check_expanded(session, spec, by_id))
            continue
        may_differ = _RESOLVES if is_unresolved(session, spec) else _RULING
        if new.model_copy(update=may_differ) != spec.model_copy(update=may_differ):
            raise Invalid(f"{spec.id} would become another step: only the values of its references may be filled in.")
        rest.append(with_ruling(session, new) if spec.id in by_id else spec)
    if unknown := by_id.keys() - {spec.id for spec in rest}:
        raise Invalid(f"{min(unknown)} is not a step that has yet to start.")
    if len(rest) > MAX_OPEN_ACTIONS:
        raise Invalid(f"The plan would have {len(rest)} open calls; the limit is {MAX_OPEN_ACTIONS}.")
    return tuple(rest)


def _turn_changed(
    session: Session, turn: Turn, actions: tuple[ActionSpec, ...], reason: str, meta: CommandMeta
) -> SessionEvent:
    suffix = str(session.version + 1)  # one piece of work may change the turn several times
    return facts.TurnChanged(
        **event_meta(session, meta, facts.TurnChanged, suffix), turn=turn.number, actions=actions, reason=reason
    )


def _draft_code(session: Session, command: c.DraftCode, meta: CommandMeta) -> facts.CodeDrafted:
    _require_draft(session, meta, "coding")
    if session.plan is None:
        raise Invalid("There is no plan to write code for.")
    return facts.CodeDrafted(
        **event_meta(session, meta, facts.CodeDrafted),
        plan_version=session.plan.version,
        **vars(command),
    )


def _verify_code(session: Session, command: c.VerifyCode, meta: CommandMeta) -> SessionEvent:
    require_own_work(session, meta, "verifying")
    if session.code is None or session.turn is not None:
        raise OutOfTurn("There is no code to verify now.")
    return facts.CodeVerified(
        **event_meta(session, meta, facts.CodeVerified),
        code_version=session.code.version,
        **vars(command),
    )


def _wait(session: Session, command: c.Wait, meta: CommandMeta) -> SessionEvent:
    """The steps wait, unless the current rules of what they poll lead to a stricter ruling."""
    event, named = waiting_steps.wait(session, command, meta), {waiting.action_id for waiting in command.actions}
    batch = (action for action in next_batch(session.turn) if action.spec.id in named)
    rules = [(action, command.rules.get(action.spec.id)) for action in batch]
    return _restricted(session, rules, meta) or event


def _restricted(session: Session, rules: Rules, meta: CommandMeta) -> SessionEvent | None:
    """The turn with the actions that these rules treat more strictly than planned; None if there are none."""
    stricter = tuple(spec for action, rule in rules if (spec := stricter_ruling(session, action, rule)))
    if not stricter or session.turn is None:
        return None
    ruled_again = {spec.id: spec for spec in stricter}
    actions = (a for a in session.turn.actions if a.status in flow_paths.OPEN_STATUSES or a.spec.id in ruled_again)
    specs = tuple(ruled_again.get(action.spec.id, action.spec) for action in actions)
    return _turn_changed(session, session.turn, specs, describe_rulings(stricter), meta)


def _start(session: Session, command: c.Start, meta: CommandMeta) -> SessionEvent:
    """Starts the batch, unless its tools' effects or current policies lead to a stricter ruling."""
    require_own_work(session, meta, "executing")
    batch = actions_to_start(session)
    quiet = (action for action in running_actions(session) if action.status == "running")
    rules = [(action, command.tools.get(action.spec.tool)) for action in (*quiet, *batch)]
    if blocked := [action.spec.id for action in batch if is_unresolved(session, action.spec)]:
        raise OutOfTurn(f"{', '.join(blocked)} cannot start before the values of its references are known.")
    if restricted := _restricted(session, rules, meta):
        return restricted
    if waits := [action.spec.id for action in batch if action.spec.waits_for]:
        raise OutOfTurn(f"{', '.join(waits)} is not a call: it waits.")
    if not batch:
        raise OutOfTurn("The batch is running already." if running_actions(session) else "No batch is ready to start.")
    attempts = tuple(ActionAttempt(action_id=action.spec.id, attempt=action.attempt) for action in batch)
    return facts.ActionsStarted(**event_meta(session, meta, facts.ActionsStarted, batch[0].spec.id), actions=attempts)
