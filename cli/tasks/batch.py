"""A batch of candidates, several at a time: rejected ones are replaced, and a state file lets it resume."""

import asyncio
import json
import os
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from cli.tasks.candidate import TaskResult
from packs.retail.tasks.scenarios import NoScenario
from parley.client.errors import ParleyError, RequestRefused

Progress = Callable[[int, int, TaskResult], None]  # number done, total number, newest result
Make = Callable[[int, int], Awaitable[TaskResult]]  # task index, attempt


class BatchState(BaseModel):
    """What the state file has. `told` are the batch's parameters, `lasted` counts the attempts for each task.

    `examples` has the error of the first candidate that was rejected for each reason.
    """

    name: str
    told: dict[str, Any]
    lasted: Counter[int]
    done: dict[int, Any]
    rejections: Counter[str]
    examples: dict[str, str]


class Batch:
    """`size` tasks. Refuses a state file that was written with other `parameters`, which are JSON."""

    def __init__(self, size: int, parameters: dict[str, Any], path: Path | None = None) -> None:
        self.size, self._path = size, path
        self.state = BatchState(
            name=secrets.token_hex(6), told=parameters, lasted=Counter(), done={}, rejections=Counter(), examples={}
        )
        if path is not None and path.exists():
            self.state = _read(path)
            if self.state.told != parameters:
                raise RequestRefused(
                    "other_batch",
                    f"{path} is of another batch that was not finished.",
                    "Give the same options again to finish it, or remove that file.",
                )

    @property
    def results(self) -> list[TaskResult]:
        """The accepted tasks so far, in order."""
        return [result for _, result in sorted(self.state.done.items()) if result["success"]]

    async def run(
        self, make: Make, *, attempts: int, concurrency: int = 1, progress: Progress | None = None
    ) -> list[TaskResult]:
        """Make all tasks. Raises ParleyError if Parley stays unavailable, and NoScenario; a new run then resumes."""
        done = self.state.done
        indexes = iter([index for index in range(self.size) if index not in done])

        async def work() -> None:
            for index in indexes:
                while index not in done:
                    await self._attempt(index, make, attempts)
                if progress:
                    progress(len(done), self.size, done[index])

        self._save()  # before any session, whose ids have the batch's name
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, concurrency)):
                    group.create_task(work())
        except* (ParleyError, NoScenario) as errors:
            raise errors.exceptions[0] from None
        return self.results

    async def _attempt(self, index: int, make: Make, attempts: int) -> None:
        state = self.state
        result = await make(index, state.lasted[index])
        state.lasted[index] += 1
        if not result["success"]:
            state.rejections[result["rejected"]] += 1
            state.examples.setdefault(result["rejected"], result["error"])
        if result["success"] or state.lasted[index] >= attempts:
            state.done[index] = result
        self._save()

    def _save(self) -> None:
        if self._path is not None:
            write_atomically(self._path, json.dumps(self.state.model_dump(), ensure_ascii=False))


def _read(path: Path) -> BatchState:
    try:
        return BatchState.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise RequestRefused("bad_state", f"{path} cannot be read: {error!r}.", "Remove it to begin anew.") from error


def write_json(path: Path, value: object) -> None:
    """Replace the file atomically by the value as indented JSON. Raises OSError."""
    write_atomically(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_atomically(path: Path, text: str) -> None:
    """Replace the file atomically: readers see the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
