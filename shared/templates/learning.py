"""A template learned from what a session did: its successful calls, in order. Pure and deterministic.

A value that occurs in the output of exactly one earlier step becomes a reference to that output. Values that say little
stay as they are: short texts, small numbers, and what the tool's schema lists.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, Outcome, Step
from parley.protocol.templates import Template
from shared.domain.errors import Invalid
from shared.domain.plan_steps import GATHER
from shared.domain.references import references
from shared.domain.workflows.flow import plans_path
from shared.plan_checks.kinds import argument_kind
from shared.templates.checks import Tools
from shared.templates.making import Path, Wanted, leaves, made_from, same
from shared.templates.schemas import schema_at

SHORTEST, SMALLEST = 3, 1_000  # a text of fewer characters, or a smaller number, never becomes a reference
MOST = 100  # steps of a plan
Outputs = Mapping[str, JsonValue]


class Call(NamedTuple):
    """A call that succeeded, and the turn that it was planned in."""

    spec: ActionSpec
    turn: int
    outcome: Outcome


def learned(events: Iterable[SessionEvent], goal: str, wanted: Wanted, tools: Tools) -> Template:
    """Make a template of a session's journal. Raises Invalid where nothing can be learned."""
    return made_from(goal[:500], learned_steps(events, tools, [one.value for one in wanted.parameters]), wanted, tools)


def learned_steps(events: Iterable[SessionEvent], tools: Tools, chosen: Sequence[JsonValue] = ()) -> list[Step]:
    """What the session did, as steps of a plan. A `chosen` value never becomes a reference.

    Raises Invalid where no call succeeded, or too many did.
    """
    calls = finished(events)
    if not calls:
        raise Invalid("No call of a tool has ended well in this session: there is nothing to learn.")
    if len(calls) > MOST:
        raise Invalid(f"The session made {len(calls)} calls; a plan has at most {MOST} steps.")
    names = {call.spec.id: f"s{number}" for number, call in enumerate(calls, 1)}
    outputs: dict[str, JsonValue] = {}
    steps: list[Step] = []
    for call in calls:
        name, spec = names[call.spec.id], call.spec
        after = tuple(names[one] for one in _before(call, calls))
        step = Step(id=name, text=_words(spec), tool=spec.tool, arguments=dict(spec.arguments), after=after)
        steps.append(_referring(step, outputs, chosen, tools))
        if call.outcome.size is None:  # a size is given where the journal has only the beginning of the result
            outputs[name] = _parsed(call.outcome.result)
    return steps


def _before(call: Call, calls: Sequence[Call]) -> list[str]:
    """The calls that it depended on. One that names none comes after all calls of the turn before."""
    there = [one.spec.id for one in calls]
    if needed := [one for one in call.spec.depends_on if one in there]:
        return needed
    earlier = [one.turn for one in calls if one.turn < call.turn]
    return [one.spec.id for one in calls if earlier and one.turn == max(earlier)]


def finished(events: Iterable[SessionEvent]) -> list[Call]:
    """The calls that succeeded, in order of completion. Nodes of flows are left out: they are no calls of tools."""
    specs: dict[str, tuple[ActionSpec, int]] = {}
    ended: list[Call] = []
    paths: set[int] = set()  # the versions of plans that are a path through a flow
    turns: set[int] = set()  # the turns that walk such a path
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
                done = [Call(*specs[one.action_id], one) for one in event.outcomes if one.ok and one.action_id in specs]
                ended += [call for call in done if call.spec.tool != GATHER]
            case _:
                pass
    return ended


def _words(spec: ActionSpec) -> str:
    return spec.description.strip()[:2_000] or spec.tool.replace("_", " ")


def _parsed(result: JsonValue) -> JsonValue:
    """The value that a tool gave. Some tools give their objects as JSON text, which is decoded."""
    if not isinstance(result, str) or result[:1] not in ("{", "["):
        return result
    try:
        value: JsonValue = json.loads(result)
    except (ValueError, RecursionError):
        return result
    return value


def _referring(step: Step, outputs: Outputs, chosen: Sequence[JsonValue], tools: Tools) -> Step:
    """The step with references in place of what earlier ones gave; a chosen value stays, to become a parameter."""
    spec = tools.get(step.tool or "")

    def replaced(value: JsonValue, path: Path) -> JsonValue:
        match value:
            case dict():
                return {name: replaced(item, (*path, name)) for name, item in value.items()}
            case list():
                return [replaced(item, (*path, at)) for at, item in enumerate(value)]
            case _:
                taken = schema_at(spec.parameters, path) if spec else {}
                kind = argument_kind(str(path[0]), spec.parameters if spec else {})
                stays = kind != "text" or "enum" in taken or "const" in taken or not _tells(value)
                return (
                    value if stays or any(same(value, one) for one in chosen) else _reference(value, outputs) or value
                )

    arguments = {name: replaced(value, (name,)) for name, value in (step.arguments or {}).items()}
    return step.model_copy(update={"arguments": arguments})


def _tells(value: JsonValue) -> bool:
    """Whether the same value elsewhere is no coincidence."""
    if isinstance(value, str):
        return len(value) >= SHORTEST
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= SMALLEST


def _reference(value: JsonValue, outputs: Outputs) -> str:
    """The reference to the only output that has the value, at its shallowest place; "" if none or several have it."""
    having: dict[str, list[str]] = {}
    for name, output in outputs.items():
        places = [path for path, found in leaves(output) if same(found, value)]
        if places:
            having[name] = [written for path in sorted(places, key=len) if references(written := _written(name, path))]
    found = next(iter(having.values()), []) if len(having) == 1 else []
    return next(iter(found), "")


def _written(step: str, path: Path) -> str:
    """The place as a reference. With a name that has a blank in it the text is no reference: callers check."""
    parts = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return "{{steps." + step + ".output" + "".join(parts) + "}}"
