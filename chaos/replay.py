"""Replays a session's log message by message with the domain's own functions, and collects its actions' outcomes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from chaos.conversation import Conversation
from chaos.evidence import Evidence
from chaos.model_usage import WorkSpan
from parley.events import SessionEvent, facts
from parley.events.values import Outcome
from shared.domain.kernel.commands import Work
from shared.domain.kernel.session import Session
from shared.domain.turn.attempt_names import idempotency_key
from shared.domain.turn.batches import find_action
from shared.log import SessionAtPosition, StoredMessage, accept

NOTE_TOOL = "trial.note"
LOST_WORK = "lost the work"  # part of the reason that plan_store gives
ActionOutcome = Outcome | facts.ActionUncertain | facts.ActionSkipped


class ReplayedMessage(NamedTuple):
    """One stored message. If it is not an event, `reason` says why."""

    raw: StoredMessage
    event: SessionEvent | None
    reason: str


@dataclass
class ReplayedSession:
    """A session, and its actions by the idempotency keys of their attempts.

    A step whose outcome is uncertain keeps its key in the next version of its plan, so a key may be started again.
    """

    session: Session
    messages: list[ReplayedMessage] = field(default_factory=list)
    started: dict[str, str] = field(default_factory=dict)  # the tool
    outcomes: dict[str, ActionOutcome] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)  # the text to note
    uncertain_runs: Counter[str] = field(default_factory=Counter)  # how often a key was started again
    awaiting_result: set[str] = field(default_factory=set)  # large results that are not stored completely yet
    uncertain_when_idle: set[str] = field(
        default_factory=set
    )  # reported as uncertain after the session had stopped executing
    work_spans: dict[Work, WorkSpan] = field(default_factory=dict)
    conversation: Conversation = field(default_factory=Conversation)


class ReplayedEvidence(NamedTuple):
    """The evidence, with every session's log replayed."""

    evidence: Evidence
    sessions: dict[str, ReplayedSession]
    grace: float


def replay(session_id: str, raws: Sequence[StoredMessage]) -> ReplayedSession:
    replayed, loaded = ReplayedSession(Session(session_id)), SessionAtPosition(Session(session_id), 0)
    keys: dict[str, str] = {}  # of actions that were started, by their id
    for raw in raws:
        loaded, event, reason = accept(loaded, raw)
        replayed.messages.append(ReplayedMessage(raw, event, reason))
        _record_work(replayed, loaded.session, raw.at)
        before, replayed.session = replayed.session, loaded.session
        if event is not None:
            replayed.conversation.add(event, loaded.session)
            _record_actions(replayed, keys, event, before)
    return replayed


def _record_work(replayed: ReplayedSession, after: Session, at: datetime) -> None:
    """Close and open work spans, if this message changed who is at work."""
    before = replayed.session.works
    for work in before:
        if work not in after.works and work in replayed.work_spans:
            replayed.work_spans[work] = replayed.work_spans[work]._replace(ended=at)
    replayed.work_spans |= {work: WorkSpan(work.service, at) for work in after.works if work not in before}


def _record_actions(replayed: ReplayedSession, keys: dict[str, str], event: SessionEvent, before: Session) -> None:
    _record_starts(replayed, keys, event)
    for ended in event.ended:  # actions that end without an outcome, such as a read that a stop cancelled
        replayed.started.pop(keys.get(ended.id, ""), None)
    match event:
        case facts.ActionsFinished():
            for outcome in (outcome for outcome in event.outcomes if outcome.action_id in keys):
                key = keys[outcome.action_id]
                replayed.outcomes[key] = outcome
                if outcome.size is not None:  # its result is large, and is stored apart
                    replayed.awaiting_result.add(key)
        case facts.ResultStored() | facts.ResultLost():
            replayed.awaiting_result.discard(keys.get(event.action_id, ""))
        case facts.ActionUncertain() if event.action_id in keys:
            replayed.outcomes[keys[event.action_id]] = event
            if before.phase != "executing":
                replayed.uncertain_when_idle.add(keys[event.action_id])
        case facts.ActionSkipped() if event.action_id in keys:
            replayed.outcomes.setdefault(keys[event.action_id], event)  # what began before is no less uncertain
        case _:
            pass


def _record_starts(replayed: ReplayedSession, keys: dict[str, str], event: SessionEvent) -> None:
    """Record what the event starts: `begins` has the reads that start without an event of their own."""
    started = [action.action_id for action in event.actions] if isinstance(event, facts.ActionsStarted) else []
    for action_id in (*event.begins, *started):
        if (action := find_action(replayed.session, action_id)) is None:
            continue
        keys[action_id] = key = idempotency_key(replayed.session, action)
        replayed.started[key] = action.spec.tool
        if isinstance(replayed.outcomes.get(key), facts.ActionUncertain):
            del replayed.outcomes[key]
            replayed.uncertain_runs[key] += 1
        if action.spec.tool == NOTE_TOOL:
            replayed.notes[key] = str(action.spec.arguments.get("text", ""))
