"""Structured output on any server: JSON schema, else JSON mode, else plain text with the schema in the prompt."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel

from shared.llm.strict import Outside, strict
from shared.llm.types import Message

Mode = Literal["json_schema", "json_object", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
SHAPE_WORDS = ("response_format", "schema", "grammar", "json_object")  # what a refusal of the reply's shape speaks of


@dataclass(frozen=True)
class Ability:
    """What an endpoint's model was found to understand; remembered once a call went through."""

    mode: Mode = "json_schema"
    stream_options: bool = True
    temperature: bool = True

    def weaker(self) -> "Ability | None":
        """The same with the next plainer mode, or None in plain text."""
        rest = MODES[MODES.index(self.mode) + 1 :]
        return replace(self, mode=rest[0]) if rest else None

    def without(self, complaint: str) -> "Ability | None":
        """What to try after a 400 that says `complaint`; None when it speaks of nothing that can be left out."""
        said = complaint.lower()
        if self.stream_options and "stream_options" in said:
            return replace(self, stream_options=False)
        if self.temperature and "temperature" in said:
            return replace(self, temperature=False)
        return self.weaker() if any(word in said for word in SHAPE_WORDS) else None


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


def instructed(messages: Sequence[Message], reply: type[BaseModel], mode: Mode) -> list[Message]:
    """The prompt for this mode. The schema joins the system message: there it stays in the cached prefix."""
    if mode == "json_schema":
        return list(messages)
    note = demand(reply)
    if messages and messages[0]["role"] == "system":
        return [{"role": "system", "content": f"{messages[0]['content']}\n\n{note}"}, *messages[1:]]
    return [{"role": "system", "content": note}, *messages]


def demand(reply: type[BaseModel]) -> str:
    """The sentence that asks for the object, with its schema."""
    schema = json.dumps(strict_schema(reply)[0], ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must match this JSON schema:\n{schema}"


@lru_cache(maxsize=256)
def strict_schema(reply: type[BaseModel]) -> tuple[dict[str, Any], bool]:
    """The reply's JSON schema as servers want it, and whether it lies inside the strict subset."""
    schema = reply.model_json_schema()
    try:
        return strict(schema), True
    except Outside:
        return schema, False
