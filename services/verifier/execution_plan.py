"""The workflow `execution_plan`: a plan succeeds if each of its steps does. Makes no model call."""

from shared.domain.kernel import commands as c
from shared.domain.kernel.state import Action, Turn
from shared.domain.turn.action_ids import ActionId
from shared.domain.turn.batches import dead_actions
from shared.worker import WorkContext


async def judge(_: WorkContext, turn: Turn) -> c.VerifyTurn:
    return plan_verdict(turn)


def plan_verdict(turn: Turn) -> c.VerifyTurn:
    """A step is one, for however many items it is done. What an earlier version of the plan did is done."""
    steps = [action for action in turn.actions if not ActionId.parse(action.spec.id).item]
    finished = [action for action in steps if action.status == "finished" or action.spec.decision == "skip"]
    left_out = [action for action in turn.actions if action.is_left_out]
    if len(finished) == len(steps) and not left_out:
        reasoning = f"All {len(finished)} steps were carried out." if len(finished) > 1 else "The step was carried out."
        return c.VerifyTurn(status="success", next_action="complete", reasoning=reasoning, rule="plan-carried-out")
    reasoning = f"{len(finished)} of {len(steps)} steps were carried out."
    if all(action in finished or action.is_left_out for action in steps):
        replaced = [action for action in left_out if action.given]
        missing = [action for action in left_out if not action.given]
        reasoning += f" You left out {_names(missing)}." if missing else ""
        reasoning += f" You gave the output of {_names(replaced)} instead." if replaced else ""
        reasoning = reasoning[:2_000]
        return c.VerifyTurn(status="partial", next_action="complete", reasoning=reasoning, rule="plan-carried-out")
    why = " ".join(_failure_line(action) for action in (*dead_actions(turn), *_uncertain(turn)))
    return c.VerifyTurn(
        status="failure", next_action="complete", reasoning=f"{reasoning} {why}".strip()[:2_000], rule="plan-ended"
    )


def _uncertain(turn: Turn) -> list[Action]:
    return [action for action in turn.actions if action.status == "uncertain" and not action.left]


def _names(actions: list[Action]) -> str:
    return ", ".join(f"“{action.spec.description}”" for action in actions)


def _failure_line(action: Action) -> str:
    reason = action.explanation or "no reason was given"
    return f"{action.spec.description} ({action.spec.tool}, {action.shown_status}): {reason.rstrip('.')}."
