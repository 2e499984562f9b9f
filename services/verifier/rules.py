"""Verdicts that need no model: what is certain from the outcomes as they were recorded. The journal names the rule."""

from parley.events.values import NextAction, Status
from shared.domain import commands as c
from shared.domain.state import Action, Turn

_NOTHING_RUN: tuple[str, Status] = ("nothing-run", "failure")
_REFUSED: tuple[str, Status] = ("refused", "partial")


def certain(turn: Turn) -> c.VerifyTurn | None:  # noqa: PLR0911  one line a rule
    """The verdict that a rule can give for certain, None where a model must look."""
    goes_on: NextAction = "complete" if turn.final else "continue"
    ran = [action for action in turn.actions if action.status in ("finished", "failed")]
    failed = [action for action in ran if action.status == "failed"]
    doubts = [action for action in turn.actions if action.status == "uncertain"]
    if turn.taken_over:
        status: Status = "failure" if ran and len(failed) == len(ran) else "partial" if failed or doubts else "success"
        return _verdict("taken-over", status, "continue", "A person did this turn by hand.")
    if not (ran or doubts):
        return _nothing_ran(turn, goes_on)
    if broken := " ".join(action.violation for action in ran if action.violation):
        return _verdict("against-the-rules", "failure", "escalate", broken)
    if doubts:
        names = ", ".join(action.spec.tool for action in doubts)
        return _verdict("in-doubt", "partial", "continue", f"Nobody knows whether this took effect: {names}.")
    if failed:
        why = "; ".join(f"{action.spec.tool}: {action.explanation}" for action in failed)
        return _verdict("tool-error", "failure" if len(failed) == len(ran) else "partial", "retry", why)
    if any(action.handed_over for action in ran):
        return _verdict("handed-over", "success", "escalate", "The request was handed over to a person.")
    if held := _held_back(turn):
        return _verdict("not-all-run", "partial", "continue", held)
    writes = [action for action in ran if action.spec.effect != "read"]
    if not writes:
        answered = f"All {len(ran)} lookups returned." if len(ran) > 1 else "The lookup returned."
        return _verdict("reads-answered", "success", goes_on, answered)
    if all(action.confirmed for action in writes):
        return _verdict("change-shown", "success", goes_on, "The results show the changes that were wanted.")
    return None


def _nothing_ran(turn: Turn, goes_on: NextAction) -> c.VerifyTurn:
    if held := _held_back(turn):
        refused = all(_refused(action) for action in turn.actions if action.spec.decision != "skip")
        rule, status = _REFUSED if refused else _NOTHING_RUN
        return _verdict(rule, status, "continue", held)
    return _verdict("done-already", "success", goes_on, "All of this has been done already.")


def _refused(action: Action) -> bool:
    """A person said no to it: that is an instruction, and no failure."""
    return action.status == "denied" and action.spec.decision != "deny"


def _held_back(turn: Turn) -> str:
    """What was refused, skipped or swept away by a stop, and why; what was done already does not count."""
    kept = [
        action for action in turn.actions if action.status in ("denied", "skipped") and action.spec.decision != "skip"
    ]
    told = (
        f"{action.spec.tool} ({action.status}{': ' if action.explanation else ''}{action.explanation})"
        for action in kept
    )
    return f"Not run: {'; '.join(told)}." if kept else ""


def _verdict(rule: str, status: Status, next_action: NextAction, reasoning: str) -> c.VerifyTurn:
    return c.VerifyTurn(status=status, next_action=next_action, reasoning=reasoning[:2000], rule=rule)
