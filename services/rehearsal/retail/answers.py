"""The generator's part: an honest answer from what was done, as far as the results show it."""

from typing import Any

from services.rehearsal.prompt import Prompt
from services.rehearsal.retail.planning import Outcome, Overview, deed_of, survey
from services.rehearsal.retail.state import Deed, State, read_state
from services.rehearsal.retail.turns import ABLE, NO_STORE
from services.rehearsal.retail.writes import Write

NOT_DONE = {
    "denied": "Not done, because it was not approved",
    "skipped": "Not done, because something before it failed",
    "uncertain": "It is not certain whether this was done",
    "failed": "This failed",
}


def answer_answer(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `answer`."""
    state = read_state(prompt)
    overview = survey(state)
    told: list[str] = []
    doubts = 0
    for outcome in overview.outcomes:
        sentences, doubt = _told(state, overview, outcome)
        told += [sentence for sentence in sentences if sentence not in told]
        doubts += doubt
    if prompt["ended"]:
        told.append(f"I could not finish: {prompt['ended']}")
        doubts += 1
    if not told:
        told, doubts = [_nothing(state)], doubts + 1
    confidence = max(0.95 - 0.25 * doubts, 0.1)
    return {"answer": " ".join(told), "confidence": round(confidence, 2), "evidence": _evidence(state, overview)}


def _told(state: State, overview: Overview, outcome: Outcome) -> tuple[list[str], int]:
    """Sentences about one wish, and how many doubts they leave."""
    told, doubts = list(outcome.facts), 0
    for write in outcome.writes:
        deed = deed_of(state, write) or _inside(state, write)
        if deed is not None and deed.fine:
            told.append(write.told)
        elif deed is None:
            told.append(f"Not done: {_lower(write.text)}.")
            doubts += 1
        else:
            told.append(
                f"{NOT_DONE.get(deed.status, NOT_DONE['failed'])}: {_lower(write.text)}. {_reason(deed)}".strip()
            )
            doubts += 1
    if outcome.refused and not outcome.writes:
        told.append(f"I am sorry, {outcome.refused}")
        doubts += 1
    if outcome.question:
        told.append(f"This is still open: {outcome.question}")
        doubts += 1
    if outcome.reads:
        told.append("I could not look up everything that is needed for this.")
        doubts += 1
    return told, doubts


def _inside(state: State, write: Write) -> Deed | None:
    """The deed that this write was made part of: one call for all items of an order."""
    if "item_ids" not in write.arguments:
        return None
    for deed in state.deeds:
        same = deed.tool == write.tool and deed.arguments.get("order_id") == write.arguments["order_id"]
        if same and set(write.arguments["item_ids"]) <= set(deed.arguments.get("item_ids") or ()):
            return deed
    return None


def _reason(deed: Deed) -> str:
    return f"The store said: {deed.result[:200]}" if deed.refused and deed.result else ""


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _nothing(state: State) -> str:
    if not state.deeds and not state.said:
        return NO_STORE
    return f"I have changed nothing. I can {ABLE}."


def _evidence(state: State, overview: Overview) -> list[str]:
    """Writes first; where there are none, the documents that facts were read from."""
    made = [deed.id for deed in state.deeds if any(deed.tool == write.tool for write in overview.writes) and deed.id]
    read = [deed.id for deed in state.deeds if deed.fine and deed.tool.startswith("get_") and deed.id]
    return made or read[-5:]
