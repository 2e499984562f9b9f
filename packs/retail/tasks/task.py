"""A test task {"q", "agt", "ogt"}: the customer's instruction, the expected calls, and the expected outputs."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

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
    """`q` instructs the simulated customer; `agt` are the expected calls; `ogt` are the expected outputs.

    A task in tau-bench's format is valid input, too.
    """

    q: Annotated[str, Field(min_length=1, max_length=20_000)]
    agt: tuple[ExpectedCall, ...]
    ogt: tuple[str, ...]

    @property
    def writes(self) -> tuple[ExpectedCall, ...]:
        return tuple(call for call in self.agt if call.name in WRITES)

    @model_validator(mode="before")
    @classmethod
    def _from_tau_bench(cls, raw: JsonValue) -> JsonValue:
        if not isinstance(raw, Mapping) or not {"instruction", "actions"} <= raw.keys() <= _TAU_BENCH_KEYS:
            return raw
        actions = raw["actions"]
        calls = [_call_from_tau_bench(action) for action in actions] if isinstance(actions, list) else actions
        return {"q": raw["instruction"], "agt": calls, "ogt": raw.get("outputs", [])}


def _call_from_tau_bench(raw: JsonValue) -> JsonValue:
    if isinstance(raw, Mapping) and raw.keys() == {"name", "kwargs"}:
        return {"name": raw["name"], "arguments": raw["kwargs"]}
    return raw


class EarlierTasks:
    """Finds what a task has in common with earlier ones: the words, or the calls without their order."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def repeated(self, task: RetailTask) -> list[str]:
        """What it repeats, in words; empty if it is new."""
        return [f"the same {key[0]} as task {self._numbers[key]}" for key in _identities(task) if key in self._numbers]

    def add(self, task: RetailTask, number: int) -> None:
        for key in _identities(task):
            self._numbers.setdefault(key, number)


def _identities(task: RetailTask) -> Iterator[tuple[str, str]]:
    yield "words", " ".join(words_of(task))
    if task.agt:
        yield "calls", "\n".join(sorted({json.dumps([call.name, call.arguments], sort_keys=True) for call in task.agt}))


def words_of(task: RetailTask) -> list[str]:
    """The instruction's words for comparison: in lower case, without punctuation."""
    return re.findall(r"[a-z0-9#@]+", task.q.lower())


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
        tasks = list(_read_lines(path, text))
    if isinstance(tasks, dict):
        tasks = tasks["tasks"] if isinstance(tasks.get("tasks"), list) else [tasks]
    if not isinstance(tasks, list):
        raise ValueError(f"{path} holds no tasks: a list of objects with q, agt and ogt is wanted")
    return [unwrap(task) for task in tasks]


def unwrap(raw: JsonValue) -> JsonValue:
    """The task in a generator's result, or the value itself."""
    return raw["task"] if isinstance(raw, Mapping) and isinstance(raw.get("task"), Mapping) else raw


def _read_lines(path: Path, text: str) -> Iterator[JsonValue]:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.strip():
                yield json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}, is no JSON: {error}") from error
