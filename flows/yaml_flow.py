"""Flows written in YAML: nodes are prompts, calls of registered tools, questions, or constants."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, WithJsonSchema, create_model

from flows.graph_checks import check
from flows.yaml_form import REFERENCE, FlowForm, NodeForm, choices, read_form
from parley.flow import Flow, Node, NodeFailed, NodeQuestion, NodeRun, Outputs, State, ToolAnswer
from parley.protocol.flows import NodeSpec, tool_of
from parley.reply import JsonText, Kind, Reply
from shared.repair.values import decoded

SCALAR = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]})
TYPES: dict[str, Any] = {
    "text": str,
    "number": int | float,
    "boolean": bool,
    "list": list[Annotated[JsonValue, SCALAR]],
    "any": JsonText,
}


class YamlFlow(Flow):
    """A flow from a file. Raises BadFlow with all problems of the file."""

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
        return Node(spec, partial(_run_prompt, tool_of(flow.name, name), form, reply_of(name, form)))
    if form.ask is not None:
        return Node(
            spec, partial(_run_question, form), partial(_make_question, form), proposes=form.otherwise is not None
        )
    if form.set is not None:
        return Node(spec, partial(_run_set, form.set))
    run, tools = partial(_run_tools, form), tuple(call.tool for call in form.calls)
    if len(form.calls) > 1:
        return Node(spec, run, tools=tools)
    call = form.calls[0]
    return Node(spec, run, tool=call.tool, resolves=partial(fill, call.arguments), tools=tools)


def reply_of(name: str, form: NodeForm) -> type[Reply]:
    """The reply type of a prompt node: all outputs with their types, after an analysis if there are choices."""
    fields: dict[str, Any] = {}
    for output, kind in form.outputs.items():
        choice = choices(kind)
        fields[output] = (Literal[choice] if choice else TYPES[kind], Field())
    outputs = create_model(f"{name}_outputs", __config__=ConfigDict(extra="forbid"), **fields)
    fields_of_kind: dict[str, Any] = {"kind": (Literal["outputs"], "outputs")}
    fields_of_kind |= {"analysis": (str, "")} if _has_choices(form) else {}
    kind_model = create_model("Outputs", __base__=Kind, **fields_of_kind, outputs=(outputs, ...))
    return create_model(f"{name}_reply", __base__=Reply, reply=(kind_model, ...))


def _has_choices(form: NodeForm) -> bool:
    return any(choices(kind) for kind in form.outputs.values())


# --- the four kinds


async def _run_prompt(task: str, form: NodeForm, reply: type[Reply], run: NodeRun) -> Outputs:
    output_types = ", ".join(f"{name} ({kind})" for name, kind in form.outputs.items())
    analysis = "analysis (one or two sentences), " if _has_choices(form) else ""
    rules = (
        f"{(form.prompt or '').strip()}\nReply with the kind outputs: {analysis}outputs (an object of {output_types})."
    )
    sections = {name: _text(run.state.get(name)) for name in (*form.inputs, *form.optional)}
    reply_content = (await run.ask_model(task, rules, sections, reply)).reply
    outputs: Outputs = reply_content.outputs.model_dump(mode="json")
    return outputs


async def _make_question(form: NodeForm, _: State) -> NodeQuestion:
    return NodeQuestion((form.ask or "").strip(), tuple(form.options))


async def _run_question(form: NodeForm, run: NodeRun) -> Outputs:
    answer = run.answer if run.answer is not None else form.otherwise
    if answer is None:
        raise NodeFailed("The user did not answer, and there is no “otherwise”.")
    return {form.results[0]: answer}


async def _run_set(values: Outputs, _: NodeRun) -> Outputs:
    return dict(values)


async def _run_tools(form: NodeForm, run: NodeRun) -> Outputs:
    """Call the tools in order until one has all its values and answers.

    An approved call uses the approved arguments.
    """
    response = ToolAnswer(ok=False, error="Nothing is known that a tool could be asked with.")
    missing = (None, "") if len(form.calls) > 1 else (None,)
    for call in form.calls:
        approved = (
            dict(run.arguments) if len(form.calls) == 1 else {}
        )  # with several tools, the node's inputs were approved instead
        arguments = approved or fill(call.arguments, run.state)
        if any(value in missing for value in arguments.values()):
            continue
        response = await run.call_tool(call.tool, arguments)
        if response.ok or response.unknown:
            break
    if not (response.ok or form.trouble):
        raise NodeFailed(response.error, unknown=response.unknown)
    value = decoded(response.value) if response.ok else None
    outputs: Outputs = {form.results[0]: value}
    outputs |= {name: value_at(value, place.split(".")) for name, place in form.takes.items()}
    return outputs | ({form.trouble: response.error} if form.trouble else {})


# --- values


def fill(template: Mapping[str, JsonValue], state: State) -> Outputs:
    """The arguments with "$name" replaced by values of the state; a missing value becomes None."""
    return {name: _fill_value(value, state) for name, value in template.items()}


def _fill_value(value: JsonValue, state: State) -> JsonValue:
    if isinstance(value, str):
        match = REFERENCE.fullmatch(value)
        if match:
            return value_at(state.get(match[1]), [item for item in match[2].split(".") if item])
        return value.replace("$$", "$")
    if isinstance(value, list):
        return [_fill_value(item, state) for item in value]
    return fill(value, state) if isinstance(value, dict) else value


def value_at(value: JsonValue, place: list[str]) -> JsonValue:
    """The value at a place: by key, by index, or by key in each entry of a list."""
    for number, key in enumerate(place):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit():
            value = value[int(key)] if int(key) < len(value) else None
        elif isinstance(value, list):
            return [value_at(item, place[number:]) for item in value]
        else:
            return None
    return value


def _text(value: JsonValue) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
