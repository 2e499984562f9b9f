"""Random WebSocket frames for the fuzzer, from one seed: valid messages and mutations of them.

Valid messages come from the protocol's JSON schema, so every message type is covered.
"""

import json
import random
import string
from collections.abc import Callable, Sequence
from typing import Any

from parley.protocol.client import CLIENT_MESSAGES

Json = Any
SCHEMA: dict[str, Json] = CLIENT_MESSAGES.json_schema()
TYPES: dict[str, Json] = {
    name: SCHEMA["$defs"][ref.rpartition("/")[2]] for name, ref in SCHEMA["discriminator"]["mapping"].items()
}
WORDS = (
    "a calculator",
    "2",
    "yes",
    "retail",
    "drop table sessions",
    "1. Ask\n2. Add\n3. Print",
    "print(1)\n",
    "x" * 200,
)
UNUSUAL_TEXTS = (
    *("", " ", "\x00", "\ud800", "\u202e\u2066", "\U0001f642" * 50, "é" * 300, "e\u0301" * 200, "\r\n\r\n"),
    *(
        "${jndi:ldap://127.0.0.1/x}",
        "{{7*7}}",
        "'; drop table sessions; --",
        "<script>alert(1)</script>",
        "../../etc/passwd",
    ),
    *("session.>", "*", ">", "%00", "\\", '"', "null", "NaN", "1e999", "x" * 60_000, "-" * 70),
)
EXTREME_NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, 10**400, -(10**30), 1.5, -0.0, 1e308, 5e-324)
MAX_DEPTH = 400


class FrameGenerator:
    """Makes random frames, text or binary, about these sessions."""

    def __init__(self, seed: int, sessions: Sequence[str] = ()) -> None:
        self._random = random.Random(seed)
        self.sessions = list(sessions)
        self._mutations: tuple[Callable[[Json], Json], ...] = (
            self._remove_field,
            self._change_type,
            self._insert_unusual_text,
            self._insert_extreme_number,
            self._add_field,
            self._insert_nested_value,
            self._change_message_type,
            self._change_session,
        )

    def frame(self) -> str | bytes:
        """A quarter of the frames are valid messages, two thirds are mutated, the rest are malformed."""
        chance = self._random.random()
        if chance < 0.25:
            return _dumps(self.valid())
        if chance < 0.9:
            mutated = self.valid()
            for _ in range(self._random.choice((1, 1, 1, 2, 3))):
                mutated = self._random.choice(self._mutations)(mutated)
            return self._corrupt(_dumps(mutated)) if self._random.random() < 0.1 else _dumps(mutated)
        return self._malformed_frame()

    def valid(self, kind: str | None = None) -> dict[str, Json]:
        """A message that parses, of this type or a random one. The session's state may still not allow it."""
        kind = kind or self._random.choice(tuple(TYPES))
        message: dict[str, Json] = self._value(TYPES[kind])
        if self.sessions and self._random.random() < 0.9:
            message["session_id"] = self._random.choice(self.sessions)
        return message

    # --- valid values, from the schema

    def _value(self, schema: Json) -> Json:  # noqa: C901  one line a keyword
        if "$ref" in schema:
            return self._value(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if "anyOf" in schema:
            return self._value(self._random.choice(schema["anyOf"]))
        match schema.get("type"):
            case "object":
                return self._object(schema)
            case "array":
                least = schema.get("minItems", 0)
                return [self._value(schema["items"]) for _ in range(least + self._random.randrange(3))]
            case "string":
                return self._string(schema)
            case "integer":
                return self._random.randint(schema.get("minimum", 0), min(schema.get("maximum", 20), 1000))
            case "number":
                return round(self._random.uniform(schema.get("minimum", 0.1), schema.get("maximum", 2)), 2)
            case "boolean":
                return self._random.random() < 0.5
            case "null":
                return None
        return self._random.choice((None, 1, "x", [1], {"a": 1}))  # any JSON

    def _object(self, schema: Json) -> Json:
        needed = schema.get("required", ())
        named = schema.get("properties", {})
        fields = {
            name: self._value(each) for name, each in named.items() if name in needed or self._random.random() < 0.3
        }
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict) and not named:
            fields |= {f"k{n}": self._value(extra) for n in range(self._random.randrange(3))}
        return fields

    def _string(self, schema: Json) -> str:
        if "pattern" in schema:
            rest = self._random.choices(string.ascii_letters + string.digits, k=11)
            return "".join((self._random.choice(string.ascii_letters), *rest))  # some ids begin with a letter
        text = self._random.choice(WORDS) or "x"
        return text[: schema.get("maxLength", len(text))]

    # --- mutations

    def _random_location(self, value: Json) -> tuple[Json, Json]:
        """A random container within the value and one of its keys; None if it is empty.

        `type` is rarely chosen: a frame with an unknown type is refused before its other fields are validated.
        """
        while True:
            keys = [key for key in value if key != "type" or self._random.random() < 0.1] if _is_dict(value) else None
            choices = keys if keys is not None else list(range(len(value)))
            if not choices:
                return value, None
            key = self._random.choice(choices)
            inner = value[key]
            if not isinstance(inner, dict | list) or not inner or self._random.random() < 0.3:
                return value, key
            value = inner

    def _replace_random_value(self, message: Json, new: Json) -> Json:
        if not isinstance(message, dict | list):
            return new
        holder, key = self._random_location(message)
        if key is not None:
            holder[key] = new
        return message

    def _remove_field(self, message: Json) -> Json:
        if isinstance(message, dict | list):
            holder, key = self._random_location(message)
            if key is not None:
                del holder[key]
        return message

    def _change_type(self, message: Json) -> Json:
        values: tuple[Json, ...] = (None, True, False, 0, 1.5, "1", "", [], {}, [None], {"": ""}, "x")
        return self._replace_random_value(message, self._random.choice(values))

    def _insert_unusual_text(self, message: Json) -> Json:
        return self._replace_random_value(message, self._random.choice(UNUSUAL_TEXTS))

    def _insert_extreme_number(self, message: Json) -> Json:
        return self._replace_random_value(message, self._random.choice(EXTREME_NUMBERS))

    def _add_field(self, message: Json) -> Json:
        if not _is_dict(message):
            return message
        names = ("surprise", "__class__", "model_config", "", "id", "session_id", "type", "x" * 1000)
        return message | {self._random.choice(names): self._random.choice((*UNUSUAL_TEXTS, *EXTREME_NUMBERS, None, []))}

    def _insert_nested_value(self, message: Json) -> Json:
        deep: Json = "x"
        for _ in range(self._random.choice((3, 60, MAX_DEPTH))):
            deep = [deep] if self._random.random() < 0.5 else {"a": deep}
        return self._replace_random_value(message, deep)

    def _change_message_type(self, message: Json) -> Json:
        return message | {"type": self._random.choice((*TYPES, "nonsense", "", None, 5))} if _is_dict(message) else 5

    def _change_session(self, message: Json) -> Json:
        wrong = ("0" * 16, "nobody", "a.b", "*", ">", "..", "", "x" * 65, None, 7)
        return message | {"session_id": self._random.choice(wrong)} if _is_dict(message) else message

    def _corrupt(self, text: str) -> str | bytes:
        cut = self._random.randrange(len(text) + 1)
        return self._random.choice((text[:cut], text[cut:], text[:cut] + "\x00" + text[cut:], text + text))

    def _malformed_frame(self) -> str | bytes:
        match self._random.randrange(7):
            case 0:
                return self._random.randbytes(self._random.randrange(300))
            case 1:
                return _dumps(self.valid()).encode()  # a valid message in a binary frame
            case 2:
                return "[" * self._random.choice((1, 1000, 100_000))
            case 3:
                return "".join(self._random.choices(string.printable, k=self._random.randrange(200)))
            case 4:
                return (
                    '{"type": "user_message", "content": "'
                    + "x" * self._random.choice((50_001, 270_000, 900_000))
                    + '"}'
                )
            case 5:
                return self._random.choice(("null", "[]", "5", '"x"', "{}", "", "NaN", "-", "{" * 50, '{"type"}'))
            case _:
                return '{"a": ' * 5_000


def _is_dict(value: Json) -> bool:
    return isinstance(value, dict)


def _dumps(message: Json) -> str:
    return json.dumps(message, ensure_ascii=True)  # lone surrogates become escapes, as a client could send them
