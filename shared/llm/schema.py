"""Structured output for any server: JSON schema, else JSON mode, else text with the schema in the prompt."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel

from shared.llm.strict_schema import UnsupportedSchema, to_strict
from shared.llm.types import Message

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
