"""Steps of a plan that are done for each item of a list: when the list is known, one action becomes one for each item.

The action of the step itself stays, after them all: it gathers what they gave into a list, which is the step's output.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from parley.events.values import ActionSpec
from shared.domain.errors import Invalid
from shared.domain.plan_steps import GATHER, step_of, unresolved
from shared.domain.session import Session
from shared.domain.state import Action

MOST_ITEMS = 50
MOST_ACTIONS = 400  # of a turn: all that has not begun is in one event


def expanded(spec: ActionSpec, arguments: Sequence[Mapping[str, JsonValue]]) -> tuple[ActionSpec, ...]:
    """The calls for the items, with these arguments, and what gathers their results."""
    calls = tuple(
        spec.model_copy(update={"id": f"{spec.id}[{number}]", "arguments": dict(given)})
        for number, given in enumerate(arguments)
    )
    gathers = {"tool": GATHER, "arguments": {}, "effect": "read", "policy": "never"}
    needs = {"depends_on": (*spec.depends_on, *(call.id for call in calls))}
    return *calls, spec.model_copy(update=gathers | needs)


def check_expanded(session: Session, spec: ActionSpec, given: Mapping[str, ActionSpec]) -> tuple[ActionSpec, ...]:
    """The calls that this step becomes, and what gathers their results, as `given`.

    Raises Invalid for anything but its own call with other arguments, once for each item.
    """
    step, gathers = step_of(session, spec.id), given[spec.id]
    ids = gathers.depends_on[len(spec.depends_on) :]
    if step is None or step.for_each is None or not unresolved(session, spec) or not given.keys() >= set(ids):
        raise Invalid(f"{spec.id} is no step that is now done for each of these items.")
    if len(ids) > MOST_ITEMS:
        raise Invalid(f"{spec.id} would be done {len(ids)} times, and may be {MOST_ITEMS} times.")
    wanted = expanded(spec, [given[name].arguments for name in ids])
    as_given = (*(given[name] for name in ids), gathers)
    if [_bare(one) for one in as_given] != [_bare(one) for one in wanted]:
        raise Invalid(f"{spec.id} would be another step: only what it is done for may come in.")
    return as_given


def items_of(session: Session, gathers: Action) -> tuple[Action | None, ...]:
    """The actions of a step's items, in order: those of this turn, or those that an earlier version has done."""
    now = {action.spec.id: action for action in (session.turn.actions if session.turn else ())}
    before = {action.spec.id: action for action in session.begun_steps if action.settled}
    names = [name for name in gathers.spec.depends_on if name.startswith(f"{gathers.spec.id}[")]
    return tuple(before.get(name) or now.get(name) for name in names)


def _bare(spec: ActionSpec) -> ActionSpec:
    """Without what the domain rules."""
    return spec.model_copy(update={"decision": "proceed", "decision_reason": "", "approval_reason": None})
