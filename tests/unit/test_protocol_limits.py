"""Everything that a client may send has a limit: every text, list, map and number, over `/ws` and over REST."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from parley.protocol.client import CLIENT_MESSAGES
from scripts.gen_protocol import openapi
from services.gateway.api_errors import ApiError
from services.gateway.messages.parsing import parse_message

CHECKED_ELSEWHERE = {  # stored events have no limits for these; `bounds.Settings` has
    "SessionSettings.approval_timeout",
    "SessionSettings.token_budget",
    "SessionSettings.cost_budget",
    "SessionSettings.call_budget",
    "SessionSettings.time_budget",
}
LIMITED_BY_MESSAGE_SIZE = {"Step.arguments"}  # any JSON


def _unlimited(schema: dict[str, Any], place: str, parts: dict[str, Any]) -> Iterator[str]:
    """The places in a JSON schema where a value can grow without limit."""
    if ref := schema.get("$ref", ""):
        name = ref.rpartition("/")[2]
        if name not in parts:  # a recursive reference, already visited
            return
        rest = {key: value for key, value in parts.items() if key != name}
        yield from _unlimited(parts[name], name, rest)
        return
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _unlimited(choice, place, parts)
    if "enum" in schema or "const" in schema:
        return
    kind = schema.get("type")
    bounds = {
        "string": ("maxLength", "pattern"),
        "array": ("maxItems",),
        "integer": ("maximum", "exclusiveMaximum"),
        "number": ("maximum", "exclusiveMaximum"),
    }.get(kind or "")
    parsed = schema.get("format") in ("time", "date-time")  # parsed as a time, which limits the length
    if bounds and not parsed and not any(bound in schema for bound in bounds):
        yield place
    if kind == "array":
        yield from _unlimited(schema.get("items", {}), f"{place}[]", parts)
    if kind == "object":
        if schema.get("additionalProperties") is not False and "maxProperties" not in schema:
            yield place
        for name, property_schema in schema.get("properties", {}).items():
            yield from _unlimited(property_schema, f"{place}.{name}", parts)


def test_every_field_of_a_message_has_a_limit() -> None:
    schema = CLIENT_MESSAGES.json_schema()
    assert set(_unlimited(schema, "message", schema["$defs"])) - CHECKED_ELSEWHERE - LIMITED_BY_MESSAGE_SIZE == set()


def test_every_field_of_a_request_has_a_limit() -> None:
    document = openapi()
    parts = document["components"]["schemas"]
    unlimited: set[str] = set()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                unlimited |= set(_unlimited(parameter["schema"], f"{path} {parameter['name']}", parts))
            for content in operation.get("requestBody", {}).get("content", {}).values():
                unlimited |= set(_unlimited(content["schema"], path, parts))
    assert unlimited - CHECKED_ELSEWHERE - LIMITED_BY_MESSAGE_SIZE == set()


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"type": "edit", "version": 1, "steps": ["x"], "notes": "n" * 50_001}, "too_large"),
        ({"type": "approval", "approved": True, "hash": "h" * 65}, "too_large"),
        ({"type": "continue", "content": "c" * 50_001}, "too_large"),
        ({"type": "resume", "after": 10**30}, "bad_message"),
        ({"type": "raise_budget", "tokens": 10**18}, "bad_message"),
        ({"type": "user_message", "content": "x", "settings": {"approval_timeout": 10**15}}, "bad_message"),
        ({"type": "user_message", "content": "x", "settings": {"token_budget": 10**18}}, "bad_message"),
        ({"type": "user_message", "content": "x", "settings": {"call_budget": 10**18}}, "bad_message"),
        ({"type": "user_message", "content": "x", "settings": {"time_budget": 10**18}}, "bad_message"),
        ({"type": "raise_budget", "calls": -1}, "bad_message"),
    ],
    ids=["notes", "hash", "content", "after", "tokens", "timeout", "budget", "calls", "time", "fewer"],
)
def test_values_over_a_limit_are_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_message(json.dumps(fields))
    assert caught.value.code == code
