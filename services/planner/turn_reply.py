"""The reply schema for a turn: one call shape for each tool in the prompt, with that tool's arguments."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, create_model

from parley.protocol.tools import ToolPage
from parley.reply import with_kinds, without_kinds
from services.planner.agentflow_prompt import Planned, TurnDraft, TurnReply
from shared.llm.strict_schema import MAX_LEVELS, Size, UnsupportedSchema, size, to_strict

AROUND = 5  # schema levels around the arguments of a call
# limit for the argument schemas of all tools together; the rest of the reply needs little
HALF = Size(2_000, 500, 50_000)


def turn_reply(page: ToolPage, *, searchable: bool) -> type[TurnReply]:
    """The reply type for this page of tools. Without tools it offers no turn.

    With `searchable` the model may ask for other tools, if there are any.
    """
    withheld = [] if searchable and page.others else ["more_tools"]
    if not page.tools:
        return without_kinds(TurnReply, *withheld, "turn")
    key = json.dumps([[spec.name, spec.parameters] for spec in page.tools])
    return without_kinds(_with_calls(key), *withheld)


@lru_cache(maxsize=32)
def _with_calls(key: str) -> type[TurnReply]:
    calls = _calls([(name, parameters) for name, parameters in json.loads(key)])
    planned: Any = Annotated[Planned, WithJsonSchema(_planned({"anyOf": calls} if len(calls) > 1 else calls[0]))]
    actions: Any = (list[planned], Field(min_length=1, max_length=20))
    turn = create_model("TurnDraft", __base__=TurnDraft, __doc__=TurnDraft.__doc__, actions=actions)
    return with_kinds(TurnReply, [turn if kind is TurnDraft else kind for kind in TurnReply.kinds()])


def _calls(tools: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The schema of a call of each tool.

    Arguments that the strict subset of JSON schema cannot express are JSON text, described by their own schema.
    """
    counted = Size()
    calls: list[dict[str, Any]] = []
    for name, parameters in tools:
        try:
            arguments = to_strict(parameters, nullable=True, levels=MAX_LEVELS - AROUND)
        except UnsupportedSchema:
            arguments = _as_text(parameters)
        if not (counted + size(arguments)).within(HALF):
            arguments = _as_text(parameters)
        counted += size(arguments)
        calls.append(_call(name, arguments))
    return calls


def _as_text(parameters: dict[str, Any]) -> dict[str, Any]:
    schema = json.dumps(parameters, ensure_ascii=False)
    return {"type": "string", "description": f"A JSON object as text, of this schema: {schema}"}


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The tool and its arguments in one object; `arguments` apart where they are text, or have such a name."""
    tool, own = {"type": "string", "const": name}, arguments.get("properties")
    if own is None or own.keys() & {"tool", "arguments"}:
        return _object({"tool": tool, "arguments": arguments})
    return _object({"tool": tool, **own})


def _planned(call: dict[str, Any]) -> dict[str, Any]:
    numbers = {"type": "array", "items": {"type": "integer"}, "maxItems": 20}
    return _object({"call": call, "text": {"type": "string"}, "depends_on": numbers, "sub_goal": {"type": "string"}})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
