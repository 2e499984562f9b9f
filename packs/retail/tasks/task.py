"""A test task {"q", "agt", "ogt"}: the customer's instruction, the expected calls, and the expected outputs."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from packs.retail.specs import SPECS

WRITES = frozenset(spec.name for spec in SPECS if spec.effect != "read")
_TAU_BENCH_KEYS = frozenset({"annotator", "user_id", "instruction", "actions", "outputs"})


class TaskModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExpectedCall(TaskModel):
    """One expected tool call."""

    name: Annotated[str, Field(min_length=1, max_length=500)]
    arguments: dict[str, JsonValue]


class RetailTask(TaskModel):
    """`q` instructs the simulated customer; `agt` are the expected calls; `ogt` are the expected outputs."""

    q: Annotated[str, Field(min_length=1, max_length=20_000)]
    agt: tuple[ExpectedCall, ...]
    ogt: tuple[str, ...]

    @property
    def writes(self) -> tuple[ExpectedCall, ...]:
        return tuple(call for call in self.agt if call.name in WRITES)


def same_words(q: str) -> str:
    """The instruction for comparison: lower-case words without punctuation."""
    return " ".join(re.findall(r"[a-z0-9#@]+", q.lower()))


def same_calls(calls: Sequence[ExpectedCall]) -> str:
    """The calls for comparison: without order and duplicates."""
    return "\n".join(sorted({json.dumps([call.name, call.arguments], sort_keys=True) for call in calls}))


def read_tasks(path: Path) -> list[JsonValue]:
    """The raw tasks of a file: a JSON list, one object, JSON lines, or results of a generator.

    Raises ValueError with the problem of the file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    try:
        tasks = json.loads(text)
    except RecursionError:
        raise ValueError(f"{path} is nested too deep to be tasks") from None
    except ValueError:
        tasks = _lines(path, text)
    if isinstance(tasks, dict):
        tasks = tasks["tasks"] if isinstance(tasks.get("tasks"), list) else [tasks]
    if not isinstance(tasks, list):
        raise ValueError(f"{path} holds no tasks: a list of objects with q, agt and ogt is wanted")
    return [unwrap(task) for task in tasks]


def unwrap(raw: JsonValue) -> JsonValue:
    """The task in a generator's result, or the value itself."""
    if isinstance(raw, Mapping) and isinstance(raw.get("task"), Mapping):
        return raw["task"]
    return raw


def from_tau_bench(raw: JsonValue) -> JsonValue:
    """A task in tau-bench's format, with this module's keys; other values as they are."""
    if not isinstance(raw, Mapping) or not {"instruction", "actions"} <= raw.keys() <= _TAU_BENCH_KEYS:
        return raw
    actions = raw["actions"]
    calls = [_call(action) for action in actions] if isinstance(actions, list) else actions
    return {"q": raw["instruction"], "agt": calls, "ogt": raw.get("outputs", [])}


def _call(raw: JsonValue) -> JsonValue:
    if isinstance(raw, Mapping) and raw.keys() == {"name", "kwargs"}:
        return {"name": raw["name"], "arguments": raw["kwargs"]}
    return raw


def as_json(task: RetailTask) -> dict[str, Any]:
    return task.model_dump(mode="json")


def _lines(path: Path, text: str) -> list[JsonValue]:
    tasks = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                tasks.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}, is no JSON: {error}") from error
    return tasks
