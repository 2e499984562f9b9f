"""The reply to the task `answer`, which claims only what the results show."""

from typing import Any

from rehearsal.explicit_calls import call_results
from rehearsal.prompt import ParsedPrompt
from rehearsal.retail.request_state import FINDERS, HANDOVER, READS, TYPES, PlannedCall, read_state
from rehearsal.retail.resolution import RequestOutcome, Resolution, resolve
from rehearsal.retail.turns import NO_LANGUAGE
from rehearsal.retail.wording import listing

NOT_DONE = {
    "denied": "Not done, because it was not approved",
    "uncertain": "It is not certain whether this was done",
    "failed": "This failed",
}
QUIET = frozenset((*FINDERS, *READS, TYPES, HANDOVER, "calculate", "think"))


def answer_answer(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `answer`."""
    if (results := call_results(prompt)) is not None:
        return _reply(prompt, *results, doubts=0)
    overview = resolve(read_state(prompt))
    state = overview.state
    sentences: list[str] = []
    doubts = 0
    for outcome in overview.outcomes:
        more, doubtful = _about(overview, outcome, prompt.closing)
        sentences += [sentence for sentence in more if sentence not in sentences]
        doubts += doubtful
    planned = {write.key for write in overview.writes}
    others = [
        past for past in state.past_calls if past.succeeded and past.tool not in QUIET and past.key not in planned
    ]
    sentences += [f"This was done besides: {past.tool.replace('_', ' ')} {_arguments(past)}." for past in others]
    if (others or any(past.tool == HANDOVER for past in state.past_calls)) and state.feedback:
        sentences.append(f"I was told: “{' '.join(state.feedback)[:1000]}”")
    if not sentences:
        sentences, doubts = [prompt.closing or f"I have changed nothing. {NO_LANGUAGE}"], 1
    writes = [past.id for past in state.past_calls if past.tool not in QUIET or past.tool == HANDOVER]
    reads = [past.id for past in state.past_calls if past.succeeded and past.tool in READS]
    return _reply(prompt, sentences, writes or reads[-5:], doubts)


def _arguments(past: PlannedCall) -> str:
    values = [
        listing(list(map(str, argument))) if isinstance(argument, list) else str(argument)
        for argument in past.arguments.values()
    ]
    return ", ".join(value for value in values if value)


def _reply(prompt: ParsedPrompt, sentences: list[str], evidence: list[str], doubts: int) -> dict[str, Any]:
    confidence = round(max(0.95 - 0.25 * doubts, 0.1), 2)
    return {
        "kind": "answer",
        "text": " ".join(sentences),
        "evidence": list(dict.fromkeys(filter(None, evidence))),
        "confidence": confidence,
    }


def _not_done(past: PlannedCall) -> str:
    """Why a call did nothing: it was denied, is in doubt or failed."""
    return NOT_DONE.get(past.status, NOT_DONE["failed"])


def _about(overview: Resolution, outcome: RequestOutcome, reasoning: str) -> tuple[list[str], int]:
    """Sentences about one request, and the number of doubts that remain."""
    sentences, doubts = list(outcome.facts), 0
    for write in outcome.writes:
        past = overview.state.past_call(write)
        if past is not None and past.succeeded:
            sentences += [write.done] if past.key == write.key else []  # else another call changed the same order
            continue
        doubts += 1
        why = f" The store said: {past.result[:200]}" if past is not None and past.status == "failed" else ""
        status = _not_done(past) if past is not None else "Not done"
        sentences.append(f"{status}: {write.text[:1].lower()}{write.text[1:]}.{why}")
    if outcome.refused:
        sentences.append(f"I am sorry, {outcome.refused}")
    if outcome.question:
        sentences.append(f"This is still open: {outcome.question}")
    if outcome.reads:
        sentences.append(reasoning or f"Not known: {listing([call.tool.replace('_', ' ') for call in outcome.reads])}.")
    return sentences, doubts + sum(map(bool, (outcome.refused, outcome.question, outcome.reads)))
