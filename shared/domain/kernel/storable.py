"""Texts that every store keeps: no NUL, which PostgreSQL refuses, and no half characters, which UTF-8 cannot write."""

import re
from typing import Any

from pydantic import BaseModel

REPLACEMENT = "\ufffd"  # stands for what could not be kept
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: Any) -> Any:
    """The value with the replacement for every such character in its texts; the value itself where there is none."""
    match value:
        case str():
            return _text(value) if _UNSTORABLE.search(value) else value
        case BaseModel():
            changed = {name: new for name, old in value if (new := storable(old)) is not old}
            return value.model_copy(update=changed) if changed else value
        case tuple() | list():
            items = [storable(item) for item in value]
            same = all(new is old for new, old in zip(items, value, strict=True))
            return value if same else getattr(value, "_make", type(value))(items)  # the first of a NamedTuple
        case dict():
            pairs = {storable(name): storable(item) for name, item in value.items()}
            same = pairs.keys() == value.keys() and all(pairs[name] is item for name, item in value.items())
            return value if same else pairs
    return value


def _text(text: str) -> str:
    """Two halves that belong together become their character."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\x00", REPLACEMENT)
