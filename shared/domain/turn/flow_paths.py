"""A path through a flow's nodes: what its actions returned, and how the rest of the turn is replaced.

The domain does not know the graph. The planner, the executor (by conditions) or the user says which node follows.
"""

import json
from collections.abc import Mapping

from pydantic import JsonValue

from parley.events import facts
from parley.events.values import ActionSpec
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.state import Action, ActionStatus, Turn
from shared.domain.turn.action_ids import ActionId

STATUS_OF_DECISION: dict[str, ActionStatus] = {"skip": "skipped", "deny": "denied"}
OPEN_STATUSES: frozenset[ActionStatus] = frozenset({"planned", "approved", "asked", "waiting"})
MAX_NODES = 60  # nodes of a path, walked and to come; a longer path is taken for a loop
MAX_RUNS = 3  # earlier runs of one flow that the next request knows
MAX_VALUE_LENGTH = 4_000  # characters as JSON of a value that the next request knows
MAX_DESCRIPTION_LENGTH = 2_000  # characters of a node's description that its action carries
PERSON_NODE = "person"  # the pseudo-node that holds values set by the user

State = dict[str, JsonValue]


def split_tool_name(tool: str) -> tuple[str, str]:
    """Flow and node of a tool's name. The flow is "" for a tool that is not a node."""
    flow, dot, node = tool.partition(".")
    return (flow, node) if dot else ("", tool)


def outputs(turn: Turn | None) -> dict[str, State]:
    """What the finished nodes of a path returned, by flow. Of two values with one name the newer one counts."""
    by_flow: dict[str, State] = {}
    for action in turn.actions if turn and turn.rules.keeps_results else ():
        if action.status == "finished" and isinstance(action.result, dict):
            flow, _ = split_tool_name(action.spec.tool)
            by_flow.setdefault(flow, {}).update(action.result)
    return by_flow


def carry_over(turn: Turn, request: str, before: Mapping[str, tuple[State, ...]]) -> dict[str, tuple[State, ...]]:
    """The results of this path and of earlier ones that the next request knows, by flow, the newest last.

    Each result holds the request and the values of at most `MAX_VALUE_LENGTH` characters.
    """
    known = dict(before)
    for flow, state in outputs(turn).items():
        result: State = {"request": request, **{name: value for name, value in state.items() if _small(value)}}
        known[flow] = (*known.get(flow, ()), result)[-MAX_RUNS:]
    return known


def _small(value: JsonValue) -> bool:
    return len(json.dumps(value)) <= MAX_VALUE_LENGTH


def started(turn: Turn) -> tuple[Action, ...]:
    """The actions that have ended or are under way: the walked part of the path."""
    return tuple(action for action in turn.actions if action.status not in OPEN_STATUSES)


def as_action(tool: str, text: str) -> ActionSpec:
    """An action for a node without arguments. The user is asked about it only once its arguments are known."""
    return ActionSpec(id="0", tool=tool, description=text[:MAX_DESCRIPTION_LENGTH], policy="never")


def with_ids(turn: Turn, specs: tuple[ActionSpec, ...], after_override: bool) -> tuple[ActionSpec, ...]:
    """The new rest of the path with ids, each action after the one before. Raises Invalid for too long a path."""
    first = turn.made + 1 + after_override
    if len(started(turn)) + after_override + len(specs) > MAX_NODES:
        raise Invalid(f"The path has become longer than {MAX_NODES} nodes: it seems to go round in circles.")
    walked_ids = [action.spec.id for action in started(turn) if action.status in ("finished", "started")]
    before = [ActionId.of_turn(turn.number, first - 1)] if after_override else walked_ids[-1:]
    chain = []
    for number, spec in enumerate(specs, first):
        needs = before if number == first else [ActionId.of_turn(turn.number, number - 1)]
        id_ = ActionId.of_turn(turn.number, number)
        chain.append(spec.model_copy(update={"id": id_, "depends_on": tuple(needs)}))
    return tuple(chain)


def apply_change(turn: Turn, event: facts.TurnChanged) -> Turn:
    """The turn with the event's rest: an action with a known id stays in its place, new ones follow.

    Values that the user set become a finished action of their own.
    """
    rest = {spec.id: spec for spec in event.actions}
    remaining = tuple(a for a in turn.actions if a.status not in OPEN_STATUSES or a.spec.id in rest)
    same = tuple(apply_ruling(action, rest.pop(action.spec.id, action.spec)) for action in remaining)
    added = (*_override_action(turn, event), *map(from_spec, rest.values()))
    actions = _items_first(same, added) if turn.rules.by_step else (*same, *added)
    return replace(turn, actions=actions, made=turn.made + len(added), chosen=_chosen_by_user(turn, event))


def _items_first(steps: tuple[Action, ...], items: tuple[Action, ...]) -> tuple[Action, ...]:
    """Orders the actions for the items of a step's list right before the action that gathers their results."""
    ordered: list[Action] = []
    for step in steps:
        ordered += (item for item in items if ActionId.parse(item.spec.id).whole == step.spec.id)
        ordered.append(step)
    return tuple(ordered)


def apply_ruling(action: Action, spec: ActionSpec) -> Action:
    """The action under its new ruling. Unchanged if it has started, or if nothing differs and no approval is missing.

    A running read can turn out not to be quiet: it was not run, so it is planned again.
    """
    same = action.spec == spec and (action.allowed or spec.approval_reason is None)
    if same or action.status not in (*OPEN_STATUSES, "running"):
        return action
    return replace(from_spec(spec), attempt=action.attempt)


def override_id(turn: Turn) -> str:
    """The id of the action that holds the values the user sets next."""
    return ActionId.of_turn(turn.number, turn.made + 1)


def _override_action(turn: Turn, event: facts.TurnChanged) -> tuple[Action, ...]:
    if not event.overrides:
        return ()
    flow, _ = split_tool_name(event.actions[0].tool if event.actions else turn.actions[0].spec.tool)
    text = f"Set by the person: {', '.join(event.overrides)}"[:500]
    spec = ActionSpec(id=override_id(turn), tool=f"{flow}.{PERSON_NODE}", description=text)
    return (Action(spec, "finished", result=event.overrides),)


def _chosen_by_user(turn: Turn, event: facts.TurnChanged) -> str:
    """The id of the next action if the user put it there, also once it gets its arguments; else ""."""
    if not event.actions:
        return ""
    first = event.actions[0]
    replaced = next((action.spec for action in turn.actions if action.status in OPEN_STATUSES), None)
    stays = replaced is not None and replaced.id == turn.chosen and replaced.tool == first.tool
    return first.id if stays or event.actor.startswith(USER_PREFIX) else ""


def from_spec(spec: ActionSpec) -> Action:
    """The action in the status that its ruling gives it."""
    return Action(spec, STATUS_OF_DECISION.get(spec.decision, "planned"), error=spec.decision_reason)
