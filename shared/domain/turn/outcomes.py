"""How events change started actions: outcomes, uncertain outcomes, and results that are stored separately."""

from collections.abc import Callable, Mapping
from functools import partial

from parley.events import facts
from parley.events.values import Outcome
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.kernel.commands import Work
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.turn import files
from shared.domain.turn.batches import change_actions, running_actions

OutcomeEvent = (
    facts.ActionsFinished | facts.ActionSkipped | facts.ActionUncertain | facts.ResultStored | facts.ResultLost
)
LEFT = "its executor ended before it could tell what came of it"
RESULT_LEFT = "Only its beginning is here: the executor ended before all of it was stored."


def action_changes(event: OutcomeEvent) -> Mapping[str, Callable[[Action], Action]]:
    """By action id, the change that this event makes to the action."""
    match event:
        case facts.ActionsFinished():
            return {outcome.action_id: partial(_finished, outcome) for outcome in event.outcomes}
        case facts.ActionSkipped():
            return {event.action_id: partial(_skipped, event)} | {
                dependent: partial(replace, status="skipped", error=wording.SKIPPED_WITH, end_reason=None)
                for dependent in event.dependents
            }
        case facts.ActionUncertain():
            return {event.action_id: partial(_uncertain, event.reason)}
        case facts.ResultStored():
            return {event.action_id: lambda action: replace(action, artefact=event.artefact, storing=False)}
        case facts.ResultLost():
            return {event.action_id: lambda action: replace(action, error=action.error or event.reason, storing=False)}


def apply_outcomes(session: Session, event: OutcomeEvent) -> Session:
    for action_id, how in action_changes(event).items():
        session = change_actions(session, [action_id], how)
    if isinstance(event, facts.ActionsFinished) and any(outcome.files for outcome in event.outcomes):
        session = replace(session, files=files.apply_file_changes(session.files, event.outcomes))
    return session


def _finished(outcome: Outcome, action: Action) -> Action:
    return replace(
        action,
        status="finished" if outcome.ok else "failed",
        result=outcome.result,
        error=outcome.error,
        cause=outcome.cause,
        seconds=outcome.seconds,
        storing=outcome.size is not None,
        confirmed=outcome.confirmed,
        violation=outcome.violation,
        handed_over=outcome.handed_over,
    )


def _skipped(event: facts.ActionSkipped, action: Action) -> Action:
    skipped = replace(action, status="skipped", error=event.reason, end_reason=None)
    return skipped if event.output is None else replace(skipped, result=event.output, artefact=None, given=True)


def _uncertain(reason: str, action: Action) -> Action:
    """An uncertain read has changed nothing, so it counts as interrupted."""
    if action.spec.effect == "read":
        return replace(action, status="failed", error=reason, cause="stopped")
    return replace(action, status="uncertain", error=reason)


def close_abandoned(
    session: Session, work: Work, *, by_executor: bool = False
) -> tuple[c.ReportUncertain | c.LoseResult | c.Finish, ...]:
    """Commands that close the actions which this work started and left open when its worker ended.

    While the session is executing, the next worker takes up the actions of the turn. If the session failed, its reason
    is theirs; only the executor may then end reads, which have changed nothing.
    """
    mine = () if session.phase == "executing" else running_actions(session)
    failure = session.failure if session.phase == "failed" else None
    open_actions = [a for a in (*mine, *session.left_running) if a.is_under_way and a.began == work.version]
    return tuple(_closed(action, failure.reason if failure else "", by_executor=by_executor) for action in open_actions)


def _closed(action: Action, failed: str, *, by_executor: bool) -> c.ReportUncertain | c.LoseResult | c.Finish:
    attempt = {"action_id": action.spec.id, "attempt": action.attempt}
    if action.storing:
        return c.LoseResult.model_validate(attempt | {"reason": RESULT_LEFT})
    if failed and by_executor and action.spec.effect == "read":  # `stopped`: a retry runs it again
        return c.Finish(
            outcomes=(Outcome.model_validate(attempt | {"ok": False, "error": failed, "cause": "stopped"}),)
        )
    return c.ReportUncertain.model_validate(attempt | {"reason": failed or LEFT})
