"""The steps of a template from a session's successful calls, in order. Pure and deterministic.

A value that occurs in the output of exactly one earlier step becomes a reference to that output. Values that are not
distinctive stay as they are: short texts, small numbers, and values that the tool's schema lists.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, Outcome, Step
from shared.domain.kernel.errors import Invalid
from shared.domain.steps.plan_steps import GATHER
from shared.domain.steps.references import references
from shared.domain.workflows.flow import plans_path
from shared.plan_checks.argument_kinds import argument_kind
from shared.repair.reader import schema_at
from shared.repair.values import decoded
from shared.templates.checks import Tools
from shared.templates.from_steps import Path, is_same_value, leaves

MIN_TEXT_LENGTH, MIN_NUMBER = 3, 1_000  # shorter texts and smaller numbers never become references
MAX_STEPS = 100  # steps of a plan
Outputs = Mapping[str, JsonValue]


class SuccessfulCall(NamedTuple):
    """A call that succeeded, and the turn that planned it."""

    spec: ActionSpec
    turn: int
    outcome: Outcome


def steps_from_session(events: Iterable[SessionEvent], tools: Tools, chosen: Sequence[JsonValue] = ()) -> list[Step]:
    """What the session did, as steps of a plan. A `chosen` value never becomes a reference.

    Raises Invalid if no call succeeded, or too many did.
    """
    calls = successful_calls(events)
    if not calls:
        raise Invalid("No tool call has succeeded in this session: there is nothing to learn.")
    if len(calls) > MAX_STEPS:
        raise Invalid(f"The session made {len(calls)} calls; a plan has at most {MAX_STEPS} steps.")
    names = {call.spec.id: f"s{number}" for number, call in enumerate(calls, 1)}
    outputs: dict[str, JsonValue] = {}
    steps: list[Step] = []
    for call in calls:
        name, spec = names[call.spec.id], call.spec
        after = tuple(names[dependency] for dependency in _dependencies(call, calls))
        step = Step(id=name, text=_step_text(spec), tool=spec.tool, arguments=dict(spec.arguments), after=after)
        steps.append(_with_references(step, outputs, chosen, tools))
        if call.outcome.size is None:  # with a size the journal has only the beginning of the result
            outputs[name] = decoded(call.outcome.result)  # as some tools return JSON text
    return steps


def _dependencies(call: SuccessfulCall, calls: Sequence[SuccessfulCall]) -> list[str]:
    """The ids of the calls that it depended on. A call that names none comes after all calls of the turn before."""
    ids = [other.spec.id for other in calls]
    if named := [other for other in call.spec.depends_on if other in ids]:
        return named
    earlier = [other.turn for other in calls if other.turn < call.turn]
    return [other.spec.id for other in calls if earlier and other.turn == max(earlier)]


def successful_calls(events: Iterable[SessionEvent]) -> list[SuccessfulCall]:
    """The calls that succeeded, in order of completion, without nodes of flows, which are not tool calls."""
    specs: dict[str, tuple[ActionSpec, int]] = {}
    ended: list[SuccessfulCall] = []
    paths: set[int] = set()  # versions of plans that are paths through a flow
    turns: set[int] = set()  # turns that walk such a path
    for event in events:
        match event:
            case facts.PlanDrafted() if plans_path(event):
                paths.add(event.version)
            case facts.PlanEdited() if event.base_version in paths:
                paths.add(event.version)
            case facts.TurnPlanned() if plans_path(event):
                turns.add(event.turn)
            case facts.PlanApproved() if event.plan_version in paths:
                turns.add(event.turn or 0)
            case facts.TurnPlanned() | facts.TurnRequested() | facts.TurnChanged() | facts.PlanApproved():
                if event.turn not in turns:
                    specs |= {spec.id: (spec, event.turn or 0) for spec in event.actions}
            case facts.ActionsFinished():
                succeeded = [
                    SuccessfulCall(*specs[outcome.action_id], outcome)
                    for outcome in event.outcomes
                    if outcome.ok and outcome.action_id in specs
                ]
                ended += [call for call in succeeded if call.spec.tool != GATHER]
            case _:
                pass
    return ended


def _step_text(spec: ActionSpec) -> str:
    return spec.description.strip()[:2_000] or spec.tool.replace("_", " ")


def _with_references(step: Step, outputs: Outputs, chosen: Sequence[JsonValue], tools: Tools) -> Step:
    """The step with references to earlier outputs. A chosen value stays, to become a parameter."""
    spec = tools.get(step.tool or "")

    def replaced(value: JsonValue, path: Path) -> JsonValue:
        match value:
            case dict():
                return {name: replaced(item, (*path, name)) for name, item in value.items()}
            case list():
                return [replaced(item, (*path, at)) for at, item in enumerate(value)]
            case _:
                schema = schema_at(spec.parameters, path) if spec else {}
                kind = argument_kind(str(path[0]), spec.parameters if spec else {})
                stays = kind != "text" or "enum" in schema or "const" in schema or not _is_distinctive(value)
                return (
                    value
                    if stays or any(is_same_value(value, other) for other in chosen)
                    else _reference(value, outputs) or value
                )

    arguments = {name: replaced(value, (name,)) for name, value in (step.arguments or {}).items()}
    return step.model_copy(update={"arguments": arguments})


def _is_distinctive(value: JsonValue) -> bool:
    """Whether the same value elsewhere is hardly a coincidence."""
    if isinstance(value, str):
        return len(value) >= MIN_TEXT_LENGTH
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= MIN_NUMBER


def _reference(value: JsonValue, outputs: Outputs) -> str:
    """The reference to the value's shallowest place in the only output that has it; "" if none or several have it."""
    paths_by_step: dict[str, list[str]] = {}
    for name, output in outputs.items():
        places = [path for path, candidates in leaves(output) if is_same_value(candidates, value)]
        if places:
            paths_by_step[name] = [
                written for path in sorted(places, key=len) if references(written := _reference_text(name, path))
            ]
    candidates = next(iter(paths_by_step.values()), []) if len(paths_by_step) == 1 else []
    return next(iter(candidates), "")


def _reference_text(step: str, path: Path) -> str:
    """The place as a reference. A name with a blank gives text that is not a valid reference: callers check."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "{{steps." + step + ".output" + "".join(parts) + "}}"
