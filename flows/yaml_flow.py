"""Flows that are written in YAML: prompts, calls of registered tools, questions and constants as nodes."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, WithJsonSchema, create_model

from flows.checks import check
from flows.yaml_form import REFERENCE, FlowForm, NodeForm, choices, read_form
from parley.flow import Asked, Flow, Node, NodeFailed, Outputs, Run, State, ToolAnswer
from parley.protocol.flows import NodeSpec, tool_of
from parley.reply import JsonText, Kind, Reply

SCALAR = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]})
TYPES: dict[str, Any] = {
    "text": str,
    "number": int | float,
    "boolean": bool,
    "list": list[Annotated[JsonValue, SCALAR]],
    "any": JsonText,
}


class YamlFlow(Flow):
    """A flow from a file. Raises BadFlow with all that is wrong with it."""

    def __init__(self, path: Path) -> None:
        form = read_form(path)
        self.name, self.description, self.starts = form.name, form.description, tuple(form.starts)
        self._nodes = tuple(_node(form, name, node) for name, node in form.nodes.items())
        check(self.spec())

    def nodes(self) -> tuple[Node, ...]:
        return self._nodes


def _node(flow: FlowForm, name: str, form: NodeForm) -> Node:
    spec = NodeSpec(
        name=name,
        title=form.title,
        description=form.description.strip(),
        inputs=tuple(form.inputs),
        optional=tuple(form.optional),
        outputs=tuple(form.set or form.outputs),
        possible_next_nodes=tuple(form.next),
        conditions=form.conditions,
        asks=form.ask is not None,
        confirm=form.confirm,
        effect=form.effect,
    )
    if form.prompt is not None:
        return Node(spec, partial(_prompt, tool_of(flow.name, name), form, reply_of(name, form)))
    if form.ask is not None:
        return Node(spec, partial(_answered, form), partial(_asked, form), proposes=form.otherwise is not None)
    if form.set is not None:
        return Node(spec, partial(_set, form.set))
    if len(form.calls) > 1:
        return Node(spec, partial(_tools, form))
    call = form.calls[0]
    return Node(spec, partial(_tools, form), tool=call.tool, resolves=partial(filled, call.arguments))


def reply_of(name: str, form: NodeForm) -> type[Reply]:
    """What the model must reply: all outputs, each of its type; where it chooses among words, an analysis before."""
    fields: dict[str, Any] = {}
    for output, kind in form.outputs.items():
        choice = choices(kind)
        fields[output] = (Literal[choice] if choice else TYPES[kind], Field())
    outputs = create_model(f"{name}_outputs", __config__=ConfigDict(extra="forbid"), **fields)
    said: dict[str, Any] = {"kind": (Literal["outputs"], "outputs")}
    said |= {"analysis": (str, "")} if _chooses(form) else {}
    kinds = create_model("Outputs", __base__=Kind, **said, outputs=(outputs, ...))
    return create_model(f"{name}_reply", __base__=Reply, reply=(kinds, ...))


def _chooses(form: NodeForm) -> bool:
    return any(choices(kind) for kind in form.outputs.values())


# --- the four kinds


async def _prompt(task: str, form: NodeForm, reply: type[Reply], run: Run) -> Outputs:
    told = ", ".join(f"{name} ({kind})" for name, kind in form.outputs.items())
    analysis = "analysis (one or two sentences), " if _chooses(form) else ""
    rules = f"{(form.prompt or '').strip()}\nReply with the kind outputs: {analysis}outputs (an object of {told})."
    sections = {name: _text(run.state.get(name)) for name in (*form.inputs, *form.optional)}
    said = (await run.ask_model(task, rules, sections, reply)).reply
    outputs: Outputs = said.outputs.model_dump(mode="json")
    return outputs


async def _asked(form: NodeForm, _: State) -> Asked:
    return Asked((form.ask or "").strip(), tuple(form.options))


async def _answered(form: NodeForm, run: Run) -> Outputs:
    said = run.answer if run.answer is not None else form.otherwise
    if said is None:
        raise NodeFailed("Nobody answered, and nothing is said under “otherwise”.")
    return {form.results[0]: said}


async def _set(values: Outputs, _: Run) -> Outputs:
    return dict(values)


async def _tools(form: NodeForm, run: Run) -> Outputs:
    """The first tool whose values are all there and which answers; what was approved is called as it was approved."""
    said = ToolAnswer(ok=False, error="Nothing is known that a tool could be asked with.")
    nothing = (None, "") if len(form.calls) > 1 else (None,)
    for call in form.calls:
        approved = dict(run.arguments) if len(form.calls) == 1 else {}  # of several, the node's inputs were shown
        arguments = approved or filled(call.arguments, run.state)
        if any(value in nothing for value in arguments.values()):
            continue
        said = await run.call_tool(call.tool, arguments)
        if said.ok or said.unknown:
            break
    if not (said.ok or form.trouble):
        raise NodeFailed(said.error, unknown=said.unknown)
    value = _parsed(said.value) if said.ok else None
    outputs: Outputs = {form.results[0]: value}
    outputs |= {name: part(value, place.split(".")) for name, place in form.takes.items()}
    return outputs | ({form.trouble: said.error} if form.trouble else {})


# --- values


def filled(template: Mapping[str, JsonValue], state: State) -> Outputs:
    """The arguments with "$name" replaced by values of the state; a value that is not there is None."""
    return {name: _filled(value, state) for name, value in template.items()}


def _filled(value: JsonValue, state: State) -> JsonValue:
    if isinstance(value, str):
        found = REFERENCE.fullmatch(value)
        if found:
            return part(state.get(found[1]), [one for one in found[2].split(".") if one])
        return value.replace("$$", "$")
    if isinstance(value, list):
        return [_filled(one, state) for one in value]
    return filled(value, state) if isinstance(value, dict) else value


def part(value: JsonValue, place: list[str]) -> JsonValue:
    """A value within a value: by key, by number, or, of a list, that key of all its entries."""
    for number, key in enumerate(place):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit():
            value = value[int(key)] if int(key) < len(value) else None
        elif isinstance(value, list):
            return [part(one, place[number:]) for one in value]
        else:
            return None
    return value


def _parsed(value: JsonValue) -> JsonValue:
    """A result that is JSON in a text, as what it says; an id that looks like a number stays a text."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        found: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found


def _text(value: JsonValue) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
