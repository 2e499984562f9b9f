"""What a version of an execution plan takes over from earlier versions: the started steps and their attempts."""

from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Turn


def next_attempts(turn: Turn | None) -> dict[str, int]:
    """The attempt number of each step in the next version of the plan. It increases only after a failure.

    An uncertain call keeps its idempotency key, so a tool that knows the key does nothing twice.
    """
    actions = turn.actions if turn and turn.rules.by_step else ()
    tried = (a for a in actions if a.status in ("finished", "uncertain", "started", "failed"))
    return {a.spec.id: a.attempt + (a.status == "failed") for a in tried}


def with_next_attempt(session: Session, action: Action) -> Action:
    """The action with its attempt number, which counts the attempts of earlier versions of the plan."""
    return replace(action, attempt=session.attempts.get(action.spec.id, action.attempt))


def begun_steps(before: tuple[Action, ...], turn: Turn) -> tuple[Action, ...]:
    """The steps that finished, are uncertain, still run, or have an output that the user gave.

    A step of this turn replaces the same step of an earlier turn.
    """
    now = {a.spec.id: a for a in turn.actions if a.status in ("finished", "uncertain", "started") or a.given}
    return (*(action for action in before if action.spec.id not in now), *now.values())
