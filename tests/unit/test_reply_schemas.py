"""The reply schemas that models receive stay within the subset that OpenAI's strict mode and llama.cpp document."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from packs.retail.specs import SPECS
from parley.protocol.tools import ToolPage, ToolSpec
from parley.reply import Reply
from scripts.gen_contract import replies
from services.planner import agentflow_prompt as agentflow
from services.planner.agentflow_prompt import turn_reply
from shared.llm.schema import UnsupportedSchema, strict_schema, to_strict
from shared.plan_checks.calls import repair_arguments
from tests.support.subset import llama_problems, openai_problems

ROOT = Path(__file__).parents[2]
STORE = ToolPage(tools=SPECS, total=len(SPECS) + 1, others=("post",))
REPLIES: dict[str, type[Reply]] = {**replies(), "turn": turn_reply(STORE, searchable=True)}


def declared_replies() -> Iterator[str]:
    """The names of all reply classes that services and flows declare."""
    for path in (*(ROOT / "services").rglob("*.py"), *(ROOT / "flows").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == "Reply" for base in node.bases):
                yield node.name


def kinds_of(task: str) -> list[Any]:
    """The schemas of the alternatives for the reply, one for each kind."""
    reply = strict_schema(REPLIES[task])[0]["properties"]["reply"]
    return list(reply.get("anyOf", [reply]))


def test_these_tests_check_every_declared_reply() -> None:
    assert {*declared_replies()} == {reply.__name__ for task, reply in REPLIES.items() if "." not in task}


@pytest.mark.parametrize("task", REPLIES)
def test_a_schema_stays_within_the_documented_subset(task: str) -> None:
    schema, closed = strict_schema(REPLIES[task])
    assert closed
    assert [*openai_problems(schema), *llama_problems(schema)] == []


@pytest.mark.parametrize("task", REPLIES)
def test_a_reply_is_one_object_that_begins_with_its_kind(task: str) -> None:
    assert list(strict_schema(REPLIES[task])[0]["properties"]) == ["reply"]
    kinds = kinds_of(task)
    assert [next(iter(kind["properties"])) for kind in kinds] == ["kind"] * len(kinds)
    names = [kind["properties"]["kind"]["const"] for kind in kinds]
    assert len(set(names)) == len(names)


# --- schemas of tools


def tool(**parameters: Any) -> ToolSpec:
    return ToolSpec(name="t", description="d", effect="read", parameters={"type": "object", **parameters})


def arguments_of(*tools: ToolSpec) -> list[Any]:
    """The schema of each tool's arguments, within the schema of a turn."""
    schema, closed = strict_schema(turn_reply(ToolPage(tools=tools, total=len(tools)), searchable=True))
    assert closed
    assert [*openai_problems(schema), *llama_problems(schema)] == []
    call = schema["properties"]["reply"]["anyOf"][0]["properties"]["actions"]["items"]["properties"]["call"]
    return [_arguments(item) for item in call.get("anyOf", [call])]


def _arguments(call: dict[str, Any]) -> Any:
    """The arguments in the schema of a call, beside its tool or apart."""
    own = {name: value for name, value in call["properties"].items() if name != "tool"}
    return own["arguments"] if own.keys() == {"arguments"} else {**call, "properties": own, "required": [*own]}


def test_arguments_follow_the_schema_of_the_tool_and_optional_ones_may_be_null() -> None:
    city = {"type": "string", "minLength": 2, "pattern": "^[A-Z]", "default": "Ulm", "description": "Where."}
    unit = {"enum": ["C", "F"]}
    spec = tool(properties={"city": city, "unit": unit, "days": {"type": "integer"}}, required=["city"])
    [arguments] = arguments_of(spec)
    assert arguments["properties"] == {
        "city": {"type": "string", "description": "Where."},
        "unit": {"type": ["string", "null"], "enum": ["C", "F", None]},
        "days": {"type": ["integer", "null"]},
    }
    assert repair_arguments({"city": None, "unit": None, "days": 2}, spec).arguments == {"city": None, "days": 2}


RECURSIVE = {"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}}
DEEP: Any = {"type": "string"}
for _ in range(8):
    DEEP = {"type": "array", "items": DEEP}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"properties": {"filter": {"type": "object"}}},
        {"properties": {"filter": {"type": "object", "additionalProperties": {"type": "string"}}}},
        {"properties": {"value": {}}},
        {"properties": {"value": True}},
        {"properties": {"list": {"type": "array"}}},
        {"properties": {"a": {"allOf": [{"type": "string"}, {"type": "string"}]}}},
        {"properties": {"a": {"type": "string", "not": {"const": "x"}}}},
        {"properties": {"a": {"anyOf": [{"required": ["b"]}], "type": "object", "properties": {}}}},
        {"properties": {"a": {"$ref": "#/$defs/gone"}}},
        {"properties": {"a": {"$ref": "#/$defs/node"}}, **RECURSIVE},
        {"properties": {"a": DEEP}},
        {"properties": {"a": {"enum": [[1], [2]]}}},
        {"properties": {f"p{n}": {"type": "string"} for n in range(3_000)}},
        {"properties": {"a": {"enum": [str(n) for n in range(900)]}}},
    ],
    ids=range(15),
)
def test_arguments_outside_the_strict_subset_are_json_text(parameters: dict[str, Any]) -> None:
    simple = tool(properties={"a": {"type": "string"}}, required=["a"])
    unsupported, plain = arguments_of(tool(**parameters), simple)
    assert unsupported["type"] == "string"
    _, _, told = unsupported["description"].partition("A JSON object as text, of this schema: ")
    assert json.loads(told) == {"type": "object", **parameters}
    assert plain["properties"] == {"a": {"type": "string"}}
    reply = turn_reply(ToolPage(tools=(tool(**parameters),), total=1), searchable=True)
    call = {"tool": "t", "arguments": '{"filter": {"a": [1]}}', "text": "", "depends_on": []}
    draft = reply.model_validate({"reply": {"kind": "turn", "actions": [call]}}).reply
    assert isinstance(draft, agentflow.TurnDraft)
    assert draft.actions[0].arguments == {"filter": {"a": [1]}}


def test_references_and_unions_are_converted() -> None:
    point = {"type": "object", "properties": {"x": {"type": ["number", "null"]}}, "required": ["x"]}
    either = {"oneOf": [{"$ref": "#/definitions/point"}, {"type": "null"}], "title": "P"}
    [arguments] = arguments_of(tool(properties={"p": either}, definitions={"point": point}))
    strict_point = {"type": "object", "properties": {"x": {"type": ["number", "null"]}}}
    closed = {"required": ["x"], "additionalProperties": False}
    assert arguments["properties"]["p"] == {"anyOf": [strict_point | closed, {"type": "null"}]}


def test_a_dictionary_with_any_keys_is_not_strict_and_keeps_its_schema() -> None:
    class Trim(BaseModel):
        columns: dict[str, list[str]]

    with pytest.raises(UnsupportedSchema, match="any property"):
        to_strict(Trim.model_json_schema())
    schema, closed = strict_schema(Trim)
    assert not closed
    assert schema["properties"]["columns"]["additionalProperties"] == {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"type": "object", "additionalProperties": {}, "propertyNames": {"type": "string"}}, "any property"),
        ({"type": "object", "additionalProperties": []}, "any property"),
        ({"$ref": "#/$defs/B", "properties": {"extra": {}}, "required": ["extra"]}, "beside other keywords"),
    ],
)
def test_a_tools_open_object_is_not_strict(part: dict[str, Any], why: str) -> None:
    """A closed one would let the model send nothing, or not all that is needed."""
    base: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    with pytest.raises(UnsupportedSchema, match=why):
        to_strict({**base, "properties": {"a": part}, "$defs": {"B": base}})


def test_odd_bounds_and_nullable_parts_are_converted() -> None:
    bounds = {"minItems": "1", "maxItems": {"$data": "1/n"}}
    parts = {"a": {"type": "array", "items": {"type": "string"}, **bounds}, "b": {"type": "string", "nullable": True}}
    strict = to_strict({"type": "object", "properties": parts, "required": ["a", "b"], "additionalProperties": False})
    assert strict["properties"] == {
        "a": {"type": "array", "items": {"type": "string"}},
        "b": {"type": ["string", "null"]},
    }
