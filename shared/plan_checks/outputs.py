"""Checks references between a plan's steps against the outputs that the tools declare. Pure.

This finds references to nothing, indices into values that are not lists, and for-each steps over such values before
anything runs. If a tool declares no output, its references can only be checked after its step has run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from parley.events.values import Step
from parley.protocol.tools import ToolSpec
from shared.domain.steps.references import ITEM, Reference, is_whole, references, texts
from shared.plan_checks.calls import polled_call
from shared.repair.reader import forms_but_null
from shared.repair.schema import MAX_FORMS, TYPE_WORDS, Schema, as_schema, properties, types_of

MAX_NAMES = 30  # fields named in a problem

type Tools = Mapping[str, ToolSpec]
type Steps = Mapping[str, Step]  # by id


class Output(NamedTuple):
    """The schemas that a value may match, which refer to the schema `root`. None stands for an undeclared value."""

    forms: tuple[Schema, ...]
    root: Schema


class InvalidReference(Exception):
    """The reference leads to nothing; the text says what exists instead."""


class ReferenceFinding(NamedTuple):
    """A problem with a reference (`blocks`), or a note that it cannot be checked yet."""

    text: str
    blocks: bool


def reference_findings(steps: Sequence[Step], tools: Tools) -> Iterator[tuple[Step, ReferenceFinding]]:
    """The findings about each step's references."""
    by_id = {step.id: step for step in steps if step.id}
    for step in steps:
        unknown: list[str] = []
        item, wrong = _for_each_item(step, by_id, tools, unknown)
        for text in (*wrong, *_argument_problems(step, item, by_id, tools, unknown)):
            yield step, ReferenceFinding(text, blocks=True)
        if unknown:
            names = ", ".join(dict.fromkeys(unknown))
            text = f"{names} can only be checked when the plan runs: no tool declares what is there."
            yield step, ReferenceFinding(text, blocks=False)


def declared_forms(steps: Sequence[Step], tools: Tools) -> Callable[[Step, Reference], Sequence[Schema] | None]:
    """A function from a step's reference to the schemas that its value may match; None where none is declared."""
    by_id = {step.id: step for step in steps if step.id}

    def forms_of(step: Step, reference: Reference) -> Sequence[Schema] | None:
        item, _ = _for_each_item(step, by_id, tools, [])
        try:
            output = _resolve(reference, item, by_id, tools)
        except InvalidReference:
            return None  # `reference_findings` has it
        return output.forms if output else None

    return forms_of


def output_of(step: Step, tools: Tools) -> Output | None:
    """The step's output; for a polling step, that of the tool that it calls."""
    spec = tools.get((polled_call(step) or step).tool or "")
    returns = spec.returns if spec else None
    if step.for_each is None:
        return None if returns is None else _output(returns, returns)
    return Output(({"type": "array", **({} if returns is None else {"items": returns})},), returns or {})


def _for_each_item(step: Step, by_id: Steps, tools: Tools, unknown: list[str]) -> tuple[Output | None, tuple[str, ...]]:
    """An item of the list that the step repeats for, and the problems of that list."""
    for reference in references(step.for_each):
        try:
            if item := _item(reference, by_id, tools):
                return item, ()
        except InvalidReference as wrong:
            return None, (str(wrong),)
        unknown.append(reference.text)
    return None, ()


def _argument_problems(
    step: Step, item: Output | None, by_id: Steps, tools: Tools, unknown: list[str]
) -> Iterator[str]:
    """The problems of references in the step's arguments."""
    for text in texts(step.arguments or {}):
        alone = is_whole(text)
        for reference in references(text):
            try:
                output = _resolve(reference, item, by_id, tools)
            except InvalidReference as wrong:
                yield str(wrong)
                continue
            if output is None and (reference.path or not alone):
                unknown.append(reference.text)
            if output and all(types_of(form) == ("null",) for form in output.forms):
                yield f"{reference.text} is always null."
            elif output and not alone and all(_is_compound(form) for form in output.forms):
                yield f"{reference.text} stands for several values, which cannot be put into a text."


def _item(reference: Reference, by_id: Steps, tools: Tools) -> Output | None:
    """An item of the list that the reference stands for. Raises InvalidReference."""
    output = _resolve(reference, None, by_id, tools)
    if output is None:
        return None
    lists = [form for form in output.forms if not types_of(form) or "array" in types_of(form)]
    if not lists:
        raise InvalidReference(f"{reference.text} is {_described(output.forms)}, and no list.")
    return _merge([_output(as_schema(form.get("items")), output.root) for form in lists])


def _resolve(reference: Reference, item: Output | None, by_id: Steps, tools: Tools) -> Output | None:
    """The value that the reference stands for. Raises InvalidReference."""
    if reference.step == ITEM:
        output, owner = item, "the item"
    elif source := by_id.get(reference.step):
        output, owner = output_of(source, tools), f"step {reference.step} ({source.tool})"
    else:
        return None  # another check reports the missing step
    for part in reference.path:
        if output is None:
            return None
        output = _part(output, part, f"{reference.text}: {owner}")
    return output


def _part(output: Output, part: str | int, owner: str) -> Output | None:
    """A part of the value. Raises InvalidReference if no form of the value has it."""
    parts: list[Output | None] = []
    wrong: list[str] = []
    for form in output.forms:
        outcome = _item_of(form, part, output.root) if isinstance(part, int) else _field_of(form, part, output.root)
        if isinstance(outcome, str):
            wrong.append(outcome)
        else:
            parts.append(outcome)
    if not parts and wrong:
        raise InvalidReference(f"{owner} {wrong[0]}.")
    return _merge(parts)


def _field_of(form: Schema, name: str, root: Schema) -> Output | str | None:
    """The field of this name, or why there is none; None if it is undeclared."""
    if types_of(form) and "object" not in types_of(form):
        return f"has {_described((form,))} where “{name}” would be"
    known = properties(form)
    if name in known:
        return _output(known[name], root)
    more = form.get("additionalProperties", True)
    if more is False and "patternProperties" not in form:
        names = [*known][:MAX_NAMES]
        return f"has no “{name}”, only {', '.join([*names, *(['…'] if len(known) > MAX_NAMES else [])]) or 'no fields'}"
    return _output(more, root) if isinstance(more, dict) else None


def _item_of(form: Schema, index: int, root: Schema) -> Output | str | None:
    if types_of(form) and "array" not in types_of(form):
        return f"has {_described((form,))} where [{index}] wants a list"
    first = form.get("prefixItems")
    if isinstance(first, list) and index < len(first):
        return _output(as_schema(first[index]), root)
    rest = form.get("items", True)
    if rest is False:
        return f"has a list that is too short for [{index}]"
    return _output(rest, root) if isinstance(rest, dict) else None


def _output(schema: Schema, root: Schema) -> Output | None:
    schema_forms = forms_but_null(schema, root)
    return Output(schema_forms, root) if all(schema_forms) else None


def _merge(outputs: Sequence[Output | None]) -> Output | None:
    known = [output for output in outputs if output]
    merged = tuple(form for output in known for form in output.forms)
    if len(known) < len(outputs) or not 0 < len(merged) <= MAX_FORMS:
        return None
    return Output(merged, known[0].root)


def _is_compound(form: Schema) -> bool:
    kinds = types_of(form)
    return bool(kinds) and set(kinds) <= {"object", "array"}


def _described(forms_: Sequence[Schema]) -> str:
    kinds = dict.fromkeys(TYPE_WORDS[kind] for form in forms_ for kind in types_of(form))
    return " or ".join(kinds) or "something"
