"""The reply to the task `turn_verdict`: how a turn's calls ended, and whether anything is left to do."""

from typing import Any

from rehearsal.explicit_calls import call_results
from rehearsal.prompt import ParsedPrompt
from rehearsal.retail.request_state import read_state
from rehearsal.retail.resolution import resolve


def answer_turn_verdict(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `turn_verdict`."""
    ids, state = {line.split(" ", 1)[0] for line in prompt.lines("actions")}, read_state(prompt)
    actions = [past for past in state.past_calls if past.id in ids]
    left = call_results(prompt) is None and resolve(state).is_open
    bad = [past for past in actions if not past.succeeded]
    status = "success" if not bad else "partial" if len(bad) < len(actions) else "failure"
    following = "complete" if not left else "retry" if status == "failure" else "continue"
    if any(past.status == "uncertain" for past in bad):
        following = "escalate"
    analysed = [f"{past.tool} {'answered' if past.succeeded else f'ended as {past.status}'}" for past in actions]
    return {
        "kind": "verdict",
        "execution_analysis": "; ".join(analysed) or "No action was carried out.",
        "memory_analysis": "The rehearsal model looks at the results only.",
        "status": status,
        "next_action": following,
        "reasoning": "More is left to be done." if left else "Everything that was asked for is done or known.",
        "sub_goals": [],
    }
