"""A path through a flow's nodes: what its actions have made, and how the rest of a turn is replaced.

The domain knows no graph: which node follows is said by the planner, the executor (conditions) or a person.
"""

import json
from collections.abc import Mapping

from pydantic import JsonValue

from parley.events import facts
from parley.events.values import ActionSpec
from shared.domain.changing import replace
from shared.domain.errors import Invalid
from shared.domain.state import Action, ActionStatus, Turn

RULED: dict[str, ActionStatus] = {"skip": "skipped", "deny": "denied"}
OPEN: frozenset[ActionStatus] = frozenset({"planned", "approved", "asked", "waiting"})
LONGEST = 60  # nodes of a path, walked and to come: one that needs more goes round in circles
RUNS = 3  # of one flow, that the next request still knows
KEPT = 4_000  # characters of a value that the next request still knows
TEXT = 2_000  # characters of a node's description that its action carries
PERSON = "person"  # the "node" that stands for values a person has set

State = dict[str, JsonValue]


def split(tool: str) -> tuple[str, str]:
    """Flow and node of a tool's name; a tool that is no node's has no flow."""
    flow, dot, node = tool.partition(".")
    return (flow, node) if dot else ("", tool)


def made(turn: Turn | None) -> dict[str, State]:
    """By flow, what the finished nodes of a path have made; of two values of one name the newer one."""
    found: dict[str, State] = {}
    for action in turn.actions if turn and turn.rules.keeps_results else ():
        if action.status == "finished" and isinstance(action.result, dict):
            flow, _ = split(action.spec.tool)
            found.setdefault(flow, {}).update(action.result)
    return found


def kept(turn: Turn, request: str, before: Mapping[str, tuple[State, ...]]) -> dict[str, tuple[State, ...]]:
    """What the next request knows of this path and of those before, the newest last.

    By flow: its values without the large ones, and its request.
    """
    known = dict(before)
    for flow, state in made(turn).items():
        small: State = {"request": request, **{name: value for name, value in state.items() if _small(value)}}
        known[flow] = (*known.get(flow, ()), small)[-RUNS:]
    return known


def _small(value: JsonValue) -> bool:
    return len(json.dumps(value)) <= KEPT


def begun(turn: Turn) -> tuple[Action, ...]:
    """The actions that are over or under way: the walked part of the path."""
    return tuple(action for action in turn.actions if action.status not in OPEN)


def named(tool: str, text: str) -> ActionSpec:
    """A node that is only named as yet: nobody is asked about it before it is known what it would run with."""
    return ActionSpec(id="0", tool=tool, description=text[:TEXT], policy="never")


def numbered(turn: Turn, specs: tuple[ActionSpec, ...], given: bool) -> tuple[ActionSpec, ...]:
    """The new rest of the path with ids of its own, each action after the one before. Raises Invalid if it is long."""
    first = turn.made + 1 + given
    if len(begun(turn)) + given + len(specs) > LONGEST:
        raise Invalid(f"The path has become longer than {LONGEST} nodes: it goes round in circles.")
    walked = [action.spec.id for action in begun(turn) if action.status in ("finished", "started")]
    before = [f"{turn.number}.{first - 1}"] if given else walked[-1:]
    chain = []
    for number, spec in enumerate(specs, first):
        needs = before if number == first else [f"{turn.number}.{number - 1}"]
        chain.append(spec.model_copy(update={"id": f"{turn.number}.{number}", "depends_on": tuple(needs)}))
    return tuple(chain)


def changed(turn: Turn, event: facts.TurnChanged) -> Turn:
    """The turn with another rest: an action with a known id stays in its place, others follow.

    What a person set is an action of theirs that is finished.
    """
    rest = {spec.id: spec for spec in event.actions}
    kept = tuple(a for a in turn.actions if a.status not in OPEN or a.spec.id in rest)
    stays = tuple(ruled_again(action, rest.pop(action.spec.id, action.spec)) for action in kept)
    added = (*_set_by_person(turn, event), *map(planned, rest.values()))
    actions = _items_first(stays, added) if turn.rules.by_step else (*stays, *added)
    return replace(turn, actions=actions, made=turn.made + len(added), chosen=_chosen(turn, event))


def _items_first(steps: tuple[Action, ...], items: tuple[Action, ...]) -> tuple[Action, ...]:
    """The actions for the items of a step's list stand right before what gathers their results."""
    ordered: list[Action] = []
    for step in steps:
        ordered += (item for item in items if item.spec.id.partition("[")[0] == step.spec.id)
        ordered.append(step)
    return tuple(ordered)


def ruled_again(action: Action, spec: ActionSpec) -> Action:
    """The same action if it has been started, or if nothing differs and nobody has to allow it any more.

    A read that is running can turn out to be no quiet one: it was not run.
    """
    same = action.spec == spec and (action.allowed or spec.approval_reason is None)
    if same or action.status not in (*OPEN, "running"):
        return action
    return replace(planned(spec), attempt=action.attempt)


def override_id(turn: Turn) -> str:
    """The id of the action that stands for what a person sets now."""
    return f"{turn.number}.{turn.made + 1}"


def _set_by_person(turn: Turn, event: facts.TurnChanged) -> tuple[Action, ...]:
    if not event.overrides:
        return ()
    flow, _ = split(event.actions[0].tool if event.actions else turn.actions[0].spec.tool)
    text = f"Set by the person: {', '.join(event.overrides)}"[:500]
    spec = ActionSpec(id=override_id(turn), tool=f"{flow}.{PERSON}", description=text)
    return (Action(spec, "finished", result=event.overrides),)


def _chosen(turn: Turn, event: facts.TurnChanged) -> str:
    """The next action, if a person put it there; it stays theirs when it gets what it runs with."""
    if not event.actions:
        return ""
    first = event.actions[0]
    replaced = next((action.spec for action in turn.actions if action.status in OPEN), None)
    stays = replaced is not None and replaced.id == turn.chosen and replaced.tool == first.tool
    return first.id if stays or event.actor.startswith("user:") else ""


def planned(spec: ActionSpec) -> Action:
    """An action as its ruling leaves it."""
    return Action(spec, RULED.get(spec.decision, "planned"), error=spec.decision_reason)
