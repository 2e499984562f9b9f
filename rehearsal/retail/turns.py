"""The reply to the task `turn`: the next turn for a customer of the store, decided from the prompt alone."""

import re
from collections.abc import Sequence
from typing import Any

from rehearsal.examples import BY_NAME, CONFIGURE, EXAMPLES
from rehearsal.explicit_calls import answer_call
from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import DEMO_MODEL, refuse
from rehearsal.replies import may_ask, more_tools, nothing_to_do, question, turn, was_answered
from rehearsal.retail.request_state import FINDERS, READS, Call, read_state
from rehearsal.retail.resolution import Resolution, resolve
from rehearsal.retail.wording import listing

STORE = frozenset((*FINDERS, *READS))
NO_LANGUAGE = f"I am the rehearsal model, a set of rules and no language model. {BY_NAME} {CONFIGURE}"
NO_STORE = f"I serve the customers of the sample store, and its tools are not there. {NO_LANGUAGE}"
SUB_GOALS = 4  # Parley's limit for a turn
REPHRASINGS = 2  # after this many, the answer says that the request was not understood


def answer_turn(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `turn`."""
    return answer_call(prompt) or _turn_for(prompt, resolve(read_state(prompt)))


def _turn_for(prompt: ParsedPrompt, overview: Resolution) -> dict[str, Any]:
    if not overview.state.tools & STORE:
        needed = ", ".join(sorted(name.replace("_", " ") for name in STORE))
        return _ask_for_tools(prompt, needed) or nothing_to_do(NO_STORE)
    if not overview.is_understood:
        return _not_understood(prompt, overview)
    missing = overview.question
    calls = overview.reads or ([] if missing else overview.due)
    if calls:
        return _if_impossible(prompt, overview, calls) or _turn(overview, calls)
    if missing and may_ask(prompt, str(missing)):
        return question(str(missing), missing.options[:10])
    if missing:
        return nothing_to_do(f"This is still open: {missing}")
    refused = [f"Not possible: {outcome.refused}" for outcome in overview.outcomes if outcome.refused]
    return nothing_to_do(" ".join(refused) or "All that was asked for is known or done.")


def _not_understood(prompt: ParsedPrompt, overview: Resolution) -> dict[str, Any]:
    state, doubt = overview.state, overview.doubt[:200]
    if len(state.rephrased) < REPHRASINGS:
        why = f"“{doubt}” leaves open what shall be done. One thing a sentence, please. {DEMO_MODEL}, such as these."
        reply = question(why, EXAMPLES["agentflow"]) if doubt else refuse("agentflow", state.message, prompt)
        if may_ask(prompt, reply["text"]):
            return reply
    return nothing_to_do(f"I did not understand what is wanted. {NO_LANGUAGE}")


def _ask_for_tools(prompt: ParsedPrompt, needed: str) -> dict[str, Any] | None:
    """A request for these tools; None if there are no more, or if the same request was already answered."""
    if prompt["more_tools"] and not was_answered(needed, prompt["problems"]):
        return more_tools(needed)
    return None


def _if_impossible(prompt: ParsedPrompt, overview: Resolution, calls: Sequence[Call]) -> dict[str, Any] | None:
    """The reply if these calls cannot be made, because a tool is missing or they were rejected before; else None."""
    tools = overview.state.tools
    if any(call.tool not in tools for call in calls):
        needed = ", ".join(sorted({call.tool.replace("_", " ") for call in calls}))
        return _ask_for_tools(prompt, needed) or nothing_to_do(
            f"It cannot be done: this session has no tools to {needed}."
        )
    if prompt["problems"] and all(re.search(rf"\b{call.tool}\b", prompt["problems"]) for call in calls):
        return nothing_to_do(f"It cannot be done: {prompt.complaint}")
    return None


def _turn(overview: Resolution, calls: Sequence[Call]) -> dict[str, Any]:
    """The calls as a turn. It names only sub-goals that they work on, because others would never be finished."""
    reading = bool(overview.reads)
    texts = [_text(call) for call in calls]
    kinds = list(dict.fromkeys(outcome.request.kind for outcome in overview.outcomes))
    goals = {write.key: outcome.request.kind.capitalize() for outcome in overview.outcomes for write in outcome.writes}
    due = {call.key for call in calls}
    worked_on = list(dict.fromkeys(goal for key, goal in goals.items() if key in due))
    several = len(worked_on) <= SUB_GOALS
    return turn(
        f"Needed first ({listing(kinds)}): {listing(texts).lower()}."
        if reading
        else f"All that is needed is known ({listing(kinds)}).",
        "Look up what is needed" if reading else listing(texts)[:400],
        [
            {
                "tool": call.tool,
                "arguments": call.arguments,
                "text": text[:500],
                "depends_on": _depends_on(calls, at),
                "sub_goal": goals.get(call.key, "") if several else "",
            }
            for at, (call, text) in enumerate(zip(calls, texts, strict=True))
        ],
        final=not reading and not overview.question,
        sub_goals=worked_on if several else [],
        required_skills=["customer service", "looking things up" if reading else "changing orders"],
    )


def _text(call: Call) -> str:
    values = " ".join(str(value) for value in call.arguments.values())
    return call.text or f"{call.tool.replace('_', ' ').capitalize()} {values}".strip()


def _depends_on(calls: Sequence[Call], at: int) -> list[int]:
    """The number of the previous call that changes the same order; all other calls may run in parallel."""
    order_id = calls[at].arguments.get("order_id")
    changes = [number for number, call in enumerate(calls[:at], 1) if call.tool not in READS]
    return [number for number in changes if order_id and calls[number - 1].arguments.get("order_id") == order_id][-1:]
