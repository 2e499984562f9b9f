"""A template learned from what a session did: its finished calls, in order. Pure, and the same every time.

A value that stands in exactly one earlier output becomes a reference to it. Values that say little (short words, small
numbers, words that the tool itself lists) are left as they are.
"""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, Outcome, Step
from parley.protocol.templates import Template
from shared.domain.errors import Invalid
from shared.domain.references import references
from shared.domain.workflows.flow import plans_path
from shared.plan_checks import LITERAL
from shared.templates.checks import Tools
from shared.templates.making import Path, Wanted, leaves, made_from, same
from shared.templates.schemas import schema_at

SHORTEST, SMALLEST = 3, 1_000  # characters of a text, and the number, from which on it is taken for a reference
MOST = 100  # steps of a plan
Outputs = Mapping[str, JsonValue]


def learned(events: Iterable[SessionEvent], goal: str, wanted: Wanted, tools: Tools) -> Template:
    """From the session's journal. Raises Invalid where nothing can be learned."""
    calls = finished(events)
    if not calls:
        raise Invalid("No call of a tool has ended well in this session: there is nothing to learn.")
    if len(calls) > MOST:
        raise Invalid(f"The session made {len(calls)} calls; a plan has at most {MOST} steps.")
    chosen = [one.value for one in wanted.parameters]
    outputs: dict[str, JsonValue] = {}
    steps: list[Step] = []
    for number, (spec, outcome) in enumerate(calls, 1):
        step = Step(id=f"s{number}", text=_words(spec), tool=spec.tool, arguments=dict(spec.arguments))
        steps.append(_after_changes(_referring(step, outputs, chosen, tools), steps, spec, calls))
        if outcome.size is None:  # of a larger result only the beginning is known
            outputs[f"s{number}"] = outcome.result
    return made_from(goal[:500], steps, wanted, tools)


def finished(events: Iterable[SessionEvent]) -> list[tuple[ActionSpec, Outcome]]:
    """The calls that ended well, in the order in which they did; nodes of flows are no calls of tools."""
    specs: dict[str, ActionSpec] = {}
    ended: list[tuple[ActionSpec, Outcome]] = []
    paths: set[int] = set()  # versions of plans
    turns: set[int] = set()  # that walk a path
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
                    specs |= {spec.id: spec for spec in event.actions}
            case facts.ActionsFinished():
                ended += [(specs[one.action_id], one) for one in event.outcomes if one.ok and one.action_id in specs]
            case _:
                pass
    return ended


def _words(spec: ActionSpec) -> str:
    return spec.description.strip()[:2_000] or spec.tool.replace("_", " ")


def _after_changes(step: Step, before: list[Step], spec: ActionSpec, calls: list[tuple[ActionSpec, Outcome]]) -> Step:
    """A change, and a read after a change, come after the last change: they were seen in this order, and no other."""
    changes = [one.id for one, (earlier, _) in zip(before, calls, strict=False) if earlier.effect != "read" and one.id]
    waits = changes[-1:] if changes else [one.id for one in before if one.id] if spec.effect != "read" else []
    return step.model_copy(update={"after": tuple(waits)})


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
                stays = path[0] in LITERAL or "enum" in taken or "const" in taken or not _tells(value)
                return (
                    value if stays or any(same(value, one) for one in chosen) else _reference(value, outputs) or value
                )

    arguments = {name: replaced(value, (name,)) for name, value in (step.arguments or {}).items()}
    return step.model_copy(update={"arguments": arguments})


def _tells(value: JsonValue) -> bool:
    if isinstance(value, str):
        return len(value) >= SHORTEST
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= SMALLEST


def _reference(value: JsonValue, outputs: Outputs) -> str:
    """To the one output that has the value, at the place nearest to its top; "" where none or several have it."""
    having: dict[str, list[str]] = {}
    for name, output in outputs.items():
        places = [path for path, found in leaves(output) if same(found, value)]
        if places:
            having[name] = [written for path in sorted(places, key=len) if references(written := _written(name, path))]
    found = next(iter(having.values()), []) if len(having) == 1 else []
    return next(iter(found), "")


def _written(step: str, path: Path) -> str:
    """As a reference; one that a name with a blank leads to is none."""
    parts = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return "{{steps." + step + ".output" + "".join(parts) + "}}"
