"""Structured output for any server: JSON schema, else JSON mode, else text with the schema in the prompt."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from shared.llm.types import Message

type Schema = Mapping[str, Any]

MAX_LEVELS = 10  # of nested objects and lists
MAX_ITEMS = 1_000  # items; grammars cannot repeat a rule much more often
SIMPLE = frozenset({"string", "number", "integer", "boolean", "null"})
NULL: dict[str, Any] = {"type": "null"}
ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "nullable", "readOnly", "writeOnly", "x-kind"}
)  # x-kind is Parley's: see plan_checks/argument_kinds.py
BESIDE_REFERENCES = frozenset(
    {"properties", "required", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "enum"}
)  # what also counts beside `$ref`, and strict schemas cannot say
TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
Mode = Literal["json_schema", "json_object", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
# What servers call the parts of a request when they refuse them, in lower case.
STREAM_OPTIONS = re.compile(r"stream[ _]?options|include_usage")
TEMPERATURE = re.compile(r"temperature")
SYSTEM_ROLE = re.compile(
    r"system[ _](?:role|message|prompt)s?\b.{0,40}\bnot|only user and assistant roles|role system|support 'system'"
    r"|support system[ _](?:role|message|prompt|instruction)s?|developer instruction"
)
FORMAT = re.compile(
    r"(?:response|output)[ _]?format|json[ _]?(?:schema|object|mode)|structured[ _]?output|schema|grammar|guided"
    r"|failed_generation|json_validate_failed|(?:generate|validate|output) (?:valid )?json"
)


class UnsupportedSchema(ValueError):
    """The subset cannot express the schema; the text says why."""


class Size(NamedTuple):
    """What counts towards the limits of a schema."""

    properties: int = 0
    enum_values: int = 0
    characters: int = 0

    def __add__(self, other: object) -> "Size":
        if not isinstance(other, Size):
            return NotImplemented
        return Size(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def within(self, limit: "Size") -> bool:
        return all(mine <= most for mine, most in zip(self, limit, strict=True))


def to_strict(schema: Schema, *, nullable: bool = False, levels: int = MAX_LEVELS) -> dict[str, Any]:
    """Convert the schema. Raises UnsupportedSchema if that would lose more than bounds of single values.

    With `nullable`, properties that are not required may be null; otherwise they become required.
    """
    return _StrictConverter(schema, nullable).node(schema, levels, ())


def size(schema: Schema) -> Size:
    """The size of this strict schema."""
    parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    parts += [schema["items"]] if "items" in schema else []
    values = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    names = list(schema.get("properties", {}))
    own = Size(len(names), len(values), sum(len(str(text)) for text in (*names, *values)))
    return sum(map(size, parts), own)


class _StrictConverter:
    def __init__(self, root: Schema, nullable: bool) -> None:
        self._definitions = {
            f"#/{place}/{name}": part
            for place in ("$defs", "definitions")
            for name, part in root.get(place, {}).items()
        }
        self._nullable = nullable

    def node(self, schema: object, levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """Convert a subschema. `inside`: the references that led here."""
        if not isinstance(schema, Mapping):
            raise UnsupportedSchema("a part takes any value")
        if "$ref" in schema:
            if schema.keys() & BESIDE_REFERENCES:
                raise UnsupportedSchema("a reference stands beside other keywords")
            return self._with_words(schema, self._referred(str(schema["$ref"]), levels, inside))
        if branches := schema.get("anyOf") or schema.get("oneOf"):
            if schema.keys() - ANNOTATIONS - {"anyOf", "oneOf", "discriminator", "$defs", "definitions"}:
                raise UnsupportedSchema("alternatives stand beside other keywords")
            return self._with_words(schema, _any_of([self.node(branch, levels, inside) for branch in branches]))
        if len(schema.get("allOf", ())) == 1 and not schema.keys() - ANNOTATIONS - {"allOf"}:
            return self._with_words(schema, self.node(schema["allOf"][0], levels, inside))
        if strange := schema.keys() & {"allOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas"}:
            raise UnsupportedSchema(f"it uses {', '.join(sorted(strange))}")
        if "const" in schema or "enum" in schema:
            return self._with_words(schema, _one_of([schema["const"]] if "const" in schema else schema["enum"], schema))
        kinds = schema.get("type")
        if isinstance(kinds, list) and kinds:
            return self._with_words(schema, self._united(schema, kinds, levels, inside))
        return self._with_words(schema, self._typed(schema, kinds, levels, inside))

    def _with_words(self, schema: Schema, strict_schema: dict[str, Any]) -> dict[str, Any]:
        words = schema.get("description")
        described = strict_schema | ({"description": words} if isinstance(words, str) and words else {})
        return _or_null(described) if schema.get("nullable") is True else described  # of OpenAPI

    def _referred(self, reference: str, levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        if reference in inside:
            raise UnsupportedSchema("it refers to itself")
        if reference not in self._definitions:
            raise UnsupportedSchema(f"it refers to {reference[:100]}")
        return self.node(self._definitions[reference], levels, (*inside, reference))

    def _united(self, schema: Schema, kinds: list[str], levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        if SIMPLE.issuperset(kinds):
            return {"type": list(kinds)}
        return _any_of([self._typed(schema, kind, levels, inside) for kind in kinds])

    def _typed(self, schema: Schema, kind: object, levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        if kind in SIMPLE:
            return {"type": kind}
        if kind not in ("array", "object"):
            raise UnsupportedSchema("a part has no type")
        if levels == 0:
            raise UnsupportedSchema(f"it is nested more than {MAX_LEVELS} levels deep")
        if kind == "array":
            bounds = {
                name: schema[name]
                for name in ("minItems", "maxItems")
                if isinstance(bound := schema.get(name), int) and bound < MAX_ITEMS
            }
            return {"type": "array", "items": self.node(schema.get("items"), levels - 1, inside), **bounds}
        return self._object(schema, levels, inside)

    def _object(self, schema: Schema, levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        if schema.get("additionalProperties", "properties" not in schema) is not False:
            raise UnsupportedSchema("an object takes any property")
        required = schema.get("required", ())
        properties: dict[str, Any] = {}
        for name, part in schema.get("properties", {}).items():
            properties[name] = self.node(part, levels - 1, inside)
            if self._nullable and name not in required:
                properties[name] = _or_null(properties[name])
        closed = {"required": list(properties), "additionalProperties": False}
        return {"type": "object", "properties": properties, **closed}


def _any_of(branches: list[dict[str, Any]]) -> dict[str, Any]:
    """The branches as alternatives, with nested alternatives flattened."""
    flat = [inner for branch in branches for inner in (branch["anyOf"] if set(branch) == {"anyOf"} else [branch])]
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def _one_of(values: list[Any], schema: Schema) -> dict[str, Any]:
    kinds = list(dict.fromkeys(TYPE_NAMES.get(type(value), "") for value in values))
    if "" in kinds or not values:
        raise UnsupportedSchema("an enumeration has values that are no texts or numbers")
    kind = kinds[0] if len(kinds) == 1 else kinds
    return {"type": kind, "const": values[0]} if "const" in schema else {"type": kind, "enum": list(values)}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "null" in kinds or NULL in schema.get("anyOf", ()):
        return schema
    if not SIMPLE.issuperset(kinds) or "const" in schema:
        return _any_of([schema, NULL])
    values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [*kinds, "null"]} | values


@dataclass(frozen=True)
class Capabilities:
    """What an endpoint accepts for a model and reply; remembered after a successful call."""

    mode: Mode = "json_schema"
    stream_options: bool = True
    temperature: bool = True
    system: bool = True  # messages of the role `system`

    def weaker(self) -> "Capabilities | None":
        """These capabilities with the next simpler mode; None in text mode."""
        rest = MODES[MODES.index(self.mode) + 1 :]
        return replace(self, mode=rest[0]) if rest else None

    def without_rejected(self, complaint: str) -> "Capabilities | None":
        """The capabilities to try after this complaint, in lower case; None if it names nothing to leave out."""
        if self.stream_options and STREAM_OPTIONS.search(complaint):
            return replace(self, stream_options=False)
        if self.temperature and TEMPERATURE.search(complaint):
            return replace(self, temperature=False)
        if self.system and SYSTEM_ROLE.search(complaint):
            return replace(self, system=False)
        return self.weaker() if FORMAT.search(complaint) else None


def response_format(reply: type[BaseModel], mode: Mode) -> dict[str, Any] | None:
    """The request's `response_format`, or None in text mode."""
    match mode:
        case "json_schema":
            schema, closed = strict_schema(reply)
            body = {"name": reply.__name__, "schema": schema, "strict": closed}
            return {"type": "json_schema", "json_schema": body}
        case "json_object":
            return {"type": "json_object"}
        case "text":
            return None


def chat_messages(
    messages: Sequence[Message], reply: type[BaseModel], ability: Capabilities, repair: Sequence[Message] = ()
) -> list[Message]:
    """The prompt as every chat template takes it: the system text first, then user and assistant in turn.

    The schema goes into the system text, which is in the cached prefix, where the request cannot state it. `repair`:
    messages after an invalid reply.
    """
    system = [message["content"] for message in messages if message["role"] == "system"]
    system += [] if ability.mode == "json_schema" else [instruction(reply)]
    role: Literal["system", "user"] = "system" if ability.system else "user"
    chat: list[Message] = [{"role": role, "content": "\n\n".join(system)}] if system else []
    for message in (*messages, *repair):
        if message["role"] == "system":
            continue
        if chat and chat[-1]["role"] == message["role"]:
            chat[-1] = {**message, "content": f"{chat[-1]['content']}\n\n{message['content']}"}
        else:
            chat.append(message)
    return chat


def instruction(reply: type[BaseModel]) -> str:
    """The instruction to reply with the object, with its schema."""
    schema = json.dumps(strict_schema(reply)[0], ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must match this JSON schema:\n{schema}"


@lru_cache(maxsize=256)
def strict_schema(reply: type[BaseModel]) -> tuple[dict[str, Any], bool]:
    """The reply's JSON schema, and whether it is in the strict subset."""
    schema = reply.model_json_schema()
    try:
        return to_strict(schema), True
    except UnsupportedSchema:
        return schema, False
