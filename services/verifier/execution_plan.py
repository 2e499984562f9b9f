"""Plan and act: the plan has succeeded when each of its steps has. No model is asked."""

from shared.domain import commands as c
from shared.domain.state import Action, Turn
from shared.domain.waves import dead
from shared.worker import WorkContext


async def judge(_: WorkContext, turn: Turn) -> c.VerifyTurn:
    return carried_out(turn)


def carried_out(turn: Turn) -> c.VerifyTurn:
    done = [action for action in turn.actions if action.status == "finished"]
    left_out = [action for action in turn.actions if action.left_out]
    if len(done) == len(turn.actions):
        told = f"All {len(done)} steps were carried out." if len(done) > 1 else "The step was carried out."
        return c.VerifyTurn(status="success", next_action="complete", reasoning=told, rule="plan-carried-out")
    told = f"{len(done)} of {len(turn.actions)} steps were carried out."
    if len(done) + len(left_out) == len(turn.actions):
        given = [action for action in left_out if action.given]
        missing = [action for action in left_out if not action.given]
        told += f" You left out {_names(missing)}." if missing else ""
        told += f" You gave the output of {_names(given)} instead." if given else ""
        told = told[:2_000]
        return c.VerifyTurn(status="partial", next_action="complete", reasoning=told, rule="plan-carried-out")
    why = " ".join(_why(action) for action in (*dead(turn), *_in_doubt(turn)))
    return c.VerifyTurn(
        status="failure", next_action="complete", reasoning=f"{told} {why}".strip()[:2_000], rule="plan-ended"
    )


def _in_doubt(turn: Turn) -> list[Action]:
    return [action for action in turn.actions if action.status == "uncertain" and not action.left]


def _names(actions: list[Action]) -> str:
    return ", ".join(f"“{action.spec.description}”" for action in actions)


def _why(action: Action) -> str:
    reason = action.explanation or "no reason was given"
    return f"{action.spec.description} ({action.spec.tool}, {action.shown_status}): {reason.rstrip('.')}."
