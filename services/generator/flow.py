"""The workflow `flow`: the answer is an output of the path's nodes. Makes no model call."""

from shared.domain.kernel import commands as c
from shared.domain.kernel.state import Turn
from shared.domain.turn.flow_paths import PERSON_NODE, split_tool_name
from shared.worker import WorkContext

EVIDENCE_NODES = 3  # the last nodes of a path, which the answer cites


async def write(context: WorkContext) -> c.GiveAnswer:
    """The answer of the current turn. Raises LookupError if there is no turn."""
    if context.session.turn is None:
        raise LookupError("There is no turn whose nodes made an answer.")
    return path_answer(context.session.turn)


def path_answer(turn: Turn) -> c.GiveAnswer:
    """The last answer that a node made, and why the path ended early if it did."""
    finished = [action for action in turn.actions if action.status == "finished"]
    nodes = [action.spec.id for action in finished if split_tool_name(action.spec.tool)[1] != PERSON_NODE]
    evidence = tuple(nodes[-EVIDENCE_NODES:])
    answers = [a.result for a in finished if isinstance(a.result, dict) and a.result.get("answer")]
    reason = turn.verdict.reasoning if turn.verdict else ""
    if answers:
        value = answers[-1].get("confidence", 1)
        confidence = min(max(float(value), 0), 1) if isinstance(value, (int, float)) else 1
        ending = f"\n\n{reason}" if turn.verdict and turn.verdict.status != "success" else ""
        text = str(answers[-1]["answer"])[:45_000] + ending
        return c.GiveAnswer(text=text, confidence=confidence, evidence=evidence)
    return c.GiveAnswer(text=f"There is no answer. {reason}".strip(), confidence=0, evidence=evidence)
