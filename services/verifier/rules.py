"""Verdicts by rules, from the recorded outcomes alone. The journal names the rule."""

from parley.events.values import NextAction, Status
from shared.domain import commands as c
from shared.domain.state import Action, Turn

_NOTHING_RUN: tuple[str, Status] = ("nothing-run", "failure")
_REFUSED: tuple[str, Status] = ("refused", "partial")


def rule_verdict(turn: Turn) -> c.VerifyTurn | None:  # noqa: PLR0911  one line a rule
    """The verdict of the first rule that applies; None if a model must judge."""
    next_action: NextAction = "complete" if turn.final else "continue"
    ran = [action for action in turn.actions if action.status in ("finished", "failed")]
    failed = [action for action in ran if action.status == "failed"]
    uncertain = [action for action in turn.actions if action.status == "uncertain"]
    if turn.taken_over and (ran or uncertain):
        status: Status = (
            "failure" if ran and len(failed) == len(ran) else "partial" if failed or uncertain else "success"
        )
        return _verdict("taken-over", status, "continue", "A person did this turn by hand.")
    if not (ran or uncertain):
        return _nothing_ran(turn, next_action)
    if broken := " ".join(action.violation for action in ran if action.violation):
        return _verdict("against-the-rules", "failure", "escalate", broken)
    if uncertain:
        names = ", ".join(action.spec.tool for action in uncertain)
        return _verdict("in-doubt", "partial", "continue", f"It is unknown whether this took effect: {names}.")
    if failed:
        why = "; ".join(f"{action.spec.tool}: {action.explanation}" for action in failed)
        return _verdict("tool-error", "failure" if len(failed) == len(ran) else "partial", "retry", why)
    if any(action.handed_over for action in ran):
        return _verdict("handed-over", "success", "escalate", "The request was handed over to a person.")
    if not_run := _not_run_reason(turn):
        return _verdict("not-all-run", "partial", "continue", not_run)
    writes = [action for action in ran if action.spec.effect != "read"]
    if not writes:
        return _verdict("reads-answered", "success", next_action, "")  # their results say it
    if all(action.confirmed for action in writes):
        return _verdict("change-shown", "success", next_action, "The results show the changes that were wanted.")
    return None


def _nothing_ran(turn: Turn, next_action: NextAction) -> c.VerifyTurn:
    if not_run := _not_run_reason(turn):
        refused = all(_denied_by_person(action) for action in turn.actions if action.spec.decision != "skip")
        rule, status = _REFUSED if refused else _NOTHING_RUN
        return _verdict(rule, status, "continue", not_run)
    return _verdict("done-already", "success", next_action, "All of this has been done already.")


def _denied_by_person(action: Action) -> bool:
    """Whether the user denied the action: that is an instruction, not a failure."""
    return action.status == "denied" and action.spec.decision != "deny"


def _not_run_reason(turn: Turn) -> str:
    """Which actions were denied or skipped, and why; "" if there are none. Calls that were done before do not count."""
    not_run = [
        action for action in turn.actions if action.status in ("denied", "skipped") and action.spec.decision != "skip"
    ]
    lines = (
        f"{action.spec.tool} ({action.status}{': ' if action.explanation else ''}{action.explanation})"
        for action in not_run
    )
    return f"Not run: {'; '.join(lines)}." if not_run else ""


def _verdict(rule: str, status: Status, next_action: NextAction, reasoning: str) -> c.VerifyTurn:
    return c.VerifyTurn(status=status, next_action=next_action, reasoning=reasoning[:2000], rule=rule)
