"""A session's log, folded message by message with the domain's own functions, and what its actions came to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from chaos.accounts import WorkSpan
from parley.events import SessionEvent, facts
from parley.events.values import Outcome
from shared.domain.attempt_names import idempotency_key
from shared.domain.session import Session
from shared.domain.waves import find
from shared.log import SessionAtPosition, StoredMessage, accept

NOTE = "trial.note"
KEYED = frozenset(
    {
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
    }
)  # writes that know their key
Came = Outcome | facts.ActionUncertain | facts.ActionSkipped


class Step(NamedTuple):
    """One stored message; without an event, `reason` says why it is none."""

    raw: StoredMessage
    event: SessionEvent | None
    reason: str


@dataclass
class Fold:
    """`started`, `outcomes` and `notes` go by the idempotency key of the attempt."""

    session: Session
    steps: list[Step] = field(default_factory=list)
    started: dict[str, str] = field(default_factory=dict)  # the tool
    outcomes: dict[str, Came] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)  # the text that was to be noted
    storing: set[str] = field(default_factory=set)  # of whose result only the beginning is there as yet
    given_up: set[str] = field(default_factory=set)  # told as uncertain when the session was not executing any more
    works: list[WorkSpan] = field(default_factory=list)


def folded(session_id: str, raws: Sequence[StoredMessage]) -> Fold:
    found, loaded = Fold(Session(session_id)), SessionAtPosition(Session(session_id), 0)
    keys: dict[str, str] = {}  # of actions that were started, by their id
    for raw in raws:
        loaded, event, reason = accept(loaded, raw)
        found.steps.append(Step(raw, event, reason))
        _work(found, loaded.session, raw.at)
        before, found.session = found.session, loaded.session
        if event is not None:
            _note(found, keys, event, before)
    return found


def _work(found: Fold, after: Session, at: datetime) -> None:
    """Whose work this message ended, and whose it began."""
    if after.work == found.session.work:
        return
    if found.session.work and found.works:
        found.works[-1] = found.works[-1]._replace(ended=at)
    if after.work:
        found.works.append(WorkSpan(after.work.service, at))


def _note(found: Fold, keys: dict[str, str], event: SessionEvent, before: Session) -> None:
    started = [one.action_id for one in event.actions] if isinstance(event, facts.ActionsStarted) else []
    for action_id in (*event.begins, *started):
        if (action := find(found.session, action_id)) is None:
            continue
        keys[action_id] = idempotency_key(found.session, action)
        found.started[keys[action_id]] = action.spec.tool
        if action.spec.tool == NOTE:
            found.notes[keys[action_id]] = str(action.spec.arguments.get("text", ""))
    for one in event.ended:  # a quiet read that a stop ended: what comes of it is not waited for
        found.started.pop(keys.get(one.id, ""), None)
    match event:
        case facts.ActionsFinished():
            for outcome in (outcome for outcome in event.outcomes if outcome.action_id in keys):
                key = keys[outcome.action_id]
                found.outcomes[key] = outcome
                found.storing |= {key} if outcome.size is not None else set()
        case facts.ResultStored() | facts.ResultLost():
            found.storing.discard(keys.get(event.action_id, ""))
        case facts.ActionUncertain() | facts.ActionSkipped():
            if event.action_id in keys:
                key = keys[event.action_id]
                found.outcomes[key] = event
                found.given_up |= {key} if before.phase != "executing" else set()
        case _:
            pass
