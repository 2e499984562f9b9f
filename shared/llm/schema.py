"""Structured output for any server: JSON schema, else JSON mode, else text with the schema in the prompt."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel

from shared.llm.strict_schema import UnsupportedSchema, to_strict
from shared.llm.types import Message

Mode = Literal["json_schema", "json_object", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
FORMAT_WORDS = (
    "response_format",
    "schema",
    "grammar",
    "json_object",
)  # in refusals of `response_format`


@dataclass(frozen=True)
class Capabilities:
    """What an endpoint accepts for a model and reply; remembered after a successful call."""

    mode: Mode = "json_schema"
    stream_options: bool = True
    temperature: bool = True

    def weaker(self) -> "Capabilities | None":
        """These capabilities with the next simpler mode; None in text mode."""
        rest = MODES[MODES.index(self.mode) + 1 :]
        return replace(self, mode=rest[0]) if rest else None

    def without_rejected(self, complaint: str) -> "Capabilities | None":
        """The capabilities to try after a 400 with this text; None if it names nothing that can be left out."""
        text = complaint.lower()
        if self.stream_options and "stream_options" in text:
            return replace(self, stream_options=False)
        if self.temperature and "temperature" in text:
            return replace(self, temperature=False)
        return self.weaker() if any(word in text for word in FORMAT_WORDS) else None


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


def with_schema(messages: Sequence[Message], reply: type[BaseModel], mode: Mode) -> list[Message]:
    """The prompt for this mode. The schema goes into the system message, which is in the cached prefix."""
    if mode == "json_schema":
        return list(messages)
    note = instruction(reply)
    if messages and messages[0]["role"] == "system":
        return [{"role": "system", "content": f"{messages[0]['content']}\n\n{note}"}, *messages[1:]]
    return [{"role": "system", "content": note}, *messages]


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
