"""How the journal says and colours the codes of the log; the words themselves are in parley/protocol/words."""

from collections.abc import Mapping

from parley.events.values import Status
from parley.protocol.journal import ActionState, Tone
from parley.protocol.words import ACTION_STATES, JOURNAL, REASONS, WORK

ACTION_TONES: Mapping[ActionState, Tone] = {
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
VERDICT_TONES: Mapping[Status, Tone] = {"success": "good", "partial": "wait", "failure": "bad"}


def word_of(state: ActionState) -> str:
    return ACTION_STATES.get(state, state)


def looking(every: int, looks: int) -> str:
    """How a step polls: how often, and how many looks are recorded."""
    return WORK["looking" if looks else "looks"].format(every=every, looks=looks)


def title(noun: str, number: int) -> str:
    """“Plan 3”; without its number where an older release has not told it. `noun` is a name of JOURNAL."""
    return JOURNAL[noun].format(number=number or "").strip()


def waiting(approval_reason: str | None) -> str:
    """What an action that has not begun waits for."""
    if approval_reason is None:
        return JOURNAL["waits"]
    return JOURNAL["approval_needed"].format(reason=REASONS.get(approval_reason, approval_reason))


def confidence_text(confidence: float) -> str:
    """ "" for none at all: the answer itself says what is missing."""
    if not confidence:
        return ""
    return JOURNAL["confidence"].format(percent=round(confidence * 100))
