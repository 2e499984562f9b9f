"""Frames for the fuzzer: valid ones made from the protocol's own schema, so that no message can be forgotten, and
mutations of them. Everything comes from one seed."""

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
STRANGE = (
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
NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, 10**400, -(10**30), 1.5, -0.0, 1e308, 5e-324)
DEPTH = 400


class Frames:
    """Random frames about these sessions. `text` returns what is sent: str or bytes."""

    def __init__(self, seed: int, sessions: Sequence[str] = ()) -> None:
        self._random = random.Random(seed)
        self.sessions = list(sessions)
        self._mutations: tuple[Callable[[Json], Json], ...] = (
            self._without_a_field,
            self._of_another_type,
            self._with_a_strange_text,
            self._with_a_huge_number,
            self._with_a_field_more,
            self._nested,
            self._of_another_kind,
            self._about_another,
        )

    def frame(self) -> str | bytes:
        """One in four is valid; the rest is mutated once or more, or is no message at all."""
        chance = self._random.random()
        if chance < 0.25:
            return _dumps(self.valid())
        if chance < 0.9:
            mutated = self.valid()
            for _ in range(self._random.choice((1, 1, 1, 2, 3))):
                mutated = self._random.choice(self._mutations)(mutated)
            return self._spoilt(_dumps(mutated)) if self._random.random() < 0.1 else _dumps(mutated)
        return self._nonsense()

    def valid(self, kind: str | None = None) -> dict[str, Json]:
        """A message that can be read, of a random type unless one is named; whether it is allowed is another matter."""
        kind = kind or self._random.choice(tuple(TYPES))
        made: dict[str, Json] = self._made(TYPES[kind])
        if self.sessions and self._random.random() < 0.9:
            made["session_id"] = self._random.choice(self.sessions)
        return made

    # --- valid values, from the schema

    def _made(self, schema: Json) -> Json:  # noqa: C901  one line a keyword
        if "$ref" in schema:
            return self._made(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if "anyOf" in schema:
            return self._made(self._random.choice(schema["anyOf"]))
        match schema.get("type"):
            case "object":
                return self._object(schema)
            case "array":
                least = schema.get("minItems", 0)
                return [self._made(schema["items"]) for _ in range(least + self._random.randrange(3))]
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
        found = {
            name: self._made(each) for name, each in named.items() if name in needed or self._random.random() < 0.3
        }
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict) and not named:
            found |= {f"k{n}": self._made(extra) for n in range(self._random.randrange(3))}
        return found

    def _string(self, schema: Json) -> str:
        if "pattern" in schema:
            rest = self._random.choices(string.ascii_letters + string.digits, k=11)
            return "".join((self._random.choice(string.ascii_letters), *rest))  # some ids begin with a letter
        text = self._random.choice(WORDS) or "x"
        return text[: schema.get("maxLength", len(text))]

    # --- and what is wrong with them

    def _place(self, value: Json) -> tuple[Json, Json]:
        """Some container within, and a key of it; the type is mostly left, else nothing else would be looked at."""
        while True:
            keys = [key for key in value if key != "type" or self._random.random() < 0.1] if _is_dict(value) else None
            found = keys if keys is not None else list(range(len(value)))
            if not found:
                return value, None
            key = self._random.choice(found)
            inner = value[key]
            if not isinstance(inner, dict | list) or not inner or self._random.random() < 0.3:
                return value, key
            value = inner

    def _change(self, message: Json, new: Json) -> Json:
        if not isinstance(message, dict | list):
            return new
        holder, key = self._place(message)
        if key is not None:
            holder[key] = new
        return message

    def _without_a_field(self, message: Json) -> Json:
        if isinstance(message, dict | list):
            holder, key = self._place(message)
            if key is not None:
                del holder[key]
        return message

    def _of_another_type(self, message: Json) -> Json:
        values: tuple[Json, ...] = (None, True, False, 0, 1.5, "1", "", [], {}, [None], {"": ""}, "x")
        return self._change(message, self._random.choice(values))

    def _with_a_strange_text(self, message: Json) -> Json:
        return self._change(message, self._random.choice(STRANGE))

    def _with_a_huge_number(self, message: Json) -> Json:
        return self._change(message, self._random.choice(NUMBERS))

    def _with_a_field_more(self, message: Json) -> Json:
        if not _is_dict(message):
            return message
        names = ("surprise", "__class__", "model_config", "", "id", "session_id", "type", "x" * 1000)
        return message | {self._random.choice(names): self._random.choice((*STRANGE, *NUMBERS, None, []))}

    def _nested(self, message: Json) -> Json:
        deep: Json = "x"
        for _ in range(self._random.choice((3, 60, DEPTH))):
            deep = [deep] if self._random.random() < 0.5 else {"a": deep}
        return self._change(message, deep)

    def _of_another_kind(self, message: Json) -> Json:
        return message | {"type": self._random.choice((*TYPES, "nonsense", "", None, 5))} if _is_dict(message) else 5

    def _about_another(self, message: Json) -> Json:
        wrong = ("0" * 16, "nobody", "a.b", "*", ">", "..", "", "x" * 65, None, 7)
        return message | {"session_id": self._random.choice(wrong)} if _is_dict(message) else message

    def _spoilt(self, text: str) -> str | bytes:
        cut = self._random.randrange(len(text) + 1)
        return self._random.choice((text[:cut], text[cut:], text[:cut] + "\x00" + text[cut:], text + text))

    def _nonsense(self) -> str | bytes:
        match self._random.randrange(7):
            case 0:
                return self._random.randbytes(self._random.randrange(300))
            case 1:
                return _dumps(self.valid()).encode()  # right, but binary
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
    return json.dumps(message, ensure_ascii=True)  # lone surrogates go as escapes, as a client could send them
