"""One test task {"q", "agt", "ogt"}: what the customer is told to want, the right calls, and what must be answered."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from packs.retail.specs import SPECS

WRITES = frozenset(spec.name for spec in SPECS if spec.effect != "read")
_TAU = frozenset({"annotator", "user_id", "instruction", "actions", "outputs"})


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TaskCall(Part):
    """One tool call of the ground truth."""

    name: Annotated[str, Field(min_length=1, max_length=500)]
    arguments: dict[str, JsonValue]


class Task(Part):
    """`q` is an instruction to whoever plays the customer; `agt` the calls that are right; `ogt` must be answered."""

    q: Annotated[str, Field(min_length=1, max_length=20_000)]
    agt: tuple[TaskCall, ...]
    ogt: tuple[str, ...]

    @property
    def writes(self) -> tuple[TaskCall, ...]:
        return tuple(call for call in self.agt if call.name in WRITES)


def same_words(q: str) -> str:
    """The instruction as far as two of them are compared: words in lower case, nothing between them."""
    return " ".join(re.findall(r"[a-z0-9#@]+", q.lower()))


def same_calls(calls: Sequence[TaskCall]) -> str:
    """The calls as a set, as far as two tasks are compared."""
    return "\n".join(sorted({json.dumps([call.name, call.arguments], sort_keys=True) for call in calls}))


def read(path: Path) -> list[JsonValue]:
    """The tasks of a file as they stand there: a JSON list, one object, JSON lines, or results of a generator.

    Raises ValueError that says what is wrong with the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError(f"{path} is nested too deep to be tasks") from None
    except ValueError:
        found = _lines(path, text)
    if isinstance(found, dict):
        found = found["tasks"] if isinstance(found.get("tasks"), list) else [found]
    if not isinstance(found, list):
        raise ValueError(f"{path} holds no tasks: a list of objects with q, agt and ogt is wanted")
    return [unwrapped(one) for one in found]


def unwrapped(found: JsonValue) -> JsonValue:
    """The task inside a generator's result."""
    if isinstance(found, Mapping) and isinstance(found.get("task"), Mapping):
        return found["task"]
    return found


def ours(found: JsonValue) -> JsonValue:
    """A task as tau-bench writes it, by our names; anything else as it is."""
    if not isinstance(found, Mapping) or not {"instruction", "actions"} <= found.keys() <= _TAU:
        return found
    actions = found["actions"]
    calls = [_call(one) for one in actions] if isinstance(actions, list) else actions
    return {"q": found["instruction"], "agt": calls, "ogt": found.get("outputs", [])}


def _call(found: JsonValue) -> JsonValue:
    if isinstance(found, Mapping) and found.keys() == {"name", "kwargs"}:
        return {"name": found["name"], "arguments": found["kwargs"]}
    return found


def as_json(task: Task) -> dict[str, Any]:
    return task.model_dump(mode="json")


def _lines(path: Path, text: str) -> list[JsonValue]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}, is no JSON: {error}") from error
    return found
