"""Plan and act: the plan has succeeded when each of its steps has. No model is asked."""

from shared.domain import commands as c
from shared.domain.state import Action, Turn
from shared.worker import Desk


async def judge(_: Desk, turn: Turn) -> c.VerifyTurn:
    return carried_out(turn)


def carried_out(turn: Turn) -> c.VerifyTurn:
    done = [action for action in turn.actions if action.status == "finished"]
    if len(done) == len(turn.actions):
        told = f"All {len(done)} steps were carried out." if len(done) > 1 else "The step was carried out."
        return c.VerifyTurn(status="success", next_action="complete", reasoning=told, rule="plan-carried-out")
    why = " ".join(_why(action) for action in turn.actions if action.dead or action.status == "uncertain")
    told = f"{len(done)} of {len(turn.actions)} steps were carried out. {why}".strip()
    return c.VerifyTurn(status="failure", next_action="complete", reasoning=told[:2_000], rule="plan-ended")


def _why(action: Action) -> str:
    reason = action.explanation or "no reason was given"
    return f"{action.spec.description} ({action.spec.tool}, {action.shown_status}): {reason.rstrip('.')}."
