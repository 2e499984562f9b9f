"""The verifier's part: how a turn's calls ended, and whether anything is left to do."""

from dataclasses import replace
from typing import Any

from rehearsal.prompt import Prompt
from rehearsal.retail.planning import survey
from rehearsal.retail.state import read_deeds, read_state
from rehearsal.tooluse import call_results


def answer_turn_verdict(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `turn_verdict`."""
    actions, state = read_deeds(prompt.objects("actions")), read_state(prompt)
    known = {(deed.id, deed.key) for deed in state.deeds}
    state = replace(state, deeds=(*state.deeds, *(deed for deed in actions if (deed.id, deed.key) not in known)))
    left = call_results(prompt) is None and survey(state).open
    bad = [deed for deed in actions if not deed.fine]
    status = "success" if not bad else "partial" if len(bad) < len(actions) else "failure"
    following = "complete" if not left else "retry" if status == "failure" else "continue"
    if any(deed.status == "uncertain" for deed in bad):
        following = "escalate"
    analysed = [f"{deed.tool} {'answered' if deed.fine else f'ended as {deed.status}'}" for deed in actions]
    return {
        "status": status,
        "next_action": following,
        "execution_analysis": "; ".join(analysed) or "No action was carried out.",
        "memory_analysis": "The rehearsal model looks at the results only.",
        "reasoning": "More is left to be done." if left else "Everything that was asked for is done or known.",
    }
