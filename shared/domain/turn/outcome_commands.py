"""Decides the recording of outcomes: a service may report the outcomes of its started actions, in any phase."""

from parley.events import SessionEvent, facts
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import ActionStatus
from shared.domain.rules.event_meta import event_meta
from shared.domain.rules.service_event_checks import check_outcome, check_stored_result

STARTED: frozenset[ActionStatus] = frozenset({"started"})


def finish(session: Session, command: c.Finish, meta: CommandMeta) -> SessionEvent:
    """Records outcomes in any phase: also after a stop, and of uncertain actions."""
    refusals = [check_outcome(session, outcome) for outcome in command.outcomes]
    awaited = tuple(outcome for outcome, refusal in zip(command.outcomes, refusals, strict=True) if not refusal)
    if not awaited:
        raise OutOfTurn(refusals[0] if refusals else "There is no outcome to record.")
    return facts.ActionsFinished(
        **event_meta(session, meta, facts.ActionsFinished, awaited[0].action_id), outcomes=awaited
    )


def report_uncertain(session: Session, command: c.ReportUncertain, meta: CommandMeta) -> SessionEvent:
    if refusal := check_outcome(session, command, STARTED):
        raise OutOfTurn(refusal)
    return facts.ActionUncertain(
        **event_meta(session, meta, facts.ActionUncertain, command.action_id),
        action_id=command.action_id,
        attempt=command.attempt,
        reason=command.reason,
    )


def store_result(session: Session, command: c.StoreResult | c.LoseResult, meta: CommandMeta) -> SessionEvent:
    """Records once, in any phase, whether the full result was stored or lost."""
    if refusal := check_stored_result(session, command):
        raise OutOfTurn(refusal)
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
