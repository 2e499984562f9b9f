"""The workflow `flow`: judge the walked path, which reached an answer or ended at a node. Makes no model call."""

from parley.events.values import Status
from shared.domain.kernel import commands as c
from shared.domain.kernel.state import Action, Turn
from shared.worker import WorkContext


async def judge(_: WorkContext, turn: Turn) -> c.VerifyTurn:
    return path_verdict(turn)


def path_verdict(turn: Turn) -> c.VerifyTurn:
    """The verdict on the path, by the last node that was not skipped."""
    last = next((action for action in reversed(turn.actions) if action.status != "skipped"), None)
    if last is None:
        return _verdict("path-ended", "failure", "The path ended early: no node was run.")
    if last.status == "finished":
        if any(_answers(action) for action in turn.actions):
            return _verdict("path-walked", "success", "The path was walked to its end.")
        return _verdict("path-walked", "partial", f"The path ended after {last.spec.tool}.")
    if last.status == "uncertain":
        return _verdict("in-doubt", "partial", f"It is unknown whether {last.spec.tool} took effect.")
    why = f"{last.spec.tool} ({last.status}): {last.explanation or 'no reason was given'}"
    return _verdict("path-ended", "failure", f"The path ended early. {why}")


def _answers(action: Action) -> bool:
    return action.status == "finished" and isinstance(action.result, dict) and bool(action.result.get("answer"))


def _verdict(rule: str, status: Status, reasoning: str) -> c.VerifyTurn:
    return c.VerifyTurn(status=status, next_action="complete", reasoning=reasoning[:2000], rule=rule)
