"""What an executor makes of the steps of a plan before it starts them."""

from datetime import timedelta

from parley.events.values import ActionSpec, Waiting
from shared.domain import commands as c
from shared.domain.for_each import expanded
from shared.domain.plan_steps import step_of, unresolved
from shared.domain.references import ITEM, Unresolved, resolved
from shared.domain.session import Session
from shared.domain.waves import ready
from tests.unit.domain.spec import NOON

LATER = NOON + timedelta(hours=1)  # when a step that polls gives up


def with_outputs(session: Session) -> c.ChangeTurn | c.Wait | c.Ask | None:
    """What the executor says instead of starting the wave that is ready; None where it starts it.

    References get values, a step for each item becomes its calls, and what waits begins to wait.
    """
    wave = [action.spec for action in ready(session.turn)]
    if waiting := [spec for spec in wave if unresolved(session, spec)]:
        return c.ChangeTurn(actions=tuple(call for spec in waiting for call in _calls(session, spec)))
    times = [Waiting(action_id=spec.id, until=NOON) for spec in wave if spec.waits_for == "time"]
    polls = [Waiting(action_id=spec.id, until=LATER, every=60) for spec in wave if spec.waits_for == "condition"]
    if times or polls:
        return c.Wait(actions=(*times, *polls))
    asks = next((spec for spec in wave if spec.waits_for == "person"), None)
    return c.Ask(text="?", about="action", action_id=asks.id) if asks else None


def _calls(session: Session, spec: ActionSpec) -> tuple[ActionSpec, ...]:
    """The call with what its references stand for, once for each item of its list, or denied."""
    actions, step = session.turn.actions if session.turn else (), step_of(session, spec.id)
    outputs = {a.spec.id.rpartition(".")[2]: a.result for a in actions if a.settled}
    try:
        if step is None or step.for_each is None:
            return (spec.model_copy(update={"arguments": resolved(spec.arguments, outputs)}),)
        items = resolved(step.for_each, outputs)
        assert isinstance(items, list)
        given = (resolved(spec.arguments, outputs | {ITEM: item}) for item in items)
        return expanded(spec, [arguments for arguments in given if isinstance(arguments, dict)])
    except Unresolved as error:
        return (spec.model_copy(update={"decision": "deny", "decision_reason": str(error)}),)
