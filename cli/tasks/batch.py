"""A batch of candidates, several at a time: rejected ones are replaced, and a state file lets it resume."""

import asyncio
import json
import os
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from cli.tasks.candidate import TaskResult
from parley.client.errors import ParleyError, RequestRefused

Progress = Callable[[int, int, TaskResult], None]  # number done, total number, newest result
Make = Callable[[int, int], Awaitable[TaskResult]]  # task index, attempt


class Batch:
    """`size` tasks. Refuses a state file that was written with other `parameters`."""

    def __init__(self, size: int, parameters: dict[str, Any], state: Path | None) -> None:
        self._size, self._path = size, state
        self._parameters = json.loads(json.dumps(parameters))
        self._attempts: dict[int, int] = {}  # attempts by task index
        self._results: dict[int, TaskResult] = {}
        self.rejections: Counter[str] = Counter()
        self.examples: dict[str, str] = {}  # by reason: the error of the first such candidate
        self.name = secrets.token_hex(6)
        self._load()

    @property
    def results(self) -> list[TaskResult]:
        """The accepted tasks so far, in order."""
        return [self._results[index] for index in sorted(self._results) if self._results[index]["success"]]

    async def run(
        self, make: Make, *, attempts: int, concurrency: int, progress: Progress | None = None
    ) -> list[TaskResult]:
        """Make all tasks. Raises ParleyError if Parley stays unavailable; a new run then resumes."""
        indexes = iter([index for index in range(self._size) if index not in self._results])

        async def work() -> None:
            for index in indexes:
                await self._make_task(index, make, attempts)
                if progress:
                    progress(len(self._results), self._size, self._results[index])

        self._save()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, concurrency)):
                    group.create_task(work())
        except* ParleyError as errors:
            raise _first_error(errors) from None
        return self.results

    async def _make_task(self, index: int, make: Make, attempts: int) -> None:
        while True:
            attempt = self._attempts.get(index, 0)
            result = await make(index, attempt)
            self._attempts[index] = attempt + 1
            if not result["success"]:
                self.rejections[result["rejected"]] += 1
                self.examples.setdefault(result["rejected"], result["error"])
            if result["success"] or attempt + 1 >= attempts:
                self._results[index] = result
            self._save()
            if index in self._results:
                return

    def _load(self) -> None:
        if self._path is None or not self._path.exists():
            return
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
            if stored["told"] != self._parameters:
                raise RequestRefused(
                    "other_batch",
                    f"{self._path} is of another batch that was not finished.",
                    "Give the same options again to finish it, or remove that file.",
                )
            self.name = stored["name"]
            self._attempts = {int(index): attempts for index, attempts in stored["lasted"].items()}
            self._results = {int(index): result for index, result in stored["done"].items()}
            self.rejections = Counter(stored["rejections"])
            self.examples = dict(stored["examples"])
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise RequestRefused(
                "bad_state", f"{self._path} cannot be read: {error!r}.", "Remove it to begin anew."
            ) from error

    def _save(self) -> None:
        """Write the state file. The batch's name must be stored before its sessions, whose ids contain it."""
        if self._path is None:
            return
        attempts = {str(index): count for index, count in self._attempts.items()}
        done = {str(index): result for index, result in self._results.items()}
        state_json = {"name": self.name, "told": self._parameters, "lasted": attempts, "done": done}
        state_json |= {"rejections": self.rejections, "examples": self.examples}
        write_atomically(self._path, json.dumps(state_json, ensure_ascii=False))


def write_atomically(path: Path, text: str) -> None:
    """Replace the file atomically: readers see the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _first_error(errors: BaseExceptionGroup[ParleyError]) -> ParleyError:
    stored = errors.exceptions[0]
    return stored if isinstance(stored, ParleyError) else _first_error(stored)
