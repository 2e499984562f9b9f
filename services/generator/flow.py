"""Walk a flow: the answer is what the path's nodes made. No model is asked."""

from shared.domain import commands as c
from shared.domain.paths import PERSON, split
from shared.domain.state import Turn
from shared.worker import WorkContext

SUPPORT = 3  # the last nodes of a path: on what they made the answer rests


async def write(context: WorkContext) -> c.GiveAnswer:
    """Raises LookupError where no path was walked."""
    if context.session.turn is None:
        raise LookupError("There is no turn whose nodes made an answer.")
    return found_on_the_way(context.session.turn)


def found_on_the_way(turn: Turn) -> c.GiveAnswer:
    """The answer that a path's nodes made, as it is, and how far the path came if not to its end."""
    finished = [action for action in turn.actions if action.status == "finished"]
    nodes = [action.spec.id for action in finished if split(action.spec.tool)[1] != PERSON]
    evidence = tuple(nodes[-SUPPORT:])
    made = [a.result for a in finished if isinstance(a.result, dict) and a.result.get("answer")]
    reason = turn.verdict.reasoning if turn.verdict else ""
    if made:
        sure = made[-1].get("confidence", 1)
        confidence = min(max(float(sure), 0), 1) if isinstance(sure, (int, float)) else 1
        early = f"\n\n{reason}" if turn.verdict and turn.verdict.status != "success" else ""
        text = str(made[-1]["answer"])[:45_000] + early
        return c.GiveAnswer(text=text, confidence=confidence, evidence=evidence)
    return c.GiveAnswer(text=f"There is no answer. {reason}".strip(), confidence=0, evidence=evidence)
