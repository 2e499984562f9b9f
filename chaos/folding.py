"""A session's log, folded message by message with the domain's own functions, and what its actions came to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shared.domain.session import Session
from shared.domain.waves import find
from shared.events import SessionEvent, facts
from shared.log import Loaded, Raw, accept

NOTE = "trial.note"
Logs = Mapping[str, Sequence[Raw]]
Outcome = facts.ActionFinished | facts.ActionUncertain | facts.ActionSkipped


class Step(NamedTuple):
    """One stored message; without an event, `reason` says why it is none."""

    raw: Raw
    event: SessionEvent | None
    reason: str


@dataclass
class Fold:
    """`started`, `outcomes` and `notes` go by the action's key: `<session>/<turn>/<action>`."""

    session: Session
    steps: list[Step] = field(default_factory=list)
    started: dict[str, str] = field(default_factory=dict)  # the tool
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)  # the text that was to be noted


def folded(session_id: str, raws: Sequence[Raw]) -> Fold:
    found, loaded = Fold(Session(session_id)), Loaded(Session(session_id), 0)
    keys: dict[str, str] = {}  # of actions that were started, by their id
    for raw in raws:
        loaded, event, reason = accept(loaded, raw)
        found.steps.append(Step(raw, event, reason))
        found.session = loaded.session
        if event is not None:
            _note(found, keys, event)
    return found


def _note(found: Fold, keys: dict[str, str], event: SessionEvent) -> None:
    match event:
        case facts.ActionsStarted():
            for action_id in event.action_ids:
                action, turn = find(found.session, action_id), found.session.turn
                if action is None or turn is None:
                    continue
                keys[action_id] = f"{found.session.id}/{turn.number}/{action_id}"
                found.started[keys[action_id]] = action.spec.tool
                if action.spec.tool == NOTE:
                    found.notes[keys[action_id]] = str(action.spec.arguments.get("text", ""))
        case facts.ActionFinished() | facts.ActionUncertain() | facts.ActionSkipped():
            if key := keys.get(event.action_id):
                found.outcomes[key] = event
        case _:
            pass
