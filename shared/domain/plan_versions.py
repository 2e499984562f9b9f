"""What a version of a plan that acts takes over from those before: the steps that were begun, and their attempts."""

from shared.domain.changing import replace
from shared.domain.session import Session
from shared.domain.state import Action, Turn


def next_attempts(turn: Turn | None) -> dict[str, int]:
    """By step of a plan: the attempt that another version of the plan makes. It is another one only after a failure.

    The key of a call that is in doubt stays the same: a tool that knows it does nothing twice.
    """
    actions = turn.actions if turn and turn.rules.by_step else ()
    begun = (a for a in actions if a.status in ("finished", "uncertain", "started", "failed"))
    return {a.spec.id: a.attempt + (a.status == "failed") for a in begun}


def attempted(session: Session, action: Action) -> Action:
    """The action as the next attempt of its step, which earlier versions of the plan may have tried."""
    return replace(action, attempt=session.attempts.get(action.spec.id, action.attempt))


def begun_steps(before: tuple[Action, ...], turn: Turn) -> tuple[Action, ...]:
    """The steps that were done, are in doubt, or have an output that a person gave.

    Those of this turn stand in place of the same ones before.
    """
    now = {a.spec.id: a for a in turn.actions if a.status in ("finished", "uncertain", "started") or a.given}
    return (*(action for action in before if action.spec.id not in now), *now.values())
