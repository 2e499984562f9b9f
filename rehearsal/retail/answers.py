"""The generator's part: what came of a request, as far as the results show it."""

from typing import Any

from rehearsal.prompt import Prompt
from rehearsal.retail.planning import Outcome, Overview, survey
from rehearsal.retail.state import FINDERS, HANDOVER, READS, TYPES, Deed, read_state
from rehearsal.retail.turns import NO_LANGUAGE
from rehearsal.retail.words import listing
from rehearsal.tooluse import told_calls

NOT_DONE = {
    "denied": "Not done, because it was not approved",
    "skipped": "Not done, because something before it failed",
    "uncertain": "It is not certain whether this was done",
    "failed": "This failed",
}
QUIET = frozenset((*FINDERS, *READS, TYPES, HANDOVER, "calculate", "think"))


def answer_answer(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `answer`."""
    if (calls := told_calls(prompt)) is not None:
        told, evidence = calls
        return _reply(prompt, told, evidence, doubts=0)
    overview = survey(read_state(prompt))
    state = overview.state
    told, doubts = [], 0
    for outcome in overview.outcomes:
        sentences, doubtful = _told(overview, outcome, prompt["reasoning"])
        told += [sentence for sentence in sentences if sentence not in told]
        doubts += doubtful
    mine = {write.key for write in overview.writes}
    others = [deed for deed in state.deeds if deed.fine and deed.tool not in QUIET and deed.key not in mine]
    told += [f"This was done besides: {deed.tool.replace('_', ' ')} {_arguments(deed)}." for deed in others]
    if (others or any(deed.tool == HANDOVER for deed in state.deeds)) and state.feedback:
        told.append(f"I was told: “{' '.join(state.feedback)[:1000]}”")
    if not told:
        told, doubts = [prompt["reasoning"] or f"I have changed nothing. {NO_LANGUAGE}"], 1
    writes = [deed.id for deed in state.deeds if deed.tool not in QUIET or deed.tool == HANDOVER]
    reads = [deed.id for deed in state.deeds if deed.fine and deed.tool in READS]
    return _reply(prompt, told, writes or reads[-5:], doubts)


def _arguments(deed: Deed) -> str:
    values = [listing(list(map(str, one))) if isinstance(one, list) else str(one) for one in deed.arguments.values()]
    return ", ".join(value for value in values if value)


def _reply(prompt: Prompt, told: list[str], evidence: list[str], doubts: int) -> dict[str, Any]:
    if prompt["ended"]:
        told, doubts = [*told, f"I could not finish: {prompt['ended']}"], doubts + 1
    confidence = round(max(0.95 - 0.25 * doubts, 0.1), 2)
    return {"answer": " ".join(told), "confidence": confidence, "evidence": list(dict.fromkeys(filter(None, evidence)))}


def _told(overview: Overview, outcome: Outcome, reasoning: str) -> tuple[list[str], int]:
    """Sentences about one request, and how many doubts they leave."""
    told, doubts = list(outcome.facts), 0
    for write in outcome.writes:
        deed = overview.state.deed(write)
        if deed is not None and deed.fine:
            told += [write.done] if deed.key == write.key else []  # else somebody else did it, otherwise
            continue
        doubts += 1
        why = f" The store said: {deed.result[:200]}" if deed is not None and deed.status == "failed" else ""
        status = NOT_DONE.get(deed.status, NOT_DONE["failed"]) if deed is not None else "Not done"
        told.append(f"{status}: {write.text[:1].lower()}{write.text[1:]}.{why}")
    if outcome.refused:
        told.append(f"I am sorry, {outcome.refused}")
    if outcome.question:
        told.append(f"This is still open: {outcome.question}")
    if outcome.reads:
        told.append(reasoning or f"Not known: {listing([call.tool.replace('_', ' ') for call in outcome.reads])}.")
    return told, doubts + sum(map(bool, (outcome.refused, outcome.question, outcome.reads)))
