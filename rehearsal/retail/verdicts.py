"""The verifier's part: whether a turn reached its sub-goal, and whether the request is fulfilled, by the results."""

from dataclasses import replace
from typing import Any

from rehearsal.prompt import Prompt
from rehearsal.retail.planning import Overview, survey
from rehearsal.retail.state import Deed, read_deeds, read_state
from rehearsal.retail.words import listing
from rehearsal.tooluse import told_calls


def answer_turn_verdict(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `turn_verdict`."""
    actions = read_deeds(prompt["actions"])
    state = read_state(prompt)
    known = {(deed.id, deed.key) for deed in state.deeds}
    state = replace(state, deeds=(*state.deeds, *(deed for deed in actions if (deed.id, deed.key) not in known)))
    overview = survey(state) if told_calls(prompt) is None else Overview((), (), state)
    good = [deed for deed in actions if deed.fine]
    bad = [deed for deed in actions if not deed.fine]
    status = "success" if not bad else "partial" if good else "failure"
    return {
        "status": status,
        "next_action": _next(overview, actions, bad),
        "execution_analysis": "; ".join(_analysed(deed) for deed in actions) or "No action was carried out.",
        "memory_analysis": _memory(overview),
        "reasoning": _reasoning(bad, overview),
    }


def _next(overview: Overview, actions: tuple[Deed, ...], bad: list[Deed]) -> str:
    if any(deed.status == "uncertain" for deed in bad):
        return "escalate"
    if not _left(overview):
        return "complete"
    if overview.due or any(outcome.open for outcome in overview.outcomes):
        return "retry" if bad and len(bad) == len(actions) else "continue"
    return "complete"


def _left(overview: Overview) -> bool:
    return bool(overview.due) or any(outcome.open for outcome in overview.outcomes)


def _analysed(deed: Deed) -> str:
    what = "answered" if deed.fine else f"ended as {deed.status}"
    return f"{deed.tool} {what}" + ("" if deed.fine or not deed.result else f" ({deed.result[:120]})")


def _memory(overview: Overview) -> str:
    if not overview.outcomes:
        return "No wish to the store was found in the request."
    done = [outcome.wish.kind for outcome in overview.outcomes if not outcome.open and not outcome.refused]
    left = [outcome.wish.kind for outcome in overview.outcomes if outcome.open]
    refused = [outcome.wish.kind for outcome in overview.outcomes if outcome.refused]
    parts = [("resolved", done), ("open", left), ("cannot be had", refused)]
    return "; ".join(f"{word}: {listing(list(dict.fromkeys(kinds)))}" for word, kinds in parts if kinds) + "."


def _reasoning(bad: list[Deed], overview: Overview) -> str:
    if bad:
        return f"{listing([deed.tool for deed in bad])} did not succeed."
    return "Everything that was asked for is done or known." if not _left(overview) else "More is left to be done."
