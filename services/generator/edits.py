"""Edits of a program, instead of the whole program anew: texts that stand in it once, and what takes their place."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from parley.reply import Kind

NOT_ONCE = (
    "Edit {number} cannot be applied: its find, which begins “{begin}”, occurs {times} times in the program, not once. "
    "Nothing was changed. Reply with the kind code and the whole program."
)


class Replacement(BaseModel):
    """`find`, which stands in the program exactly once, becomes `replace`."""

    model_config = Kind.model_config

    find: Annotated[str, StringConstraints(min_length=1)]
    replace: str


class EditsDraft(Kind):
    """The program with some of its lines changed."""

    kind: Literal["edits"] = "edits"
    say: str = ""
    explanation: str = ""
    wish: str = ""
    edits: list[Replacement] = Field(min_length=1, max_length=100)


def edited(code: str, edits: Sequence[Replacement]) -> tuple[str, str]:
    """The program after the edits, one after the other; and why they cannot be applied exactly, "" if they can."""
    after = code
    for number, edit in enumerate(edits, 1):
        times = len(re.findall(f"(?={re.escape(edit.find)})", after))
        if times != 1:
            return code, NOT_ONCE.format(number=number, begin=edit.find[:80], times=times)
        after = after.replace(edit.find, edit.replace)
    if after == code or not after.strip():
        return code, "The edits change nothing." if after == code else "The edits leave no program."
    return after, ""


def render_edits(edits: Iterable[Any]) -> str:
    """The edits that have been streamed so far, as removed and added lines."""
    signs = {"find": "-", "replace": "+"}
    parts = ((edit.get(name), sign) for edit in edits if isinstance(edit, Mapping) for name, sign in signs.items())
    return "\n".join(f"{sign} {line}" for text, sign in parts if text for line in str(text).rstrip("\n").split("\n"))
