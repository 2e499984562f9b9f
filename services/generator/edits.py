"""Edits of a program, instead of the whole program anew: texts that stand in it once, and what takes their place."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from parley.reply import Kind

MAX_QUOTED = 80  # characters of a text that is not found once


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


def edited(code: str, edits: Sequence[Replacement]) -> str:
    """The program after the edits, one after the other."""
    for edit in edits:
        code = code.replace(edit.find, edit.replace)
    return code


def refusal(code: str, edits: Sequence[Replacement]) -> str:
    """Why the edits cannot be applied exactly; "" if they can."""
    after = code
    for number, edit in enumerate(edits, 1):
        times = len(re.findall(f"(?={re.escape(edit.find)})", after))
        if times != 1:
            quoted = edit.find[:MAX_QUOTED]
            return (
                f"Edit {number} cannot be applied: its find, which begins “{quoted}”, occurs {times} times in the "
                "program, not once. Nothing was changed. Reply with the kind code and the whole program."
            )
        after = after.replace(edit.find, edit.replace)
    return "The edits change nothing." if after == code else "" if after.strip() else "The edits leave no program."


def render_edits(edits: Iterable[Any]) -> str:
    """The edits that have been streamed so far, as removed and added lines."""
    signs = {"find": "-", "replace": "+"}
    parts = ((edit.get(name), sign) for edit in edits if isinstance(edit, Mapping) for name, sign in signs.items())
    return "\n".join(f"{sign} {line}" for text, sign in parts if text for line in str(text).rstrip("\n").split("\n"))
