"""The executor's commands for the steps of a plan before it starts them."""

from datetime import timedelta

from parley.events.values import ActionSpec, Waiting
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.steps.for_each import expand_items
from shared.domain.steps.plan_steps import is_unresolved, step_of
from shared.domain.steps.references import ITEM, Unresolved, resolve
from shared.domain.turn.batches import next_batch
from tests.unit.domain.spec import NOON

LATER = NOON + timedelta(hours=1)  # when a polling step gives up


def executor_command(session: Session) -> c.ChangeTurn | c.Wait | c.Ask | None:
    """The executor's command before it starts the next batch; None if the batch can start.

    It resolves references, expands a step with `for_each` to one call per item, and lets waiting steps wait.
    """
    batch = [action.spec for action in next_batch(session.turn)]
    if waiting := [spec for spec in batch if is_unresolved(session, spec)]:
        return c.ChangeTurn(actions=tuple(call for spec in waiting for call in _resolved_calls(session, spec)))
    times = [Waiting(action_id=spec.id, until=NOON) for spec in batch if spec.waits_for == "time"]
    polls = [Waiting(action_id=spec.id, until=LATER, every=60) for spec in batch if spec.waits_for == "condition"]
    if times or polls:
        return c.Wait(actions=(*times, *polls))
    asks = next((spec for spec in batch if spec.waits_for == "person"), None)
    return c.Ask(text="?", about="action", action_id=asks.id) if asks else None


def _resolved_calls(session: Session, spec: ActionSpec) -> tuple[ActionSpec, ...]:
    """The call with resolved references, once for each item of its list, or denied."""
    actions, step = session.turn.actions if session.turn else (), step_of(session, spec.id)
    outputs = {a.spec.id.rpartition(".")[2]: a.result for a in actions if a.has_output}
    try:
        if step is None or step.for_each is None:
            return (spec.model_copy(update={"arguments": resolve(spec.arguments, outputs)}),)
        items = resolve(step.for_each, outputs)
        assert isinstance(items, list)
        resolved = (resolve(spec.arguments, outputs | {ITEM: item}) for item in items)
        return expand_items(spec, [arguments for arguments in resolved if isinstance(arguments, dict)])
    except Unresolved as error:
        return (spec.model_copy(update={"decision": "deny", "decision_reason": str(error)}),)
