"""The generator's part: an honest answer from what was done, as far as the results show it."""

from typing import Any

from rehearsal.prompt import Prompt
from rehearsal.retail.besides import besides, told_besides
from rehearsal.retail.planning import Outcome, Overview, deed_of, survey
from rehearsal.retail.state import Deed, State, read_state
from rehearsal.retail.turns import ABLE, NO_STORE
from rehearsal.retail.words import listing
from rehearsal.tooluse import told_calls

NOT_DONE = {
    "denied": "Not done, because it was not approved",
    "skipped": "Not done, because something before it failed",
    "uncertain": "It is not certain whether this was done",
    "failed": "This failed",
}


def answer_answer(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `answer`."""
    if (calls := told_calls(prompt)) is not None:
        return _reply(prompt, *calls, doubts=0)
    state = read_state(prompt)
    overview = survey(state)
    told: list[str] = []
    doubts = unknown = 0
    others = besides(state, overview)
    for outcome in overview.outcomes:
        sentences, doubt = _told(state, overview, outcome)
        told += [sentence for sentence in sentences if sentence not in told]
        doubts += doubt
        unknown += bool(outcome.reads) and (outcome.wish.kind == "lookup" or not others)
    told += told_besides(others)
    if (state.handed_over or others) and state.feedback:
        told.append(f"I was told: “{state.feedback[:1000]}”")
    if unknown:
        told.append(prompt["reasoning"] or _missing(overview))
    if not told:
        told, doubts = [prompt["reasoning"] or _nothing(state)], doubts + 1
    return _reply(prompt, told, _evidence(state, overview) + [deed.id for deed in others if deed.id], doubts)


def _reply(prompt: Prompt, told: list[str], evidence: list[str], doubts: int) -> dict[str, Any]:
    if prompt["ended"]:
        told, doubts = [*told, f"I could not finish: {prompt['ended']}"], doubts + 1
    confidence = round(max(0.95 - 0.25 * doubts, 0.1), 2)
    return {"answer": " ".join(told), "confidence": confidence, "evidence": list(dict.fromkeys(evidence))}


def _missing(overview: Overview) -> str:
    """What could not be told, where the planner has not said why."""
    calls = dict.fromkeys(call.tool.replace("_", " ") for one in overview.outcomes for call in one.reads)
    return f"What this would have shown is not known: {listing(list(calls))}."


def _told(state: State, overview: Overview, outcome: Outcome) -> tuple[list[str], int]:
    """Sentences about one wish, and how many doubts they leave."""
    told, doubts = list(outcome.facts), 0
    for write in outcome.writes:
        deed = deed_of(state, write)
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
    return told, doubts + bool(outcome.reads)


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
