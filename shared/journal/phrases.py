"""Labels and tones of event codes in the journal; the texts are in parley/protocol/words."""

from collections.abc import Mapping

from parley.events.values import Status
from parley.protocol.journal import ActionState, Tone
from parley.protocol.words import ACTION_STATES, JOURNAL, REASONS, WORK

ACTION_TONES: Mapping[str, Tone] = {
    "planned": "plain",
    "approved": "plain",
    "denied": "plain",
    "started": "work",
    "asked": "wait",
    "waiting": "wait",
    "finished": "good",
    "failed": "bad",
    "skipped": "plain",
    "uncertain": "wait",
    "dropped": "plain",
}
VERDICT_TONES: Mapping[Status, Tone] = {
    "success": "good",
    "partial": "wait",
    "failure": "bad",
    "not_shown": "plain",
    "bad_input": "good",
    "missing_here": "wait",
}


def state_label(state: ActionState) -> str:
    return ACTION_STATES.get(state, state)


def polling_text(every: int, polls: int) -> str:
    """A polling step's interval and number of recorded polls."""
    return WORK["polls_changed" if polls else "polls"].format(every=every, polls=polls)


def numbered_title(noun: str, number: int) -> str:
    """“Plan 3”; without the number where the event does not say it. `noun` is a key of JOURNAL."""
    return JOURNAL[noun].format(number=number or "").strip()


def waiting_text(approval_reason: str | None) -> str:
    """What an action that has not started waits for."""
    if approval_reason is None:
        return JOURNAL["waits"]
    return JOURNAL["approval_needed"].format(reason=REASONS.get(approval_reason, approval_reason))


def confidence_text(confidence: float) -> str:
    """The confidence in words; "" for 0: such an answer says itself what is missing."""
    if not confidence:
        return ""
    return JOURNAL["confidence"].format(percent=round(confidence * 100))
