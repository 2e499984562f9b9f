"""Plan steps that run for each item of a list: once the list is known, the action is expanded to one per item.

The step's own action then runs after all of them: it gathers their results into a list, which is the step's output.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from parley.events.values import ActionSpec
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.steps.plan_steps import GATHER, is_unresolved, step_of
from shared.domain.turn.action_ids import ActionId

MAX_ITEMS = 50
MAX_OPEN_ACTIONS = 400  # per turn: one event holds all open actions


def expand_items(spec: ActionSpec, arguments: Sequence[Mapping[str, JsonValue]]) -> tuple[ActionSpec, ...]:
    """One call for each item, with these arguments, and the action that gathers their results."""
    step = ActionId.parse(spec.id)
    calls = tuple(
        spec.model_copy(update={"id": str(step._replace(item=str(number))), "arguments": dict(values)})
        for number, values in enumerate(arguments)
    )
    gathers = {"tool": GATHER, "arguments": {}, "effect": "read", "policy": "never"}
    needs = {"depends_on": (*spec.depends_on, *(call.id for call in calls))}
    return *calls, spec.model_copy(update=gathers | needs)


def check_expanded(session: Session, spec: ActionSpec, specs_by_id: Mapping[str, ActionSpec]) -> tuple[ActionSpec, ...]:
    """The calls that the step expands to, and the action that gathers their results, as the executor sent them.

    Raises Invalid for anything but the step's own call with other arguments, once for each item.
    """
    step, gathers = step_of(session, spec.id), specs_by_id[spec.id]
    ids = gathers.depends_on[len(spec.depends_on) :]
    if step is None or step.for_each is None or not is_unresolved(session, spec) or not specs_by_id.keys() >= set(ids):
        raise Invalid(f"{spec.id} is not a step that can now run for each of these items.")
    if len(ids) > MAX_ITEMS:
        raise Invalid(f"{spec.id} would run {len(ids)} times; the limit is {MAX_ITEMS}.")
    expected = expand_items(spec, [specs_by_id[name].arguments for name in ids])
    as_given = (*(specs_by_id[name] for name in ids), gathers)
    if [_without_ruling(spec_) for spec_ in as_given] != [_without_ruling(spec_) for spec_ in expected]:
        raise Invalid(f"{spec.id} would become another step: only the values of its item may be filled in.")
    return as_given


def items_of(session: Session, gathers: Action) -> tuple[Action | None, ...]:
    """The actions of a step's items, in order: of this turn, or finished by an earlier version of the plan."""
    now = {action.spec.id: action for action in (session.turn.actions if session.turn else ())}
    before = {action.spec.id: action for action in session.begun_steps if action.has_output}
    names = [name for name in gathers.spec.depends_on if ActionId.parse(name).whole == gathers.spec.id]
    return tuple(before.get(name) or now.get(name) for name in names)


def _without_ruling(spec: ActionSpec) -> ActionSpec:
    """The action without the fields that the domain's ruling sets."""
    return spec.model_copy(update={"decision": "proceed", "decision_reason": "", "approval_reason": None})
