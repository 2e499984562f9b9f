"""References of a plan's steps, held against what the tools declare that they return. Pure.

A reference that leads to nothing, an index into what is no list, and a step for each item of what is no list are wrong
before anything has run. Where a tool declares nothing, nobody can tell before its step has run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from parley.events.values import Step
from parley.protocol.tools import ToolSpec
from shared.domain.references import ITEM, Reference, is_whole, references, texts
from shared.plan_checks.calls import polled_call
from shared.plan_checks.schemas import MOST, Schema, forms
from shared.repair.schema import KINDS, as_schema, kinds_of, properties

SHOWN = 30  # fields that are named

type Tools = Mapping[str, ToolSpec]
type Steps = Mapping[str, Step]  # by id


class Output(NamedTuple):
    """The forms that a value may have, by the schema `root` that they refer to. None: nothing is declared of it."""

    forms: tuple[Schema, ...]
    root: Schema


class Wrong(Exception):
    """The reference leads to nothing; the message says what there is instead."""


class Finding(NamedTuple):
    """What is wrong with a reference of a step (`blocks`), or what cannot be told of it yet."""

    text: str
    blocks: bool


def reference_findings(steps: Sequence[Step], tools: Tools) -> Iterator[tuple[Step, Finding]]:
    """What there is to say of the references of each step."""
    by_id = {step.id: step for step in steps if step.id}
    for step in steps:
        unknown: list[str] = []
        item, wrong = _of_list(step, by_id, tools, unknown)
        for text in (*wrong, *_of_arguments(step, item, by_id, tools, unknown)):
            yield step, Finding(text, blocks=True)
        if unknown:
            names = ", ".join(dict.fromkeys(unknown))
            text = f"{names} can only be checked when the plan runs: no tool declares what is there."
            yield step, Finding(text, blocks=False)


def output_of(step: Step, tools: Tools) -> Output | None:
    """What the step gives: one that polls, what the tool gives that it calls."""
    spec = tools.get((polled_call(step) or step).tool or "")
    returns = spec.returns if spec else None
    if step.for_each is None:
        return None if returns is None else _output(returns, returns)
    return Output(({"type": "array", **({} if returns is None else {"items": returns})},), returns or {})


def _of_list(step: Step, by_id: Steps, tools: Tools, unknown: list[str]) -> tuple[Output | None, tuple[str, ...]]:
    """An item of the list that the step is done for, and what is wrong with that list."""
    for reference in references(step.for_each):
        try:
            if item := _item(reference, by_id, tools):
                return item, ()
        except Wrong as wrong:
            return None, (str(wrong),)
        unknown.append(reference.text)
    return None, ()


def _of_arguments(step: Step, item: Output | None, by_id: Steps, tools: Tools, unknown: list[str]) -> Iterator[str]:
    """What is wrong with the references in the step's arguments."""
    for text in texts(step.arguments or {}):
        alone = is_whole(text)
        for reference in references(text):
            try:
                found = _referred(reference, item, by_id, tools)
            except Wrong as wrong:
                yield str(wrong)
                continue
            if found is None and (reference.path or not alone):
                unknown.append(reference.text)
            if found and not alone and all(_is_several(form) for form in found.forms):
                yield f"{reference.text} stands for several values, which cannot be put into a text."


def _item(reference: Reference, by_id: Steps, tools: Tools) -> Output | None:
    """One item of the list that the reference stands for. Raises Wrong."""
    found = _referred(reference, None, by_id, tools)
    if found is None:
        return None
    lists = [form for form in found.forms if not kinds_of(form) or "array" in kinds_of(form)]
    if not lists:
        raise Wrong(f"{reference.text} is {_described(found.forms)}, and no list.")
    return _joined([_output(as_schema(form.get("items")), found.root) for form in lists])


def _referred(reference: Reference, item: Output | None, by_id: Steps, tools: Tools) -> Output | None:
    """What the reference stands for. Raises Wrong."""
    if reference.step == ITEM:
        at, whose = item, "the item"
    elif source := by_id.get(reference.step):
        at, whose = output_of(source, tools), f"step {reference.step} ({source.tool})"
    else:
        return None  # that there is no such step is said already
    for part in reference.path:
        if at is None:
            return None
        at = _part(at, part, f"{reference.text}: {whose}")
    return at


def _part(at: Output, part: str | int, whose: str) -> Output | None:
    """Raises Wrong where no form of the value has such a part."""
    found: list[Output | None] = []
    wrong: list[str] = []
    for form in at.forms:
        made = _item_of(form, part, at.root) if isinstance(part, int) else _field_of(form, part, at.root)
        if isinstance(made, str):
            wrong.append(made)
        else:
            found.append(made)
    if not found and wrong:
        raise Wrong(f"{whose} {wrong[0]}.")
    return _joined(found)


def _field_of(form: Schema, name: str, root: Schema) -> Output | str | None:
    """The field of this name, or why there is none; None where there may be one."""
    if kinds_of(form) and "object" not in kinds_of(form):
        return f"has {_described((form,))} where “{name}” would be"
    known = properties(form)
    if name in known:
        return _output(known[name], root)
    more = form.get("additionalProperties", True)
    if more is False and "patternProperties" not in form:
        names = [*known][:SHOWN]
        return f"has no “{name}”, only {', '.join([*names, *(['…'] if len(known) > SHOWN else [])]) or 'no fields'}"
    return _output(more, root) if isinstance(more, dict) else None


def _item_of(form: Schema, index: int, root: Schema) -> Output | str | None:
    if kinds_of(form) and "array" not in kinds_of(form):
        return f"has {_described((form,))} where [{index}] wants a list"
    first = form.get("prefixItems")
    if isinstance(first, list) and index < len(first):
        return _output(as_schema(first[index]), root)
    rest = form.get("items", True)
    if rest is False:
        return f"has a list that is too short for [{index}]"
    return _output(rest, root) if isinstance(rest, dict) else None


def _output(schema: Schema, root: Schema) -> Output | None:
    found = forms(schema, root)
    return Output(found, root) if all(found) else None


def _joined(outputs: Sequence[Output | None]) -> Output | None:
    known = [one for one in outputs if one]
    found = tuple(form for one in known for form in one.forms)
    if len(known) < len(outputs) or not 0 < len(found) <= MOST:
        return None
    return Output(found, known[0].root)


def _is_several(form: Schema) -> bool:
    kinds = kinds_of(form)
    return bool(kinds) and set(kinds) <= {"object", "array"}


def _described(forms_: Sequence[Schema]) -> str:
    kinds = dict.fromkeys(KINDS[kind] for form in forms_ for kind in kinds_of(form))
    return " or ".join(kinds) or "something"
